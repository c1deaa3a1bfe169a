# SPDX-License-Identifier: Apache-2.0
"""`heldup functions` from a made window of calls: the list, why, JSON, the page, bad use."""
import html
import json
import os
import re
import sys
import tempfile

from heldup_cli import FAILED, OK, TOP, USAGE, heldup
from make_capture import EPOLL, FSYNC, RES_EPOLL, Capture, lock_scene

sys.path.insert(0, os.path.join(TOP, "tests", "golden"))
import schema_check  # noqa: E402

LOOP = "epoll_wait@/usr/lib/libc.so.6;loop;main"
SYNC = "fsync@/usr/lib/libc.so.6;save;serve;loop;main"
WRITE = "write@/usr/lib/libc.so.6;reply<b>;serve;loop;main"
UNFINISHED = 6


def scene(slow_ms=80, stuck=False, requests=100):
    c = Capture()
    c.thread(10, 10, "srv")
    rows, now = [], 0.0
    for i in range(requests):
        for name, ms, stack in (("epoll_wait", 5, LOOP),
                                ("fsync", slow_ms if i % 20 == 7 else 1, SYNC),
                                ("write", 0.02, WRITE)):
            rows.append((10, now, ms, name, stack, 0))
            now += ms + 0.001
    if stuck:
        rows.append((10, now, 30000, "flock", "flock@/usr/lib/libc.so.6;lock_all;serve;loop;main",
                     UNFINISHED))
        now += 30000
    c.calls(rows)
    return c, now / 1000


class Made:
    def __init__(self, **how):
        self.how = how

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="heldup-functions-")
        capture, seconds = scene(**self.how)
        self.path = os.path.join(self.folder.name, "a.cap")
        capture.write(self.path, seconds)
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def run(self, *more):
        return heldup("functions", "-i", self.path, *more).ended(OK).out

    def json(self, *more):
        return json.loads(self.run("--json", *more))


def test_functions_names_the_slow_one():
    with Made() as made:
        data = made.json()
        first = data["functions"][0]
        assert (first["name"], first["module"], first["rank"]) == ("save", "srv", 1), first
        assert first["evidence"][0]["kind"] == "slower", first["evidence"]
        assert first["evidence"][0]["call"] == "fsync"
        assert first["evidence"][0]["units"] == 5
        assert data["sums"]["abnormal_units"] == 5
        assert abs(data["sums"]["harm_ns"] - 5 * 79e6) < 40e6, data["sums"]
        assert all(data["units"][u]["deviations"] for u in first["units"])


def test_functions_names_what_never_returned():
    with Made(slow_ms=1, stuck=True) as made:
        first = made.json()["functions"][0]
        assert first["name"] == "lock_all", first
        assert first["evidence"][0]["kind"] == "never-returned"
        assert "flock did not return for 30.0 s" in made.run()


def test_functions_shows_the_longest_pause():
    c = Capture()
    c.thread(10, 10, "srv")
    rows, now = [], 0.0
    for i in range(60):
        for k in range(31):
            name, ms, stack = ("epoll_wait", 5, LOOP) if k == 0 else ("write", 0.02, WRITE)
            rows.append((10, now, ms, name, stack, 0))
            now += ms + (245 if (i, k) == (30, 15) else 0.01)
    c.calls(rows)
    with tempfile.TemporaryDirectory(prefix="heldup-functions-") as folder:
        path = os.path.join(folder, "a.cap")
        c.write(path, now / 1000)
        text = heldup("functions", "-i", path).ended(OK).out
    assert re.search(r"245 ms between two calls, 7\.\d+ ms on average", text), text


def test_functions_of_time_alone_shows_its_share():
    with Made(slow_ms=1) as made:
        text = made.run()
    assert "nothing stands out" in text, text
    row = re.search(r"^ +1 +[0-9.]+ +([0-9.]+) % .*its part of the time", text, re.M)
    assert row and float(row.group(1)) > 0, text


def test_functions_fits_the_schema():
    schema = json.loads(heldup("functions", "--json-schema").ended(OK).out)
    for how in ({}, {"slow_ms": 1}, {"stuck": True}, {"requests": 1}):
        for more in ((), ("--units", "paper"), ("--calls-only",)):
            with Made(**how) as made:
                checker = schema_check.Checker(schema)
                checker.check(schema, made.json(*more))
                assert not checker.errors, checker.errors


def test_functions_of_blocking_calls_then_of_all():
    c = Capture()
    c.thread(10, 10, "srv")
    c.calls_part(0)
    now, rows = 0.0, []
    for i in range(100):	# numbers of calls go by their names: epoll_wait, fsync, write
        for nr, cls, ms, stack in ((0, EPOLL, 5, LOOP), (1, FSYNC, 90 if i == 50 else 1, SYNC)):
            c.wait(10, cls, 0, now, now + ms, now + ms, stack=stack, nr=nr)
            now += ms + 0.1
    border = now
    for _ in range(100):
        for name, ms, stack in (("epoll_wait", 5, LOOP), ("fsync", 1, SYNC),
                                ("write", 0.02, WRITE)):
            rows.append((10, now, ms, name, stack, 0))
            now += ms + 0.001
    c.calls_part(0, border)
    c.calls(rows)
    with tempfile.TemporaryDirectory(prefix="heldup-functions-") as folder:
        path = os.path.join(folder, "a.cap")
        c.write(path, now / 1000)
        data = json.loads(heldup("functions", "-i", path, "--json").ended(OK).out)
        text = heldup("functions", "-i", path).ended(OK).out
        heldup("learn", "-i", path, "-o", os.path.join(folder, "a.sig")).ended(FAILED).says(
            "only calls that blocked were recorded")
    schema = json.loads(heldup("functions", "--json-schema").ended(OK).out)
    checker = schema_check.Checker(schema)
    checker.check(schema, data)
    assert not checker.errors, checker.errors
    assert data["window"]["blocking_only_calls"] == 200, data["window"]
    assert abs(data["window"]["blocking_only_ns"] - border * 1e6) < 1000
    assert data["functions"][0]["name"] == "save" and data["sums"]["abnormal_units"] == 1
    assert re.search(r"709 ms of blocking calls, 602 ms of all calls, 500 calls", text), text


def test_functions_shares_are_parts_of_one():
    """Though samples stand for more time than the pieces of work that are usual took."""
    c, seconds = scene()
    for at in range(20, 500, 20):
        c.sample(10, at, "work;loop;main", 20)
    schema = json.loads(heldup("functions", "--json-schema").ended(OK).out)
    with tempfile.TemporaryDirectory(prefix="heldup-functions-") as d:
        path = os.path.join(d, "a.cap")
        c.write(path, seconds)
        data = json.loads(heldup("functions", "-i", path, "--json").ended(OK).out)
        checker = schema_check.Checker(schema)
        checker.check(schema, data)
        assert not checker.errors, checker.errors
        assert any(f["usual_share"] == 1 for f in data["functions"]), data["functions"]
        why_json(path)


def test_functions_text_is_one_screen():
    with Made() as made:
        lines = made.run().splitlines()
        assert len(lines) <= 40, len(lines)
        assert any(re.match(r" +1 +0\.\d+ .* save srv", line) for line in lines), lines


def test_functions_explains_a_rank():
    with Made() as made:
        text = made.run("--explain", "1")
        assert "save of srv" in text and "far from" in text and "epoll_wait fsync write" in text
        assert "no function has rank 99" in made.run("--explain", "99")


def test_functions_against_a_good_window():
    with Made(slow_ms=1) as good, Made() as bad:
        data = bad.json("--baseline", good.path)
        assert data["sums"]["baseline"] and data["functions"][0]["name"] == "save"
        assert "baseline" in data["units"][0]["reasons"]


def test_functions_page_holds_the_data():
    with Made() as made:
        out = os.path.join(made.folder.name, "page.html")
        made.run("--html", out)
        with open(out, encoding="utf-8") as f:
            page = f.read()
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
        assert json.loads(data.group(1))["functions"] == made.json()["functions"]
        assert "reply<b>" not in page and html.escape("FUNCTIONS") in page


def test_functions_refuses():
    heldup("functions").ended(USAGE)
    with Made() as made:
        heldup("functions", "-i", made.path, "-p", "1").ended(USAGE)
        heldup("functions", "-i", made.path, "--units", "mine").ended(USAGE)


def why(path, *more):
    return heldup("why", "-i", path, *more).ended(OK).out


def why_json(path):
    """Fits the schema."""
    data = json.loads(why(path, "--json"))
    checker = schema_check.Checker(json.loads(why(path, "--json-schema")))
    checker.check(checker.root, data)
    assert not checker.errors, checker.errors
    return data


def trace(name):
    return os.path.join(TOP, "tests", "unit", "traces", name)


def test_why_shows_the_top_of_the_functions():
    with Made() as made:
        top = why_json(made.path)["functions"]
        ranked = made.json()["functions"]
        assert len(top["top"]) == 3 and top["listed"] == len(ranked) > 3, top
        for mine, whole in zip(top["top"], ranked):
            assert all(mine[key] == whole[key] for key in mine if key != "why"), (mine, whole)
        text = why(made.path)
        assert "all: heldup functions -p PID, or -i FILE" in text
        assert re.search(r"^FUNCTIONS TO BLAME .*\n  1  save srv  .* slower fsync: 5 in 5 units",
                         text, re.M), text
        narrow = heldup("why", "-i", made.path, env={"COLUMNS": "40"}).ended(OK).out
        assert re.search(r"^  1  save srv  +\d+ %\n     .*slower fsync: 5 in\s+5 units", narrow,
                         re.M), narrow


def test_why_page_shows_the_functions():
    with Made() as made:
        out = os.path.join(made.folder.name, "page.html")
        why(made.path, "--html", out)
        with open(out, encoding="utf-8") as f:
            data = re.search(r'<script type="application/json" id="data">(.*?)</script>',
                             f.read(), re.S)
        assert json.loads(data.group(1))["functions"] == why_json(made.path)["functions"]


def test_why_of_calls_alone_claims_no_health():
    for path, functions in ((trace("strace-k.txt.gz"), True),
                            (trace("strace-f-ttt-T-yy.txt.gz"), False),
                            (trace("perf-trace.txt.gz"), False)):
        data = why_json(path)
        assert data["verdict"]["class"] == "unknown", data["verdict"]
        assert data["verdict"]["confidence"] == "low" and data["candidates"] == []
        assert "no waits to judge from" in data["verdict"]["summary"]
        assert "%d system calls of" % data["functions"]["calls"] in data["evidence"][0]
        assert " 0 threads" not in data["subject"], data["subject"]
        assert bool(data["functions"]["top"]) == functions, data["functions"]
        text = why(path)
        assert "NOT HELD UP" not in text and ("FUNCTIONS TO BLAME" in text) == functions, text
        assert functions or "no stacks and no signatures" in text, text


def test_why_of_threads_that_were_not_watched_claims_no_health():
    c = Capture()
    c.thread(10, 10, "srv")
    with tempfile.TemporaryDirectory(prefix="heldup-functions-") as d:
        path = os.path.join(d, "a.cap")
        c.write(path)
        data = why_json(path)
        assert data["verdict"]["class"] == "unknown" and "functions" not in data, data["verdict"]
        assert "were not watched" in data["verdict"]["summary"]


def test_why_judges_waits_beside_calls():
    """A screen holds both, and functions change nothing about the verdict."""
    plain, both = lock_scene(), lock_scene()
    both.calls([(11, 3 * i, 40 if i == 50 else 1, "fsync", SYNC, 0) for i in range(90)])
    with tempfile.TemporaryDirectory(prefix="heldup-functions-") as d:
        paths = [os.path.join(d, name) for name in ("plain.cap", "both.cap")]
        plain.write(paths[0])
        both.write(paths[1])
        a, b = (why_json(path) for path in paths)
        assert "functions" not in a and b["functions"]["top"]
        assert a["verdict"] == b["verdict"] and a["verdict"]["class"] != "unknown", a["verdict"]
        assert "FUNCTIONS" not in why(paths[0])
        assert "FUNCTIONS TO BLAME" in why(paths[1])
        assert len(why(paths[1]).splitlines()) <= 40


def test_why_blames_no_function_of_a_server_at_rest():
    c = Capture()
    c.thread(10, 10, "srv")
    c.res(8, RES_EPOLL, "epoll of srv")
    for at in range(0, 1000, 10):
        c.wait(10, EPOLL, 8, at, at + 9.99, at + 9.99)
    c.calls([(10, 10 * i, 9 if i == 50 else 1, "fsync", SYNC, 0) for i in range(90)])
    with tempfile.TemporaryDirectory(prefix="heldup-functions-") as d:
        path = os.path.join(d, "a.cap")
        c.write(path)
        text = why(path)
        assert "NOT HELD UP" in text and "TO BLAME" not in text, text
        assert "FUNCTIONS THAT STAND OUT" in text and "  1  save srv" in text, text
