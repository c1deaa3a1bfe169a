# SPDX-License-Identifier: Apache-2.0
"""A trace of OSProfiler itself: as its Redis holds it, and as its command shows it."""
import calendar
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

import spans_dump
from spans_dump import ERROR, Skip

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"  # the one Debian's packages are for


def need_tools():
    if not shutil.which("redis-server"):
        raise Skip("no redis-server")
    done = subprocess.run([PYTHON, "-c", "import osprofiler.profiler, redis"],
                          capture_output=True, text=True)
    if done.returncode or not shutil.which("osprofiler"):
        raise Skip("no python3-osprofiler and python3-redis")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until_up(port):
    for _ in range(100):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("redis-server does not answer")


def record(folder):
    port = free_port()
    url = "redis://127.0.0.1:%d/0" % port
    server = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1",
                               "--save", "", "--dir", folder], stdout=subprocess.DEVNULL)
    try:
        until_up(port)
        base = subprocess.run([PYTHON, os.path.join(HERE, "osprofiler_make.py"), url, folder],
                              check=True, capture_output=True, text=True,
                              timeout=60).stdout.strip()
        subprocess.run(["osprofiler", "trace", "show", "--json", "--connection-string", url,
                        "--out", folder + "/report.json", base], check=True,
                       capture_output=True, timeout=60)
    finally:
        server.terminate()
        server.wait()
    with open(folder + "/made.json", encoding="utf-8") as f:
        return json.load(f)


def ns(stamp):
    whole, _, part = stamp.partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) * 10**9 + \
        int((part + "0" * 9)[:9])


def flat(info, path=""):
    out = {}
    for k, v in info.items():
        if isinstance(v, dict):
            out.update(flat(v, path + k + "."))
        elif path or k != "host":
            out[path + k] = v
    return out


def expected(made):
    """By (name, begin): what a span should be; ids that are no hex of 64 bits are not shown."""
    starts = {e["trace_id"]: e for e in made if e["name"].endswith("-start")}
    stops = {e["trace_id"]: e for e in made if e["name"].endswith("-stop")}
    out = {}
    for id_, e in starts.items():
        parent = starts.get(e["parent_id"])
        out[(e["name"][:-6], ns(e["timestamp"]))] = {
            "end": ns(stops[id_]["timestamp"]), "service": "nova-api", "host": e["info"]["host"],
            "trace": e["base_id"].replace("-", ""), "attrs": flat(e["info"]),
            "flags": ERROR if "etype" in stops[id_]["info"] else 0,
            "parent": parent and (parent["name"][:-6], ns(parent["timestamp"]))}
    return out


def compare(path, form, want):
    spans, counts = spans_dump.read(path)
    assert counts["format"] == form and counts["bad"] == 0 and not counts["cut"], counts
    by_id = {s["id"]: (s["name"], s["begin"]) for s in spans}
    got = {}
    for s in spans:
        got[(s["name"], s["begin"])] = {
            "end": s["end"], "service": s["service"], "host": s["host"], "trace": s["trace"],
            "attrs": dict(s["attrs"]), "flags": s["flags"], "parent": by_id.get(s["parent"])}
    assert got == want, (form, got, want)


def test_osprofiler():
    need_tools()
    with tempfile.TemporaryDirectory(prefix="heldup-osprofiler-") as folder:
        want = expected(record(folder))
        assert len(want) == 8, want
        assert sum(w["flags"] for w in want.values()) == 2, want
        compare(folder + "/events", "OSProfiler events", want)
        compare(folder + "/report.json", "OSProfiler report", want)
