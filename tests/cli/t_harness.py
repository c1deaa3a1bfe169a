# SPDX-License-Identifier: Apache-2.0
"""What tests that need servers say where one is not installed, and how suites are run."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import time

from heldup_cli import TOP


def load_program(path):
    """A program of tests/ that has no .py at its end, as a module."""
    loader = importlib.machinery.SourceFileLoader("program", os.path.join(TOP, path))
    spec = importlib.util.spec_from_loader("program", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class Everywhere:
    """shutil, where every program is found."""

    @staticmethod
    def which(name, **_):
        return "/bin/true"


def test_java_without_tomcat_is_skipped():
    program = load_program("tests/bpf/t_unwind")
    program.shutil = Everywhere
    program.servers.TOMCAT = "/nonexistent"
    said, argv = io.StringIO(), sys.argv
    try:
        sys.argv = ["t_unwind", "java"]
        with contextlib.redirect_stdout(said):
            program.main()
    except SystemExit as e:
        assert not e.code, said.getvalue()
    finally:
        sys.argv = argv
    assert said.getvalue().startswith("skip unwind-java: tomcat10 is not installed"), said.getvalue()


def runner(*suites):
    """tests/run with these suites, as (name, shell command, lane), and what it said."""
    program = load_program("tests/run")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        tally = program.run_all([program.Suite(name, ["/bin/sh", "-c", command], 20, lane=lane)
                                 for name, command, lane in suites])
    return tally, said.getvalue()


def test_suites_that_fill_a_cpu_run_beside_others_and_the_sensitive_ones_alone():
    meet = "for i in $(seq 100); do [ -e %s ] && echo ok met && exit; sleep 0.05; done; exit 1"
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as d:
        a, b = d + "/a", d + "/b"
        tally, said = runner(
            ("one", "touch %s; %s" % (a, meet % b), "front"),
            ("two", "touch %s; (%s); sleep 0.3; touch %s/end" % (b, meet % a, d), "back"),
            ("three", "[ -e %s/end ] && echo ok after" % d, "alone"))
    assert (tally.passed, tally.failed) == (3, 0), (tally.bad, said)


def test_suites_are_over_when_the_time_for_all_is():
    """Also one whose child ignores SIGTERM, in a session of its own, and holds the pipe."""
    program = load_program("tests/run")
    stubborn = "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' & echo $! >&2; wait"
    os.environ["HELDUP_TEST_BEGAN"] = str(time.time() - program.TOTAL_SECONDS + 1)
    began = time.monotonic()
    try:
        tally, said = runner(("hangs", stubborn, "front"), ("later", "echo ok", "alone"))
    finally:
        del os.environ["HELDUP_TEST_BEGAN"]
    took = time.monotonic() - began
    assert tally.failed == 2 and took < 12, (took, tally.bad, said)
    assert "was not done" in tally.bad[0] and "not begun" in tally.bad[1], tally.bad
    left = int(said.split("\n")[1])
    assert not os.path.exists("/proc/%d/cwd" % left), "its child is left"
