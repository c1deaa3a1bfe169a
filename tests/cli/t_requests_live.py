# SPDX-License-Identifier: Apache-2.0
"""`heldup requests` of running servers: what is refused, and what it says where nothing came."""
import os

from heldup_cli import FAILED, OK, RIGHTS, USAGE, Skip, heldup
from t_requests import Files, Shop, Steps, requests_json


def test_requests_of_files_or_servers():
    for argv, words in (
            ((), "running servers: -p PID"),
            (("-p", "1", "x.json"), "not both: leave out 'x.json'"),
            (("-p", "1", "--port", "80"), "give only one of"),
            (("-p", "1", "--diff", "x.json"), "--diff and --trace read files"),
            (("-p", "1", "--trace", "12"), "--diff and --trace read files"),
            (("-p", "0"), "'0' is not a process id"),
            (("-p", ""), "'' is not a process id"),
            (("--port", "0"), "--port"),
            (("--comm", "("), "not a regular expression"),
            (("-p", "1", "--max-cost", "x"), "x"),
            (("-p", "1", "-d", "1ms"), "shorter than"),
            (("--slowest", "--trace", "12", "x.json"), "three questions")):
        got = heldup("requests", *argv).ended(USAGE)
        got.one_line()
        assert words in got.err, (argv, got.err)


def test_requests_of_nobody():
    got = heldup("requests", "--comm", "^no-such-name$", "-d", "50ms").ended(FAILED)
    got.one_line()


def test_requests_of_a_process_that_serves_nobody():
    if os.geteuid() != 0:
        raise Skip("not root")
    got = heldup("requests", "-p", str(os.getpid()), "-d", "50ms")
    if got.status == RIGHTS:
        raise Skip(got.err)
    got.ended(FAILED).one_line()
    assert "no request came on a connection" in got.err, got.err


def test_requests_in_the_formats_of_others():
    """Written as OTLP and for Jaeger and read again, they are the same requests."""
    with Files() as f:
        path, otlp, jaeger = f.write("shop.json", Shop(seed=3).traces), f.path("a"), f.path("b")
        heldup("requests", path, "--otlp", otlp, "--jaeger", jaeger).ended(OK)
        want = requests_json(path)
        for other in (otlp, jaeger):
            got = requests_json(other)
            for key in ("name", "requests"):
                assert [t[key] for t in got["types"]] == [t[key] for t in want["types"]]
            assert got["input"]["spans"] == want["input"]["spans"]


def test_requests_the_slowest():
    with Files() as f:
        path = f.write("shop.json", Shop(seed=3).traces)
        out = heldup("requests", path, "--slowest").ended(OK).out
        assert "\nREQUEST  " in out and "longer than 100 %" in out, out


def test_requests_the_slowest_of_a_type():
    """Not the slowest of all types, which another type's is."""
    slowest = {}

    def make(r):
        name, ms = r.choice((("/slow", 80), ("/fast", 5)))
        ms += r.randrange(20) / 10
        slowest[name] = max(ms, slowest.get(name, 0))
        return ("web", "GET " + name, ms, "server", {}, [])
    with Files() as f:
        path = f.write("a.json", Steps(make).traces)
        for name, ms in slowest.items():
            out = heldup("requests", path, "--slowest", "--type", name).ended(OK).out
            assert "web: GET %s took %#.3g ms" % (name, ms) in out, (name, ms, out)
