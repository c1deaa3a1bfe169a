# SPDX-License-Identifier: Apache-2.0
"""`heldup requests`: names with ids, the service to blame, and what changed of the structure."""
import gzip
import json
import random
import re

from heldup_cli import FAILED, OK, USAGE, heldup
from t_requests import Files, Shop, check_schema, drawn, near, requests, requests_json


def with_ids(cnt=60):
    """One route, each request of another user; what is asked for says its route or has a UUID."""
    lines = ["trace_id,span_id,parent_id,service,operation,start_us,duration_us,http.route"]
    for i in range(1, cnt + 1):
        at = 1600000000000000 + i * 100000
        uuid = "%08x-1234-4abc-8def-%012x" % (i * 7919, i)
        lines += ["%d,1,,front,GET /user/%d/orders,%d,%d," % (i, i, at, 9000 + i % 7),
                  "%d,2,1,back,GET /item/%s,%d,%d," % (i, uuid, at + 1000, 3000 + i % 5),
                  "%d,3,1,names,GET /by/name%s,%d,%d,/by/:name"
                  % (i, "abcdefghij"[i % 10], at + 5000, 2000 + i % 3)]
    return "\n".join(lines) + "\n"


def test_requests_of_ids_are_one_route():
    with Files() as f:
        path = f.path("ids.csv")
        with open(path, "w", encoding="utf-8") as out:
            out.write(with_ids())
        data = requests_json(path)
        check_schema(data)
        assert [(t["name"], t["requests"]) for t in data["types"]] == [("front: GET /user/{id}/orders", 60)]
        owners = {o["tracepoint"] for o in data["types"][0]["all"]["owners"]}
        assert owners == {"front GET /user/{id}/orders", "back GET /item/{id}", "names GET /by/:name"}, owners
        notes = {n["what"]: n["count"] for n in data["input"]["notes"]}
        assert notes["folded_names"] == 60 + 60 + 10, notes
        assert "too few requests to say" not in requests(path)
        assert len(requests_json(path, "--no-fold")["types"]) == 60
        ruled = requests_json(path, "--no-fold", "--fold", "/user/[0-9]+=/user/N")["types"]
        assert [t["name"] for t in ruled] == ["front: GET /user/N/orders"], ruled
        assert "back GET /item/{id}" in heldup("replay", path, "--strategy", "all-on", "--json").ended(OK).out
        for bad in ("x", "=x", "(=x"):
            heldup("requests", "--fold", bad, path).ended(USAGE).one_line()


def test_requests_blame_one_service_first():
    """One answer before all else, with and without requests of a good time, in all three forms."""
    with Files() as f:
        good = f.write("good.json", Shop(seed=1).traces)
        bad = f.write("bad.json", Shop(seed=2, auth_ms=12).traces)
        for argv, service in (((bad,), "db"), (("--diff", good, bad), "auth")):
            data = requests_json(*argv)
            check_schema(data)
            blamed = data["service_to_blame"]
            assert blamed["service"] == service and blamed["share"] > 0.7, blamed
            assert blamed["by"] == "time", blamed
            assert data["services_to_blame"][0]["service"] == service
            near(sum(s["share"] for s in data["services_to_blame"]), 1, 0.001)
            first = requests(*argv).split("\n")[0]
            assert first.startswith("SERVICE TO BLAME  %s: " % service), first
            heldup("requests", *argv, "--html", f.path("page.html")).ended(OK)
            dom = drawn(f.path("page.html"), f.folder.name)
            assert dom is None or "Service to blame: </b>%s: " % service in dom
        same = requests_json("--diff", good, good)
        assert same["service_to_blame"] is None, same
        assert requests("--diff", good, good).startswith("SERVICE TO BLAME  none: ")


def ends_early(early):
    """Rows of requests of which so many end when auth has said no."""
    rows = []
    for i in range(1, 101):
        at, steps = 1600000000000000 + i * 1000000, [("auth", "check", 2, 20000 + i)]
        steps += [] if i <= early else [("cart", "get", 3, 80000 + i), ("bank", "charge", 4, 110000 + i)]
        rows.append("%d,1,,web,POST /pay,%d,%d" % (i, at, sum(s[3] for s in steps) + 3000))
        for service, name, number, took in steps:
            rows.append("%d,%d,1,%s,%s,%d,%d" % (i, number, service, name, at + 1000, took))
            at += took
    return "trace_id,span_id,parent_id,service,operation,start_us,duration_us\n" + "\n".join(rows) + "\n"


def test_requests_weigh_structure_with_the_edges():
    with Files() as f:
        paths = [f.path("good.csv"), f.path("bad.csv")]
        for path, early in zip(paths, (0, 82)):
            with open(path, "w", encoding="utf-8") as out:
                out.write(ends_early(early))
        data = requests_json("--diff", *paths)
        check_schema(data)
        left_out = {s["called"]: s for s in data["structure_changed"]}
        assert set(left_out) == {"cart get", "bank charge"}, left_out
        for s in left_out.values():
            assert s["caller"] == "web POST /pay" and s["kind"] == "less", s
            near(s["good_share"], 1, 0.001)
            near(s["bad_share"], 0.18, 0.001)
            near(s["delta_ns"], -190e6, 1e6)
        blamed = data["service_to_blame"]
        assert blamed["service"] == "web" and blamed["by"] == "structure", blamed
        text = requests("--diff", *paths)
        assert re.match(r"SERVICE TO BLAME  web: web POST /pay calls (cart|bank) ", text), text
        assert text.index("CALLS LEFT OUT") < text.index("web: POST /pay\n"), text
        heldup("requests", "--diff", *paths, "--html", f.path("page.html")).ended(OK)
        dom = drawn(f.path("page.html"), f.folder.name)
        assert dom is None or "Calls left out, and new ones" in dom
        assert requests_json("--diff", paths[0], paths[0])["structure_changed"] == []


def audited(took_us):
    """Rows of requests that wait for a bank, 90 ms; an audit that took so long goes beside."""
    rows = []
    for i in range(1, 101):
        at = 1600000000000000 + i * 1000000
        rows.append("%d,1,,web,POST /pay,%d,%d" % (i, at, 95000 + i))
        rows.append("%d,2,1,bank,charge,%d,%d" % (i, at + 1000, 90000 + i * 7 % 90))
        rows.append("%d,3,1,audit,log,%d,%d" % (i, at + 2000, took_us + i * 11 % 900))
        rows.append("%d,4,3,disk,write,%d,%d" % (i, at + 2500, took_us - 1000 + i * 11 % 900))
    return "trace_id,span_id,parent_id,service,operation,start_us,duration_us\n" + "\n".join(rows) + "\n"


def test_requests_show_what_is_slower_beside_the_path():
    """The callee that is slower by itself, and nobody is blamed; none where it is as before."""
    with Files() as f:
        paths = [f.path("good.csv"), f.path("bad.csv")]
        for path, took in zip(paths, (20000, 60000)):
            with open(path, "w", encoding="utf-8") as out:
                out.write(audited(took))
        data = requests_json("--diff", *paths)
        check_schema(data)
        assert [s["called"] for s in data["slower_aside"]] == ["disk write"], data["slower_aside"]
        near(data["slower_aside"][0]["bad_ns"] - data["slower_aside"][0]["good_ns"], 40e6, 1e6)
        assert data["service_to_blame"] is None, data["service_to_blame"]
        text = requests("--diff", *paths)
        assert "SLOWER BESIDE THE CRITICAL PATH" in text and "disk write takes 59" in text, text
        for pair in ((paths[0], paths[0]), (paths[1], paths[0])):
            assert requests_json("--diff", *pair)["slower_aside"] == [], pair
        assert requests_json(paths[1])["slower_aside"] == []


def retries(many):
    """Rows of requests of which some ask the database again; it varies less than that makes."""
    rows = []
    for i in range(1, 201):
        at, steps = 1600000000000000 + i * 1000000, [("auth", "check", 20000 + i * 7 % 4000)]
        steps += [("db", "query", 40000 + i * 13 % 9000)] * (2 if i % 100 < many else 1)
        rows.append("%d,1,,web,POST /pay,%d,%d" % (i, at, sum(s[2] for s in steps) + 3000))
        for number, (service, name, took) in enumerate(steps):
            rows.append("%d,%d,1,%s,%s,%d,%d" % (i, number + 2, service, name, at + 1000, took))
            at += took
    return "trace_id,span_id,parent_id,service,operation,start_us,duration_us\n" + "\n".join(rows) + "\n"


def test_requests_weigh_structure_without_good_requests():
    """Where most of the variance lies between who makes a call and who does not, it is the first line."""
    cases = ((ends_early(80), "(cart get|bank charge)", 1, 0.2, 190e6),
             (ends_early(20), "(cart get|bank charge)", 1, 0.8, 190e6),
             (retries(20), "db query", 2, 0.2, 44e6))
    with Files() as f:
        path = f.path("a.csv")
        for rows, called, times, share, delta_ns in cases:
            with open(path, "w", encoding="utf-8") as out:
                out.write(rows)
            data = requests_json(path)
            check_schema(data)
            blamed, first = data["service_to_blame"], data["structure_varies"][0]
            assert blamed["service"] == "web" and blamed["by"] == "structure", blamed
            assert re.fullmatch(called, first["called"]) and first["caller"] == "web POST /pay", first
            assert first["times"] == times and first["variance_share"] > 0.8, first
            near(first["request_share"], share, 0.001)
            near(first["delta_ns"], delta_ns, 5e6)
            text = requests(path)
            assert re.match("SERVICE TO BLAME  web: web POST /pay calls " + called, text), text
            assert text.index("CALLS THAT DIFFER") < text.index("EDGES TO BLAME"), text
        heldup("requests", path, "--html", f.path("page.html")).ended(OK)
        dom = drawn(f.path("page.html"), f.folder.name)
        assert dom is None or ("Calls that differ" in dom and "db query 2 times or more in 20 %" in dom)
        with open(path, "w", encoding="utf-8") as out:
            out.write(retries(0))
        data = requests_json(path)
        assert data["structure_varies"] == [] and data["service_to_blame"]["by"] == "time", data["service_to_blame"]


def beside(slow_us, seed):
    """Rows of requests that ask two at once and wait for the later one."""
    rows, r = [], random.Random(seed)
    for i in range(1, 201):
        at, took = 1600000000000000 + i * 1000000, (r.randint(8000, 9000), r.randint(2000, 2500) + slow_us)
        rows += ["%d,1,,web,GET /both,%d,%d" % (i, at, max(took) + 1000), "%d,2,1,first,ask,%d,%d" % (i, at + 300, took[0]),
                 "%d,3,1,second,ask,%d,%d" % (i, at + 300, took[1])]
    return "trace_id,span_id,parent_id,service,operation,start_us,duration_us\n" + "\n".join(rows) + "\n"


def test_requests_blame_a_branch_that_nobody_waited_for():
    with Files() as f:
        good, same, bad = (f.path(n) for n in ("good.csv", "same.csv", "bad.csv"))
        for path, slow_us, seed in ((good, 0, 1), (same, 0, 2), (bad, 20000, 3)):
            with open(path, "w", encoding="utf-8") as out:
                out.write(beside(slow_us, seed))
        data = requests_json("--diff", good, bad)
        check_schema(data)
        assert data["called_more"] == [] and data["structure_changed"] == [], data["called_more"]
        assert (data["service_to_blame"]["service"], data["service_to_blame"]["by"]) == ("second", "time"), data
        assert requests("--diff", good, bad).startswith("SERVICE TO BLAME  second: in second ask takes ")
        assert requests_json("--diff", good, same)["service_to_blame"] is None


def test_requests_leave_out_a_stray_file():
    """One that is no file of spans costs that file, and is told; one that is not there is an error."""
    with Files() as f:
        good, stray = f.write("a.json", Shop(60).traces), f.path("README")
        with open(stray, "w", encoding="utf-8") as out:
            out.write("hello\n")
        done = heldup("requests", "--json", stray, good).ended(OK).says("README: left out: ")
        data = json.loads(done.out)
        check_schema(data)
        assert data["input"]["requests"] == 60, data["input"]
        assert [x["format"] for x in data["input"]["files"]] == [None, "Jaeger JSON"], data["input"]
        assert data["input"]["files"][0]["cut_at"]["why"], data["input"]
        text = requests(good, stray)
        assert "2 files: Jaeger JSON, " in text and "README: nothing could be read from offset 0" in text, text
        heldup("replay", good, stray, "--strategy", "all-on").ended(OK).says("README: left out: ")
        heldup("requests", good, f.path("none")).ended(FAILED).one_line().says("No such file")
        heldup("requests", stray, stray).ended(FAILED).says("README")


def test_requests_say_at_once_where_a_file_is_cut():
    with Files() as f:
        path = f.path("a.json.gz")
        with open(f.write("a.json", Shop(300).traces), "rb") as src:
            packed = gzip.compress(src.read())
        with open(path, "wb") as out:
            out.write(packed[:len(packed) // 2])
        heldup("requests", path).ended(OK).says("a.json.gz: nothing could be read from offset [0-9]+ on: ")
