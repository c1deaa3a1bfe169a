# SPDX-License-Identifier: Apache-2.0
"""`heldup replay` on made requests: what it finds, that it is the same each time, bad use."""
import fcntl
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from heldup_cli import FAILED, HELDUP, OK, TOP, USAGE, Skip, heldup

sys.path.insert(0, os.path.join(TOP, "tests", "golden"))
sys.path.insert(0, os.path.join(TOP, "tests", "eval"))
import schema_check  # noqa: E402
from requests import made  # noqa: E402

STRATEGIES = ["hedge", "flat", "hierarchical", "random", "variance", "shift", "astraea", "all-on"]
REQUESTS = 400
MS = 1_000_000
HOTEL = os.path.join(TOP, "..", "shared", "data", "traces", "hotel-load150.jaeger.json.gz")


class Files:
    """good: a sound application's requests; bad: with a slow operation; self.slow names it."""

    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="heldup-replay-")
        self.good, self.bad = (os.path.join(self.dir.name, n) for n in ("good.json", "bad.json"))
        app = made.App(5, ops=40, services=5)
        op = app.leaves()[-1]
        self.slow = op.point
        made.write(made.requests(app, REQUESTS, 1), self.good)
        problem = made.Slow(op, lambda rnd, _: rnd.uniform(0, 60 * MS))
        made.write(made.requests(app, REQUESTS, 2, [problem]), self.bad)
        return self

    def __exit__(self, *_):
        self.dir.cleanup()


def answer(*args):
    return json.loads(heldup("replay", "--json", *args).ended(OK).out)


def test_replay_finds_what_is_slow():
    with Files() as f:
        doc = answer(f.bad, "--learn", f.good)
        assert [s["strategy"] for s in doc["strategies"]] == STRATEGIES
        for s in doc["strategies"]:
            assert s["right"] is None and s["truths"] == [], s["strategy"]
            if s["strategy"] in ("hedge", "all-on"):
                assert s["located"][0]["owner"] == f.slow, s["located"][:2]
        ours, every = doc["strategies"][0], doc["strategies"][-1]
        assert ours["enabled"] < every["enabled"], (ours["enabled"], every["enabled"])
        assert ours["seen_spans"] < ours["spans"]


def test_replay_finds_what_it_slows_itself():
    with Files() as f:
        args = (f.good, "--inject", f.slow + ":uniform,4x")
        doc = answer(*args)
        assert doc["requests"] + doc["learnt_requests"] == REQUESTS
        ours = doc["strategies"][0]
        assert ours["right"] and ours["truths"][0]["rank"] == 1, ours["located"][:2]
        assert ours["slowed_spans"] > 0
        assert answer(*args) == doc
        other = answer(*args, "--seed", "2")
        assert other["strategies"][0]["slowed_ns"] != ours["slowed_ns"]
        text = heldup("replay", *args, "--strategy", "hedge").ended(OK).out
        assert "located " + f.slow in text and "round  decided" in text, text


def test_replay_finds_a_small_shift_in_recorded_requests():
    """8 ms on 40 that vary by 30, in few and in many requests at a time."""
    if not os.path.exists(HOTEL):
        raise Skip("no %s" % HOTEL)
    for batch in ("20", "100"):
        for seed in range(1, 9):
            doc = answer(HOTEL, "--inject", "rate /rate.Rate/GetRates:constant,8ms", "--seed", str(seed), "--batch",
                         batch, "--strategy", "hedge")
            assert doc["strategies"][0]["right"], (batch, seed, doc["strategies"][0]["located"])


def test_replay_finds_what_is_called_more_often():
    """A cache that misses: no call got slower, but more requests make the slow one."""
    with tempfile.TemporaryDirectory(prefix="heldup-replay-") as folder:
        app = made.App(3, ops=12, services=3)
        read = made.Op("store", "read", 20 * MS)
        paths = [os.path.join(folder, name) for name in ("good.json", "bad.json")]
        app.root.steps.append([])
        for path, share in zip(paths, (0.05, 0.5)):
            app.root.steps[-1] = [(read, share)]
            made.write(made.requests(app, REQUESTS, len(path)), path)
        for args in ((paths[1], "--learn", paths[0]), (paths[1],)):
            ours = answer(*args, "--strategy", "hedge")["strategies"][0]
            assert ours["located"] and ours["located"][0]["owner"] == read.point, (
                args, ours["located"][:2])


def test_replay_shows_a_recording_once():
    with Files() as f:
        for batch, rounds in (("100", 4), ("1000", 1)):
            doc = answer(f.bad, "--learn", f.good, "--batch", batch, "--strategy", "random")
            assert doc["strategies"][0]["rounds"] <= rounds, doc["strategies"][0]["rounds"]
            assert doc["strategies"][0]["requests"] <= REQUESTS, doc["strategies"][0]["requests"]
        assert answer(f.good)["batch"] == 25


def test_replay_does_not_depend_on_the_order_of_the_file():
    with Files() as f:
        with open(f.bad) as src:
            data = json.load(src)
        data["data"].reverse()
        for trace in data["data"]:
            trace["spans"].reverse()
        turned = os.path.join(f.dir.name, "turned.json")
        with open(turned, "w") as dst:
            json.dump(data, dst)
        assert answer(f.bad, "--learn", f.good) == answer(turned, "--learn", f.good)


def test_replay_leaves_what_keys_explain():
    app = made.App(5, ops=20)

    def by_size(rnd, _):
        size = rnd.choice((10, 90))
        return size * MS, size

    with tempfile.TemporaryDirectory(prefix="heldup-replay-") as folder:
        path = os.path.join(folder, "sized.json")
        made.write(made.requests(app, REQUESTS, 1, [made.Slow(app.root, by_size, "size")]), path)
        for key, found in (((), True), (("--key", "size:1000"), True),
                           (("--key", "size:50"), False), (("--cv", "2"), False)):
            doc = answer(path, "--strategy", "hedge,flat,hierarchical", *key)
            for s in doc["strategies"]:
                assert bool(s["located"]) == found, (key, s["strategy"], s["located"])
                # The paper's rules look at a slow group of four.
                assert found or s["strategy"] != "hedge" or s["enabled"] == 0
        heldup("replay", path, "--key", "size:9,3").ended(USAGE).says("ascending").one_line()
        heldup("replay", path, "--cv", "0").ended(USAGE).says("coefficient").one_line()
        heldup("replay", path, "--slow-percentile", "5").ended(USAGE).says("percentile").one_line()


def test_replay_laws_fit_the_schema():
    schema = json.loads(heldup("replay", "--json-schema").ended(OK).out)
    with Files() as f:
        for laws in ([], ["uniform,20ms"], ["constant,1x,exit"], ["queue,2ms"],
                     ["key,queue.length,1ms"], ["key,span.kind=server,30ms,share=0.5"],
                     ["uniform,20ms,with=1", "uniform,20ms,with=1,exit"]):
            more = [a for law in laws for a in ("--inject", "%s:%s" % (f.slow, law))]
            doc = answer(f.good, *more, "--rounds", "3")
            checker = schema_check.Checker(schema)
            checker.check(schema, doc)
            assert not checker.errors, checker.errors
            assert len(doc["injected"]) == len(laws)
            assert all(s["rounds"] <= 3 for s in doc["strategies"])


def test_replay_stops_when_asked():
    """What was read until Ctrl-C is replayed, and it is said that there is more."""
    with Files() as f, open(f.good, "rb") as src:
        p = subprocess.Popen([HELDUP, "replay", "--json", "--strategy", "hedge", "-"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdin.write(src.read())
        p.stdin.flush()
        while struct.unpack("i", fcntl.ioctl(p.stdin, termios.FIONREAD, b"\0" * 4))[0]:
            time.sleep(0.01)
        p.send_signal(signal.SIGINT)
        out, err = p.stdout.read(), p.stderr.read().decode()
        assert p.wait() == OK, err
        p.stdin.close()
        doc = json.loads(out)
        assert doc["stopped"] and doc["requests"] > REQUESTS // 2, (doc["requests"], err)
        assert "stopped while reading" in err, err


def test_replay_says_what_it_could_not_read():
    with Files() as f:
        with open(f.good, "rb") as src:
            whole = src.read()
        cut = os.path.join(f.dir.name, "cut.json")
        with open(cut, "wb") as dst:
            dst.write(whole[:len(whole) // 2].replace(b'"startTime": 1', b'"startTime": x1', 1))
        heldup("replay", cut, "--strategy", "hedge").ended(OK).says(
            r"cut.json: nothing could be read from offset \d+ on: .*expected")


def test_replay_refuses_early_what_it_could_not_write():
    with Files() as f:
        for path, why in ((f.dir.name, "is a directory"), (f.good, "is not a forest"),
                          ("/nonexistent/x", "No such file")):
            heldup("replay", "/nonexistent/traces", "--forest", path).ended(FAILED).says(
                why).one_line()
        heldup("replay", "/nonexistent/traces", "--strategy", "random", "--forest",
               os.path.join(f.dir.name, "x")).ended(USAGE).says("none of these").one_line()
        heldup("replay", "/nonexistent/traces", "--space", "/nonexistent/x").ended(FAILED).says(
            "write '/nonexistent/x'").one_line()


def test_replay_refuses():
    heldup("replay").ended(USAGE).one_line()
    heldup("replay", "/nonexistent").ended(FAILED).one_line()
    with Files() as f:
        heldup("replay", f.good, "--strategy", "best").ended(USAGE).says("no 'best'").one_line()
        for text, why in (("x", "POINT:LAW"), ("nobody:uniform,1ms", "no tracepoint 'nobody'"),
                          (f.slow + ":sometimes,1ms", "none of uniform"),
                          (f.slow + ":uniform", "lacks its time"),
                          (f.slow + ":uniform,soon", "'soon' is no time"),
                          (f.slow + ":uniform,-1x", "'-1x' is no time"),
                          (f.slow + ":uniform,2h", "more than an hour"),
                          (f.slow + ":uniform,1ms,share=2", "up to 1"),
                          (f.slow + ":uniform,1ms,with=0", "1 to 255"),
                          (f.slow + ":uniform,1ms,often", "none of exit")):
            heldup("replay", f.good, "--inject", text).ended(USAGE).says(why).one_line()


def test_replay_leaves_out_requests_that_are_too_big():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "big.csv")
        with open(path, "w") as f:
            f.write("trace_id,span_id,parent_id,service,name,start_us,duration_us\n")
            for i in range(1, 8194):
                f.write("1,%d,%s,s,op,%d,%d\n" % (i, i - 1 or "", 1700000000000000 + i, 20000 - 2 * i))
        heldup("replay", path).ended(FAILED).says("8192 spans")
        with open(path, "a") as f:
            f.write("2,1,,s,op,1700000000000000,50\n")
        heldup("replay", path).ended(OK).says("of over 8192 spans, left out: 1 request\\n")


def test_replay_of_many_names_is_small():
    """Each type of request is searched by itself: what is needed for one edge is not kept for all."""
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as folder:
        path = os.path.join(folder, "names.csv")
        with open(path, "w", encoding="utf-8") as out:
            out.write("trace_id,span_id,parent_id,service,operation,start_us,duration_us\n")
            for i in range(1, 1001):
                out.write("%d,1,,front,GET /user/%d,%d,%d\n" % (i, i, 1600000000000000 + i * 100000, 5000 + i))
        limit = 112 << 20  # of addresses; what is used stays under 50 MB
        heldup("replay", "--no-fold", "--strategy", "hedge", path,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))).ended(OK)


def test_replay_counts_what_is_always_on():
    with Files() as f:
        doc = answer(f.bad, "--learn", f.good, "--strategy", "hedge,all-on")
        for s in doc["strategies"]:
            on = (s["enabled"] + s["always_on"]) / s["points"]
            assert abs(s["on_share"] - on) < 1e-5 and s["on_share"] > s["enabled_share"], s
        heldup("replay", f.bad, "--learn", f.good, "--strategy", "hedge").ended(OK).prints("with always on")


def test_replay_says_when_types_were_not_learnt():
    """A root of another name: nothing is found, since nothing was looked at."""
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as folder:
        paths = [os.path.join(folder, n) for n in ("good.csv", "bad.csv")]
        for path, root in zip(paths, ("buy", "purchase")):
            with open(path, "w", encoding="utf-8") as out:
                out.write("trace_id,span_id,parent_id,service,operation,start_us,duration_us\n")
                for i in range(1, 201):
                    out.write("%d,1,,front,%s,%d,%d\n" % (i, root, 1600000000000000 + i * 100000, 9000 + 70 * i))
        doc = answer(paths[1], "--learn", paths[0], "--strategy", "hedge")["strategies"][0]
        assert doc["other_type_requests"] == doc["requests"] > 0, doc
        heldup("replay", paths[1], "--learn", paths[0], "--strategy", "hedge").ended(OK) \
            .prints("of types that were not learnt")
        doc = answer(paths[0], "--learn", paths[0], "--strategy", "hedge")["strategies"][0]
        assert doc["other_type_requests"] == 0, doc
