# SPDX-License-Identifier: Apache-2.0
"""`heldup requests` of running servers: what is refused, and what it says where nothing came."""
import os

from heldup_cli import FAILED, RIGHTS, USAGE, Skip, heldup


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
            (("-p", "1", "-d", "1ms"), "shorter than")):
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
