# SPDX-License-Identifier: Apache-2.0
"""`heldup requests` from made traces with a known cause: the answer, its exports, bad use."""
import glob
import html
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from heldup_cli import FAILED, HELDUP, OK, TOP, USAGE, Skip, heldup

sys.path.insert(0, os.path.join(TOP, "tests", "golden"))
import schema_check  # noqa: E402

REAL = os.path.join(os.path.dirname(TOP), "shared", "data", "traces")
SERVICES = {"web": "p1", "auth": "p2", "db": "p3"}


class Shop:
    """Requests of one type: auth takes 2 ms, the query 1 ms for each row it reads."""

    def __init__(self, cnt=200, seed=1, auth_ms=2.0, name="GET /cart"):
        self.random = random.Random(seed)
        self.name, self.auth_ms = name, auth_ms
        self.traces = [self.trace(i + 1000 * seed) for i in range(cnt)]

    def span(self, trace, number, parent, service, name, begin_us, end_us, **tags):
        return {"traceID": trace, "spanID": "%016x" % (int(trace, 16) * 16 + number),
                "operationName": name, "processID": SERVICES[service],
                "startTime": 1700000000000000 + round(begin_us),
                "duration": round(end_us) - round(begin_us), "logs": [],
                "references": [{"refType": "CHILD_OF", "traceID": trace,
                                "spanID": "%016x" % (int(trace, 16) * 16 + parent)}] if parent else [],
                "tags": [{"key": k, "type": "string" if isinstance(v, str) else "int64",
                          "value": v} for k, v in tags.items()]}

    def trace(self, number):
        trace = "%016x" % (number + 1)
        at = number * 1e6
        rows = self.random.randint(1, 30)
        auth = self.auth_ms * 1000 + self.random.uniform(-50, 50)
        query = rows * 1000 + self.random.uniform(-200, 200)
        end = at + 1200 + auth + query
        return {"traceID": trace,
                "processes": {p: {"serviceName": s, "tags": []} for s, p in SERVICES.items()},
                "spans": [
                    self.span(trace, 1, 0, "web", self.name, at, end, **{"span.kind": "server"}),
                    self.span(trace, 2, 1, "auth", "check", at + 200, at + 200 + auth,
                              tenant=self.random.choice("abc")),
                    self.span(trace, 3, 1, "db", "query", at + 700 + auth, at + 700 + auth + query,
                              rows=rows)]}


class Files:
    """Sets of traces as files in a folder of their own."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="heldup-requests-")
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, traces):
        with open(self.path(name), "w", encoding="utf-8") as f:
            json.dump({"data": traces}, f)
        return self.path(name)


def requests(*argv):
    return heldup("requests", *argv).ended(OK).out


def requests_json(*argv):
    return json.loads(requests("--json", *argv))


def check_schema(value):
    schema = json.loads(heldup("requests", "--json-schema").ended(OK).out)
    checker = schema_check.Checker(schema)
    checker.check(schema, value)
    assert not checker.errors, checker.errors[:5]


def near(got, want, slack):
    assert abs(got - want) <= slack, (got, want)


def test_requests_names_the_edge_that_varies():
    with Files() as f:
        data = requests_json(f.write("a.json", Shop().traces))
        problem = data["problems"][0]
        group = data["types"][problem["type"]]["groups"][problem["group"]]
        edge = group["edges"][problem["edges"][0]]
        assert problem["kind"] == "variance", problem
        assert edge["words"] == "in db query", edge["words"]
        assert edge["variance_share"] > 0.95, edge
        assert edge["variance_share_low"] <= edge["variance_share"] <= edge["variance_share_high"]
        assert "200 requests" in problem["words"] and "db query" in problem["words"]


def test_requests_names_each_of_two_edges_that_vary():
    def make(r):
        return ("web", "GET /a", sum(ms) + 1, "server", {}, [
            (service, "work", x, "client", {}, []) for service, x in zip(("auth", "db"), ms)])
    for most, named in ((20, True), (3, False)):
        ms = []
        def pair(r):
            ms[:] = [5 + r.uniform(0, 20), 5 + r.uniform(0, most)]
            return make(r)
        with Files() as f:
            words = requests_json(f.write("a.json", Steps(pair).traces))["problems"][0]["words"]
            both = re.search(r"5\d % of the variance lies in \w+ work, 4\d % in \w+ work$", words)
            assert bool(both) == named and "auth work" in words, words


def test_requests_shares_and_times_add_up():
    with Files() as f:
        for group in requests_json(f.write("a.json", Shop().traces))["types"][0]["groups"]:
            near(sum(e["variance_share"] for e in group["edges"]), 1, 1e-3)
            near(sum(e["time_share"] for e in group["edges"]), 1, 1e-3)
            near(sum(e["latency"]["mean_ns"] for e in group["edges"]), group["latency"]["mean_ns"],
                 len(group["edges"]))


def test_requests_finds_the_key_that_explains():
    with Files() as f:
        path = f.write("a.json", Shop().traces)
        keys = [k for k in requests_json(path)["types"][0]["groups"][0]["keys"] if k["explains"]]
        assert keys and keys[0]["key"] == "rows", keys[:1]
        assert keys[0]["kind"] == "numeric" and keys[0]["r"] > 0.95 and keys[0]["q"] < 1e-6
        assert not any(k["key"] == "tenant" for k in keys), "chance is taken for a cause"
        assert "rows" in requests(path)


def test_requests_tell_values_from_the_slowest_on():
    def make(r):
        tenant = r.choice("abcd")
        ms = {"a": 5, "b": 40, "c": 20, "d": 80}[tenant] + r.uniform(0, 0.1)
        return ("web", "GET /a", ms, "server", {"tenant": tenant}, [])
    with Files() as f:
        text = " ".join(requests(f.write("a.json", Steps(make).traces)).split())
        told = re.search(r"tenant of web GET /a.*?; (.*?) traces", text)
        order = re.findall(r"\b([a-d]): [0-9.]+ ms", told.group(1))
        assert order[:2] == ["d", "b"] and order == sorted(order, key="dbca".index), told.group(1)


PATHS = os.path.join(TOP, "tests", "fuzz", "corpus", "fuzz_path_file", "")


def test_requests_of_recorded_servers():
    """18 ms of a server whose threads ask one of another host, which sleeps 3 ms."""
    front = requests_json("-i", PATHS + "front", "--min-requests", "4")
    check_schema(front)
    live = front["input"]["live"]
    assert (front["input"]["requests"], live["calls"], live["unknown_calls"]) == (39, 39, 0), live
    assert live["joined_requests"] == 0, live
    assert [t["name"] for t in front["types"]] == ["python3: :7001"]
    r = heldup("requests", PATHS + "front", "--min-requests", "4").ended(OK)
    assert "ask 10.118.0.2:7002" in r.out, r.out


def test_requests_of_two_recorded_hosts_are_joined():
    both = requests_json(PATHS + "front", PATHS + "back", "--min-requests", "4")
    check_schema(both)
    assert both["input"]["live"]["joined_requests"] == 47, both["input"]["live"]
    assert both["input"]["requests"] == 39 and len(both["types"]) == 1, both["input"]
    r = heldup("requests", PATHS + "front", PATHS + "back", "--slowest").ended(OK)
    assert re.search("thread [0-9]+@back waits 3.* ms: clock_nanosleep", r.out), r.out


def test_requests_of_a_damaged_recording_are_refused():
    with open(PATHS + "front", "rb") as f, tempfile.NamedTemporaryFile() as cut:
        cut.write(f.read()[:-9])
        cut.flush()
        heldup("requests", cut.name).ended(FAILED).one_line().says("offset [0-9]+: ends amid a record")


def test_requests_fits_the_schema():
    with Files() as f:
        path, other = f.write("a.json", Shop().traces), f.write("b.json", Shop(30, 2).traces)
        one = f.write("one.json", Shop(1, 3).traces)
        for argv in ((path,), (path, other), (one,), ("--diff", other, path), (path, "--trace", "1f4"),
                     ("--diff", one, one), (path, "--key", "n=rows:5,10"), (path, "--key", "tenant")):
            if "--trace" in argv:
                argv = (path, "--trace", Shop().traces[7]["traceID"])
            check_schema(requests_json(*argv))


def test_requests_text_is_two_screens():
    with Files() as f:
        traces = [t for k in range(30) for t in Shop(40, k, name="GET /kind-%s" % chr(97 + k)).traces]
        lines = requests(f.write("a.json", traces)).splitlines()
        assert len(lines) <= 80, len(lines)
        assert any("more types" in line for line in lines), lines[-3:]
        assert max(len(line) for line in lines) <= 110, max(lines, key=len)
        assert any("█" in line for line in lines)


def test_requests_do_not_depend_on_the_order_of_spans():
    with Files() as f:
        traces = Shop().traces
        want = requests_json(f.write("a.json", traces))
        mixed = random.Random(5).sample(traces, len(traces))
        halves = [{"traceID": t["traceID"], "processes": t["processes"], "spans": t["spans"][k::2]}
                  for k in (1, 0) for t in mixed]
        got = requests_json(f.write("b.json", halves[:150]), f.write("c.json", halves[150:]))
        for key in ("types", "problems", "settings"):
            assert want[key] == got[key], key


def test_requests_spill_to_disk_and_say_the_same():
    with Files() as f:
        path = f.write("a.json", Shop(3000, 4).traces)
        assert requests_json(path, "--memory", "1M")["types"] == requests_json(path)["types"]


def write_csv(f, name, rows, order=0):
    head = "trace_id,span_id,parent_id,service,name,start_us,duration_us,tenant"
    with open(f.path(name), "w", encoding="utf-8") as out:
        out.write("\n".join([head] + random.Random(order).sample(rows, len(rows))) + "\n")
    return f.path(name)


def many_types(cnt):
    """One type of 400 requests, many of six, most of one: more than are kept."""
    rows, trace = [], 0
    for kind in range(cnt):
        for _ in range(400 if kind == 77 else 6 if kind % 7 == 0 else 1):
            trace += 1
            at, took = 1700000000000000 + trace * 1000, 500 + trace * 37 % 900
            rows.append("%x,1,,front,op%04xz,%d,%d,t%d" % (trace, kind, at, took, kind))
            rows.append("%x,2,1,back,work,%d,%d,w%d" % (trace, at + 100, took - 200, kind % 9))
    return rows


def test_requests_over_the_bound_of_types_do_not_depend_on_order():
    with Files() as f:
        rows = many_types(2500)
        want = requests_json(write_csv(f, "a.csv", rows, 1), "--no-fold")
        over = [n["count"] for n in want["input"]["notes"] if n["what"] == "type_over_traces"]
        assert len(want["types"]) == 1024 and over and over[0] > 1000, over
        assert want["types"][0]["name"] == "front: op004dz", want["types"][0]["name"]
        for argv in ([write_csv(f, "b.csv", rows, 2)],
                     [write_csv(f, "c.csv", rows, 3), "--memory", "1M"]):
            got = requests_json(*argv, "--no-fold")
            for key in ("types", "problems", "edges_to_blame"):
                assert want.get(key) == got.get(key), key


def test_requests_say_what_bounds_refused():
    """Hundreds of tracepoints in each request: more values of keys than are looked at."""
    with Files() as f:
        rows = ["%x,%d,%s,front,step%d,%d,%d,t%d" % (t, s + 1, 1 if s else "", s,
                                                     1700000000000000 + t * 9999 + s, 9000 - s, s)
                for t in range(1, 31) for s in range(400)]
        path = write_csv(f, "a.csv", rows)
        notes = {n["what"]: n["count"] for n in requests_json(path)["input"]["notes"]}
        assert notes.get("refused_values") == 30 * (1 + 400 * 2 - 512), notes
        assert "values of keys over the bound" in requests(path)


def test_requests_say_what_was_passed_over():
    with Files() as f:
        traces = Shop().traces
        traces[0]["spans"][0]["tags"].append({"key": "list", "type": "list", "value": [1, 2]})
        data = requests_json(f.write("a.json", traces))
        notes = {n["what"]: n["count"] for n in data["input"]["notes"]}
        assert notes.get("passed_attributes") == 1, notes


def test_requests_diff_names_what_changed():
    with Files() as f:
        good = f.write("good.json", Shop(seed=1).traces)
        bad = f.write("bad.json", Shop(seed=2, auth_ms=12).traces)
        data = requests_json("--diff", good, bad)["diff"][0]
        first = data["edges"][0]
        assert data["in"] == "both" and first["words"] == "in auth check", first
        near(first["delta_ns"], 10e6, 0.1e6)
        assert first["low_ns"] < 10e6 < first["high_ns"], first
        near(sum(e["delta_ns"] for e in data["edges"]), data["delta_ns"], 10)
        text = requests("--diff", good, bad)
        assert re.search(r"in auth check +2\.\d+ ms +12\.\d ms +\+10\.\d ms", text), text


def test_requests_diff_with_several_good_files():
    with Files() as f:
        traces = Shop(seed=1).traces
        good, bad = f.write("good.json", traces), f.write("bad.json", Shop(seed=2, auth_ms=12).traces)
        halves = f.write("one.json", traces[:90]), f.write("two.json", traces[90:])
        whole, both = (requests_json(*argv) for argv in (
            ("--diff", good, bad), ("--diff", halves[1], "--diff", halves[0], bad)))
        assert both["diff"] == whole["diff"] and both["types"] == whole["types"]
        assert both["against"].startswith("2 files: "), both["against"]


def test_requests_diff_tells_new_and_gone_types():
    with Files() as f:
        good = f.write("good.json", Shop(40, name="GET /old").traces)
        bad = f.write("bad.json", Shop(40, name="GET /new").traces)
        kinds = {d["type"]: d["in"] for d in requests_json("--diff", good, bad)["diff"]}
        assert sorted(kinds.values()) == ["bad", "good"], kinds
        text = requests("--diff", good, bad)
        assert re.search(r"/new +is new", text) and re.search(r"/old +is gone", text), text


def test_requests_explains_one():
    with Files() as f:
        shop = Shop()
        slow = max(shop.traces, key=lambda t: t["spans"][0]["duration"])
        data = requests_json(f.write("a.json", shop.traces), "--trace", slow["traceID"])["trace"]
        first = data["edges"][data["by_excess"][0]]
        assert first["words"] == "in db query" and first["excess_share"] > 0.9, first
        assert data["total_ns"] == slow["spans"][0]["duration"] * 1000
        assert data["percentile"] > 99
        rows = data["waterfall"]["rows"]
        assert [r["name"] for r in rows] == ["GET /cart", "check", "query"], rows
        assert sum(r["path_ns"] for r in rows) == data["total_ns"]
        text = requests(f.path("a.json"), "--trace", slow["traceID"])
        assert "longer than" in text and "█" in text


class Steps(Shop):
    """Requests of steps one after the other: (service, name, ms, kind, tags, steps below)."""

    def __init__(self, make, cnt=200, seed=1):
        self.make = make
        super().__init__(cnt, seed)

    def steps(self, trace, spans, parent, at, steps):
        for service, name, ms, kind, tags, below in steps:
            number = len(spans) + 1
            spans.append(self.span(trace, number, parent, service, name, at, at + ms * 1000,
                                   **dict(tags, **{"span.kind": kind})))
            if tags.get("error"):
                spans[-1]["tags"][-2 if spans[-1]["tags"][-1]["key"] == "span.kind" else -1].update(
                    type="bool", value=True)
            self.steps(trace, spans, number, at + 10, below)
            at += ms * 1000 + 10
        return spans

    def trace(self, number):
        trace = "%016x" % (number + 1)
        return {"traceID": trace,
                "processes": {p: {"serviceName": s, "tags": []} for s, p in SERVICES.items()},
                "spans": self.steps(trace, [], 0, number * 1e6, [self.make(self.random)])}


def tenants(slow_ms):
    def make(r):
        tenant = r.choice("abcd")
        ms = r.uniform(5, 7) + (slow_ms if tenant == "c" else 0)
        return ("web", "GET /a", ms + 1, "server", {"tenant": tenant},
                [("db", "query", ms, "client", {}, [])])
    return make


def test_requests_diff_names_the_key():
    with Files() as f:
        good = f.write("good.json", Steps(tenants(0), seed=1).traces)
        bad = f.write("bad.json", Steps(tenants(20), seed=2).traces)
        data = requests_json("--diff", good, bad)
        check_schema(data)
        keys = data["diff"][0]["keys"]
        assert [(k["key"], k["kind"]) for k in keys] == [("tenant", "slower")], keys
        assert keys[0]["values"][0]["value"] == "c", keys[0]
        text = requests("--diff", good, bad)
        assert re.search(r"tenant of web GET /a: c: [67]\.\d* ms → 2[67]\.\d ms; others: ", text), text


def test_requests_explains_one_by_its_keys_and_its_path():
    def cached(r):
        hit = r.random() < 0.6
        below = [] if hit else [("db", "query", r.uniform(20, 22), "client", {}, [])]
        return ("web", "GET /a", 1 + sum(b[2] for b in below), "server",
                {"cache": "hit" if hit else "miss"}, below)
    with Files() as f:
        path = f.write("a.json", Steps(cached).traces)
        with open(path, encoding="utf-8") as data:
            slow = next(t for t in json.load(data)["data"] if len(t["spans"]) > 1)
        data = requests_json(path, "--trace", slow["traceID"])
        check_schema(data)
        one = data["trace"]
        assert one["usual_ns"] > 20e6 and one["others_ns"] < 2e6, one
        assert [(k["key"], k["of_type"]) for k in one["keys"]] == [("cache", True)], one["keys"]
        group = data["types"][0]["groups"][one["group"]]
        assert group["edges"][one["path_edges"][0]]["words"] == "in db query", one["path_edges"]
        text = requests(path, "--trace", slow["traceID"])
        assert re.search(r"usually take 2\d\.\d ms, on the others 1\.00 ms", text), text
        assert "cache miss of web GET /a" in text, text


def test_requests_that_fail_soon_make_no_others_slow():
    def failing(r):
        if r.random() < 0.3:
            return ("web", "GET /a", 1.0 + r.uniform(0, 0.05), "server", {"error": "true"}, [])
        ms = r.uniform(20, 21)
        return ("web", "GET /a", ms + 1, "server", {}, [("db", "query", ms, "client", {}, [])])
    with Files() as f:
        path = f.write("a.json", Steps(failing).traces)
        data = requests_json(path)
        check_schema(data)
        assert not data["problems"], [p["words"] for p in data["problems"]]
        failed = sum(g["failed"] for g in data["types"][0]["groups"])
        assert 40 < failed == data["types"][0]["all"]["failed"] < 80, failed
        assert "%d failed" % failed in requests(path)


def test_requests_diff_tells_what_is_called_more_often():
    def calls(often):
        def make(r):
            cnt = r.randint(10, 20) if often else 1
            ms = [r.uniform(0.9, 1.1) for _ in range(cnt)]
            return ("web", "GET /a", sum(ms) + 2, "server", {},
                    [("db", "query", x, "client", {}, []) for x in ms])
        return make
    with Files() as f:
        good = f.write("good.json", Steps(calls(False), seed=1).traces)
        bad = f.write("bad.json", Steps(calls(True), seed=2).traces)
        data = requests_json("--diff", good, bad)
        check_schema(data)
        first = data["diff"][0]["owners"][0]
        assert first["tracepoint"] == "db query" and first["good_times"] == 1, first
        assert 13 < first["bad_times"] < 17 and first["share"] > 0.9, first
        top = data["called_more"]
        assert [(c["tracepoint"], c["type"], c["bad_times"]) for c in top] == [
            ("db query", "web: GET /a", first["bad_times"])], top
        text = requests("--diff", good, bad)
        assert re.search(r"while db query runs, 1\.0 → 1\d\.\d times", text), text
        assert re.search(r"CALLED MORE OFTEN .*\n.*\n +db query, in web: GET /a +1\.0 +1\d\.\d +\+", text), text
        assert not requests_json("--diff", bad, good)["called_more"]
        page = f.path("page.html")
        heldup("requests", "--diff", good, bad, "--html", page).ended(OK)
        dom = drawn(page, f.folder.name)
        if dom is None:
            raise Skip("no chromium: the page's drawing was not checked")
        assert "Called more often" in dom and 'data-drawn="1"' in dom


def test_requests_show_numbers_that_came_as_texts_as_they_came():
    def versions(slow_ms):
        def make(r):
            version = r.choice(["2.0", "1.50", "3"])
            ms = r.uniform(9, 10) + (slow_ms if version == "2.0" else 0)
            return ("web", "GET /a", ms, "server", {"version": version}, [])
        return make
    with Files() as f:
        good = f.write("good.json", Steps(versions(0), seed=1).traces)
        bad = f.write("bad.json", Steps(versions(30), seed=2).traces)
        key = next(k for k in requests_json(bad)["types"][0]["all"]["keys"] if k["key"] == "version")
        told = {v.get("value", v["low"]) for v in key["values"]}
        assert told == {"2.0", "1.50", 3}, key
        assert re.search(r"version of web GET /a: 2\.0: \S+ ms → ", requests("--diff", good, bad))
        data = requests_json("--diff", good, bad)
        check_schema(data)
        change = next(k for k in data["diff"][0]["keys"] if k["key"] == "version")
        assert change["values"][0]["value"] == "2.0" and change["values"][0]["low"] == 2, change
        assert "version=2.0" in requests(bad, "--key", "version")


def test_requests_keys_tell_merged_paths_apart():
    """Where each request has a path of its own, those that are put together still differ."""
    def calls(r):
        size = r.choice(["small", "large"])
        ms = [r.uniform(0.9, 1.1) for _ in range(r.randint(1, 60))]
        return ("web", "GET /a", sum(ms) + 2, "server", {"size": size},
                [("db", "query", x, "client", {}, []) for x in ms])
    with Files() as f:
        path = f.write("a.json", Steps(calls).traces)
        for key, want in (((), {()}), (("--key", "size"), {("size=large",), ("size=small",)})):
            groups = requests_json(path, "--min-requests", "60", *key)["types"][0]["groups"]
            assert {tuple(b["bin"] for b in g["bins"]) for g in groups} == want, (key, [
                (g["bins"], g["latency"]["requests"]) for g in groups])
        assert "(size=" in requests(path, "--key", "size")


def test_requests_that_messages_begin_are_requests():
    def queued(r):
        return ("web", "POST /a", 3, "server", {}, [
            ("web", "publish", 1, "producer", {}, [
                ("db", "process", 30 + r.uniform(0, 20), "consumer", {}, [
                    ("db", "query", 20 + r.uniform(0, 5), "client", {}, [])])])])
    with Files() as f:
        shop = Steps(queued)
        path = f.write("a.json", shop.traces)
        data = requests_json(path)
        assert sorted(t["name"] for t in data["types"]) == ["db: process", "web: POST /a"]
        assert all(t["requests"] == 200 for t in data["types"]), data["types"]
        assert data["input"]["requests"] == 400
        assert {"what": "detached_requests", "count": 200,
                "words": "requests that messages of others began"} in data["input"]["notes"]
        one = shop.traces[5]["traceID"]
        assert requests_json(path, "--trace", one)["trace"]["type"] == "web: POST /a"
        assert requests_json(path, "--trace", one, "--type", "db")["trace"]["type"] == "db: process"
        assert "1 more request of this trace" in requests(path, "--trace", one)
        begun = {t["name"]: t["all"]["begun_by_messages"] for t in data["types"]}
        assert begun == {"db: process": 200, "web: POST /a": 0}, begun
        text = requests(path)
        assert "200 begun by messages" in text
        assert "db: process (messages begin it, nobody waits): " in text, text


def test_requests_page_takes_the_place_of_the_old_one():
    with Files() as f:
        path, page = f.write("a.json", Shop().traces), f.path("page.html")
        with open(page, "w", encoding="utf-8") as old:
            old.write("old" * 1000000)
        os.chmod(page, 0o640)
        if os.geteuid() == 0:
            os.chown(page, 65534, 65534)
        owner = os.stat(page).st_uid
        with open(page, encoding="utf-8") as still_open:
            requests(path, "--html", page)
            assert still_open.read(3) == "old"     # another file, not the same one cut
        assert os.stat(page).st_mode & 0o777 == 0o640
        assert os.stat(page).st_uid == owner
        with open(page, encoding="utf-8") as new:
            assert new.read().startswith("<!")
        assert not [x for x in os.listdir(os.path.dirname(page)) if "partial" in x]


def test_requests_page_is_for_its_owner_alone():
    with Files() as f:
        page = f.path("page.html")
        requests(f.write("a.json", Shop().traces), "--html", page)
        assert os.stat(page).st_mode & 0o777 == 0o600, oct(os.stat(page).st_mode)


def test_requests_short_ids_are_one_route():
    """Six letters and digits look like a word: their number and rarity tells."""
    rand, rows = random.Random(7), []
    for i in range(200):
        name = "".join(rand.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(6))
        at = 1700000000000000 + i * 100000
        rows.append("%x,1,,web,GET /s/%s,%d,%d,t" % (i + 1, name, at, 5000 + i * 37 % 900))
        rows.append("%x,2,1,db,query,%d,2500,t" % (i + 1, at + 500))
    with Files() as f:
        path = write_csv(f, "s.csv", rows)
        got = requests_json(path)
        names = [t["name"] for t in got["types"]]
        assert names == ["web: GET /s/{id}"], names[:9]
        again = requests_json(write_csv(f, "s.csv", rows, 3))
        assert got["types"] == again["types"], "hangs on the order"
        assert len(requests_json(path, "--no-fold")["types"]) > 1


def test_requests_folded_holds_all_time():
    with Files() as f:
        shop = Shop()
        path, out = f.write("a.json", shop.traces), f.path("out.folded")
        requests(path, "--folded", out)
        with open(out, encoding="utf-8") as lines:
            rows = [line.rsplit(" ", 1) for line in lines]
        total = sum(t["spans"][0]["duration"] for t in shop.traces) * 1000
        near(sum(int(ns) for _, ns in rows), total, total * 1e-6)
        assert any(stack.endswith(";web GET /cart;db query;in db query") for stack, _ in rows), rows


def test_requests_chrome_slices_nest():
    with Files() as f:
        events = json.loads(requests(f.write("a.json", Shop().traces), "--chrome", "-"))["traceEvents"]
        tracks = {}
        for e in events:
            if e["ph"] == "X":
                tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
        assert len({pid for pid, _ in tracks}) == 3, "slow, typical and fast"
        for slices in tracks.values():
            open_ends = []
            for begin, end in sorted(slices, key=lambda s: (s[0], -s[1])):
                while open_ends and open_ends[-1] <= begin + 1e-6:
                    open_ends.pop()
                assert not open_ends or end <= open_ends[-1] + 1e-6, (begin, end, open_ends)
                open_ends.append(end)


def page_data(path):
    with open(path, encoding="utf-8") as f:
        page = f.read()
    return page, json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))


def drawn(path, folder):
    """The page's DOM after its script ran, or None without a browser."""
    chromium = shutil.which("chromium")
    if not chromium:
        return None
    p = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--user-data-dir=" + os.path.join(folder, "profile"), "--enable-logging=stderr",
         "--window-size=420,900", "--virtual-time-budget=3000", "--dump-dom", "file://" + path],
        capture_output=True, text=True, errors="replace", timeout=60)
    errors = [line for line in p.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors[0][:300]
    return p.stdout


def test_requests_page_is_drawn():
    evil = 'x</script><script>document.title="owned"</script>\x1b[31m'
    with Files() as f:
        path = f.write("a.json", Shop().traces + Shop(60, 2, name=evil).traces)
        out = f.path("page.html")
        heldup("requests", path, "--html", out).ended(OK)
        page, data = page_data(out)
        shown = data["traces"][data["types"][0]["groups"][0]["slow"][0]]
        rows = shown[2][3]
        assert rows and rows[0][2] == -1 and all(r[2] < i for i, r in enumerate(rows)), rows
        # what is there many times is written once
        for table in ("strings", "points", "traces"):
            told = [json.dumps(x) for x in data[table]]
            assert len(set(told)) == len(told), table
        assert shown[0] in [t[0] for t in data["traces"]] and data["strings"][0] == ""
        assert "document.title=" not in re.sub(r"&lt;script&gt;[^<]*", "",
                                               re.sub(r'id="data">.*?</script>', "", page, flags=re.S))
        dom = drawn(out, f.folder.name)
        if dom is None:
            raise Skip("no chromium: the page's data was checked, not its drawing")
        assert 'data-drawn="1"' in dom
        assert dom.count('class="wf-row"') >= 3 and "<title>owned" not in dom
        assert html.escape("in db query") in dom


def test_requests_page_of_one_and_of_two_sets_is_drawn():
    with Files() as f:
        shop = Shop(60)
        path = f.write("a.json", shop.traces)
        other = f.write("b.json", Shop(60, 2, auth_ms=9).traces)
        slow = max(shop.traces, key=lambda t: t["spans"][0]["duration"])["traceID"]
        for argv, want in ((("--trace", slow, path), "more than usual in db query"),
                           (("--diff", path, other), "What changed")):
            out = f.path("page.html")
            heldup("requests", *argv, "--html", out).ended(OK)
            assert page_data(out)[1]["diff" if argv[0] == "--diff" else "trace"]
            dom = drawn(out, f.folder.name)
            if dom is None:
                raise Skip("no chromium: the page's data was checked, not its drawing")
            assert 'data-drawn="1"' in dom and want in dom


def test_requests_types_are_chosen():
    with Files() as f:
        path = f.write("a.json", Shop().traces + Shop(50, 2, name="POST /buy").traces)
        names = [t["name"] for t in requests_json(path, "--type", "buy")["types"]]
        assert len(names) == 1 and "POST /buy" in names[0], names
        assert "/cart" not in requests(path, "--type", "buy")
        heldup("requests", path, "--type", "nothing").ended(FAILED).one_line().says("no request type")


def test_requests_names_reach_no_terminal():
    with Files() as f:
        path = f.write("a.json", Shop(30, name="GET \x1b]0;evil\x07‮").traces)
        text = requests(path)
        assert "\x1b" not in text and "\x07" not in text and "‮" not in text
        assert "\\x1b" in text


def test_requests_errors_quote_no_control_characters():
    """Also where nothing but the error is shown, which goes to the terminal as it is."""
    with Files() as f:
        for begin in ("\x1b]0;evil\x07", '"x\nheldup: all is well"', "soon‮"):
            path = f.path("bad.csv")
            with open(path, "w", encoding="utf-8") as out:
                out.write("trace_id,span_id,service,name,start_ns\n1,2,s,o,%s\n" % begin)
            done = heldup("requests", path).ended(FAILED).one_line().says("expected the time of the begin")
            assert all(" " <= c <= "~" for c in done.err.rstrip("\n")), done.err


def test_requests_of_standard_input():
    with Files() as f, open(f.write("a.json", Shop(30).traces), "rb") as src:
        p = subprocess.run([HELDUP, "requests", "-"], stdin=src, capture_output=True, text=True,
                           timeout=30)
        assert p.returncode == OK and "\nstandard input: Jaeger JSON, " in p.stdout, p


def test_requests_too_few_are_not_called_well():
    with Files() as f:
        path, many = f.write("a.json", Shop(19).traces), f.write("b.json", Shop(60).traces)
        assert "too few requests to say: no path was taken by 20" in requests(path)
        assert "in db query" in requests(path, "--min-requests", "10").split("web: GET /cart", 2)[1]
        assert "nothing: " in requests(many, "--cv", "5")
        heldup("requests", path, "--html", f.path("page.html")).ended(OK)
        dom = drawn(f.path("page.html"), f.folder.name)
        assert dom is None or "Too few requests to say" in dom


def test_requests_no_share_is_minus_nothing():
    with Files() as f:
        assert not re.search(r"-0(\.\.| %)", requests(f.write("a.json", Shop().traces), "--top", "99"))


def test_requests_counts_what_is_bad():
    with Files() as f:
        traces = Shop(30).traces
        traces[3]["spans"][1]["startTime"] = "soon"
        traces[4]["spans"][2]["references"][0]["spanID"] = "00000000000000ff"
        data = requests_json(f.write("a.json", traces))
        counts = {n["what"]: n["count"] for n in data["input"]["notes"]}
        assert counts.get("bad_spans") == 1 and counts.get("orphan_spans") == 1, counts
        assert data["input"]["files"][0]["first_bad"][0]["offset"] > 0
        heldup("requests", f.path("a.json")).ended(OK).prints("1 spans? not understood").prints("offset")


def test_requests_bad_files_are_one_line():
    with Files() as f:
        for content in (b"", b"\0" * 100, b"{", b"[]", b"hello\n", b'{"data": []}', b"\x1f\x8b\x08garbage"):
            path = f.path("bad")
            with open(path, "wb") as out:
                out.write(content)
            heldup("requests", path).ended(FAILED).one_line()
        for content in ('{"data": [], "total": 0}', '{"resourceSpans": []}\n{"resourceSpans": []}'):
            with open(path, "w", encoding="utf-8") as out:
                out.write(content)
            heldup("requests", path).ended(FAILED).one_line().says("bad: offset [0-9]+: expected spans")
        heldup("requests", f.path("none")).ended(FAILED).one_line().says("No such file")
        heldup("requests", "-").ended(FAILED).one_line()


def test_requests_bad_use():
    for argv, what in (((), "give files"), (("--cv", "x", "a"), "coefficient"), (("--cv", "0", "a"), "--cv"),
                       (("--slow-percentile", "101", "a"), "percentile"), (("--type", "(", "a"), "regular"),
                       (("--memory", "much", "a"), "64M"), (("--key", "rows:5,3", "a"), "ascending"),
                       (("--key", "=x", "a"), "names no"), (("--min-requests", "1", "a"), "min-requests"),
                       (("--trace", "1", "--diff", "a", "b"), "two questions"),
                       (("--html", "-", "--json", "a"), "only one"), (("--folded", "-", "--chrome", "-", "a"), "only one"), (("--nope",), "nope")):
        heldup("requests", *argv).ended(USAGE).one_line().says(re.escape(what))


def test_requests_missing_trace():
    with Files() as f:
        heldup("requests", f.write("a.json", Shop(30).traces), "--trace", "abcdef") \
            .ended(FAILED).one_line().says("no request 'abcdef' among the 30")


def test_requests_keys_tell_paths_apart():
    with Files() as f:
        path = f.write("a.json", Shop().traces)
        plain = requests_json(path)["types"][0]["groups"]
        binned = requests_json(path, "--key", "size=rows:10,20")["types"][0]["groups"]
        assert len(plain) == 1 and len(binned) == 3, (len(plain), len(binned))
        assert max(g["latency"]["cv"] for g in binned) < plain[0]["latency"]["cv"] + 0.2


def test_requests_real_traces():
    """Recorded systems: an answer that fits the schema, and whose edges add up."""
    paths = sorted(glob.glob(os.path.join(REAL, "*.json.gz")))
    if not paths:
        raise Skip("no %s" % REAL)
    for path in paths:
        data = requests_json(path)
        check_schema(data)
        assert data["input"]["requests"] > 0
        for t in data["types"]:
            for g in t["groups"] + [t["all"]]:
                near(sum(e["latency"]["mean_ns"] for e in g["edges"]), g["latency"]["mean_ns"],
                     len(g["edges"]) + 1)


def test_requests_show_the_way_through_a_search():
    with Files() as f:
        shop = Shop()
        path, forest = f.write("a.json", shop.traces), f.path("a.forest")
        heldup("replay", path, "--forest", forest).ended(OK)
        trace = shop.traces[5]["traceID"]
        data = requests_json(path, "--trace", trace, "--forest", forest)
        check_schema(data)
        search = data["trace"]["search"]
        assert search and search[0]["node"] == 0 and search[0]["requests"] > 0, search
        points = data["trace"]["search_points"]
        assert {p["seen"] for p in points} <= {"always", "on", "off", "not"}, points
        assert points[0]["seen"] == "always" and points[0]["round"] is None, points
        asked = {d["what"]: d["round"] for n in search for d in n["decided"] if d["decision"] == "on"}
        for p in points:
            name = (p["service"] + " " + p["name"]).strip()
            assert p["seen"] != "not" or name not in asked, (p, asked)
            assert p["seen"] != "on" or p["round"] <= asked.get(name, 10**9), (p, asked)
        assert any(p["seen"] == "on" and p["because"] for p in points), points
        assert requests_json(path, "--trace", trace)["trace"]["search"] is None
        assert "its tracepoints, and whether they were on" in requests(
            path, "--trace", trace, "--forest", forest)
        page = f.path("page.html")
        heldup("requests", path, "--trace", trace, "--forest", forest, "--html", page).ended(OK)
        dom = drawn(page, f.folder.name)
        if dom is not None:
            assert 'data-drawn="1"' in dom and "Its way through the search" in dom
            assert dom.count('class="seen-row"') == len(points), dom.count('class="seen-row"')
            # each has its row there, and a tag in the waterfall too
            assert dom.count('class="tag seen ') >= 2 * len(points)
        assert "ITS WAY THROUGH THE SEARCH" in requests(path, "--trace", trace, "--forest", forest)
        heldup("requests", path, "--forest", forest).ended(USAGE).one_line().says("--trace")
        heldup("requests", path, "--trace", trace, "--forest", path).ended(FAILED).one_line()
