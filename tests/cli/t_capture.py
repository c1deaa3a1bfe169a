# SPDX-License-Identifier: Apache-2.0
"""Captures at the command line: copied, cut, refused, never damaged; and metrics from them."""
import glob
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

from heldup_cli import FAILED, HELDUP, OK, TOP, USAGE, Skip, heldup
from make_capture import EPOLL, Capture

sys.path.insert(0, os.path.join(TOP, "tests", "golden"))
import schema_check  # noqa: E402

TIMED = {"runtime", "rq_time", "block_time", "sleep_time"}


def some_capture():
    found = sorted(glob.glob(os.path.join(TOP, "tests", "golden", "*.cap")))
    if not found:
        raise Skip("no capture in tests/golden")
    return found[0]


def content(path):
    with open(path, "rb") as f:
        return f.read()


def ticks(*argv):
    lines = heldup("metrics", "--json", *argv).ended(OK).out.splitlines()
    return [json.loads(line) for line in lines]


def test_brief_is_one_short_line():
    schema = json.loads(heldup("why", "--brief", "--json-schema").ended(OK).out)
    keys = []
    for path in sorted(glob.glob(os.path.join(TOP, "tests", "golden", "*.cap"))):
        text = heldup("why", "-i", path, "--json", "--brief").ended(OK).out
        assert text.count("\n") == 1 and len(text.encode()) < 8000, len(text)
        brief, whole = json.loads(text), json.loads(heldup("why", "-i", path, "--json").out)
        checker = schema_check.Checker(schema)
        checker.check(schema, brief)
        assert not checker.errors, checker.errors[:5]
        assert brief["verdict"]["class"] == whole["verdict"]["class"]
        assert [e["text"] for e in brief["evidence"]] == whole["evidence"][:8]
        keys += [n["key"] for e in brief["evidence"] for n in e["numbers"]]
    assert {"waits", "longest", "time_waited_for", "open_requests", "running"} <= set(keys), keys
    heldup("why", "-i", path, "--brief").ended(USAGE).one_line().says("give --json too")


def test_fail_on_is_an_exit_status():
    cap = os.path.join(TOP, "tests", "golden", "%s.cap")
    for name, classes, status in (
            ("lock_held", "lock-held", 4), ("lock_held", "deadlock,lock-held", 4),
            ("lock_held", "deadlock", 0), ("lock_held", "any", 4), ("healthy", "any", 0),
            ("healthy", "healthy", 4), ("clients", "any", 0)):
        r = heldup("why", "-i", cap % name, "--fail-on", classes).ended(status)
        assert r.err == "" and r.out == heldup("why", "-i", cap % name).out, r.err
    heldup("why", "-i", cap % "healthy", "--fail-on", "lock-hled").ended(USAGE).one_line() \
        .says("did you mean lock-held")
    heldup("why", "-i", cap % "healthy", "--fail-on", "any,").ended(USAGE).one_line()


def test_baseline_says_changes_in_units():
    golden = os.path.join(TOP, "tests", "golden")
    text = heldup("why", "-v", "-i", os.path.join(golden, "lock_held.cap"), "--baseline",
                  os.path.join(golden, "healthy.cap")).ended(OK).out
    assert "requests answered: 897/s, was 1.39 k/s\n" in text, text
    assert "p99 of requests: 201 ms, was 320 us\n" in text, text
    assert "e+0" not in text, text


def test_record_needs_output_and_selection():
    heldup("record", "-p", "1").ended(USAGE).one_line().says("-o FILE")
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "x.cap")
        heldup("record", "-o", out).ended(USAGE).one_line()
        heldup("record", "-p", "1", "-i", out, "-o", out).ended(USAGE).one_line()
        assert os.listdir(d) == [], os.listdir(d)


def test_record_copies_a_capture():
    cap = some_capture()
    with tempfile.TemporaryDirectory() as d:
        copy = os.path.join(d, "copy.cap")
        heldup("record", "-i", cap, "-o", copy).ended(OK).prints(r"copy\.cap: .* events, .* lost$")
        assert os.listdir(d) == ["copy.cap"], os.listdir(d)
        assert os.stat(copy).st_mode & 0o777 == 0o600
        assert heldup("metrics", "--json", "-i", copy).out == \
            heldup("metrics", "--json", "-i", cap).out


def test_record_mends_a_cut_capture():
    cap = some_capture()
    data = content(cap)
    with tempfile.TemporaryDirectory() as d:
        cut, whole = os.path.join(d, "cut.cap"), os.path.join(d, "whole.cap")
        with open(cut, "wb") as f:
            f.write(data[:len(data) * 2 // 3])
        heldup("metrics", "-i", cut).ended(OK).says("is not complete, the file is cut")
        heldup("record", "-i", cut, "-o", whole).ended(OK)
        # its own end is there now; that the first one was not is still told
        heldup("metrics", "-i", whole).ended(OK).says("cut.cap' is not complete")
        assert ticks("-i", whole) == ticks("-i", cut)


def test_record_keeps_what_is_no_capture():
    cap = some_capture()
    with tempfile.TemporaryDirectory() as d:
        notes = os.path.join(d, "notes.txt")
        with open(notes, "w") as f:
            f.write("what happened on Monday\n")
        heldup("record", "-i", cap, "-o", notes).ended(FAILED).one_line().says("--force")
        assert content(notes) == b"what happened on Monday\n"
        heldup("record", "-i", cap, "-o", notes, "--force").ended(OK)
        assert content(notes)[:7] == b"\x89HELDUP"
        heldup("record", "-i", cap, "-o", d).ended(FAILED).one_line().says("directory")
        heldup("record", "-i", cap, "-o", "/nonexistent/x").ended(FAILED).one_line()


def test_record_keeps_a_good_capture_when_the_new_one_fails():
    cap = some_capture()
    with tempfile.TemporaryDirectory() as d:
        good = os.path.join(d, "good.cap")
        heldup("record", "-i", cap, "-o", good).ended(OK)
        before = content(good)
        bad = os.path.join(d, "bad")
        with open(bad, "w") as f:
            f.write("no capture")
        heldup("record", "-i", bad, "-o", good).ended(FAILED).one_line()
        assert content(good) == before
        assert sorted(os.listdir(d)) == ["bad", "good.cap"], os.listdir(d)


def test_record_to_a_full_disk():
    heldup("record", "-i", some_capture(), "-o", "/dev/full").ended(FAILED).one_line() \
        .says("No space left")


def test_record_to_a_file_that_may_not_grow():
    with tempfile.TemporaryDirectory() as folder:
        heldup("record", "-i", some_capture(), "-o", os.path.join(folder, "x.cap"),
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))) \
            .ended(FAILED).one_line().says("File too large")
        assert os.listdir(folder) == [], os.listdir(folder)


def copying(folder, data):
    """A record that has taken in data from a pipe and waits for more."""
    proc = subprocess.Popen([HELDUP, "record", "-i", "-", "-o", os.path.join(folder, "x.cap")],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    proc.stdin.write(data)
    proc.stdin.flush()
    deadline = time.monotonic() + 10
    while not (os.listdir(folder) and b"pipe" in content("/proc/%d/wchan" % proc.pid)):
        assert time.monotonic() < deadline, os.listdir(folder)
        time.sleep(0.01)
    return proc


def test_record_asked_twice_at_once_completes():
    """timeout(1) signals its child and then its group: one wish."""
    data = content(some_capture())
    with tempfile.TemporaryDirectory() as d:
        proc = copying(d, data[:len(data) * 2 // 3])
        proc.send_signal(signal.SIGINT)
        time.sleep(0.01)
        proc.send_signal(signal.SIGINT)
        proc.communicate(data[len(data) * 2 // 3:], timeout=20)
        assert proc.returncode == OK, proc.returncode
        assert os.listdir(d) == ["x.cap"], os.listdir(d)
        heldup("metrics", "-i", os.path.join(d, "x.cap")).ended(OK)


def test_record_ended_at_once_says_what_it_leaves():
    data = content(some_capture())
    for share, kept in ((2 / 3, True), (0, False)):
        with tempfile.TemporaryDirectory() as d:
            with copying(d, data[:int(len(data) * share)]) as proc:
                proc.send_signal(signal.SIGINT)
                time.sleep(0.5)  # a person's second one
                proc.send_signal(signal.SIGINT)
                proc.wait(timeout=20)
                said = proc.stderr.read().decode()
            assert proc.returncode == -signal.SIGINT, proc.returncode
            left = os.listdir(d)
            if kept:
                assert len(left) == 1 and left[0].endswith(".partial"), left
                assert "%s' is readable up to where it ends" % left[0] in said, said
                heldup("metrics", "-i", os.path.join(d, left[0])).ended(OK)
            else:
                assert left == [], left


def test_record_through_pipes():
    cap = some_capture()
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "out.cap")
        with open(cap, "rb") as stdin, open(out, "wb") as stdout:
            done = subprocess.run([HELDUP, "record", "-i", "-", "-o", "-"], stdin=stdin,
                                  stdout=stdout, stderr=subprocess.PIPE, timeout=30)
        assert done.returncode == OK, done.stderr
        assert b"standard output: " in done.stderr, done.stderr
        assert ticks("-i", out) == ticks("-i", cap)


def test_metrics_fit_their_schema():
    checker = schema_check.Checker(json.loads(heldup("metrics", "--json-schema").out))
    seen = ticks("-i", some_capture())
    assert seen
    for tick in seen:
        checker.check(checker.root, tick)
    assert not checker.errors, checker.errors[:3]


def test_metrics_states_add_up():
    for tick in ticks("-i", some_capture())[1:]:
        sums = {}
        for row in tick["rows"]:
            if row["metric"] in TIMED:
                sums[row["tid"]] = sums.get(row["tid"], 0) + row["value"]
        for tid, total in sums.items():
            assert total <= 1.001, "tid %s: %f" % (tid, total)
        assert max(sums.values()) > 0.99, sums


def test_metrics_rows_are_limited_and_that_is_told():
    cap = some_capture()
    few = heldup("metrics", "-i", cap, "-n", "1").ended(OK)
    few.prints(r"and \d+ more")
    every = heldup("metrics", "-i", cap, "-n", "0").ended(OK)
    assert len(every.out) > len(few.out)
    assert "more" not in every.out.split("\n")[-2], every.out[-200:]


def test_metrics_to_a_closed_pipe_ends():
    done = subprocess.run("exec 3>&1; (%s metrics -i %s; echo status=$? >&3) | true"
                          % (HELDUP, some_capture()), shell=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=30)
    assert "status=0" in done.stdout or "status=1" in done.stdout or "141" in done.stdout, \
        done.stdout + done.stderr


def some_trace():
    return os.path.join(TOP, "tests", "unit", "traces", "strace-k.txt.gz")


def test_trace_of_another_program_becomes_a_capture():
    with tempfile.TemporaryDirectory() as d:
        out, again = os.path.join(d, "x.cap"), os.path.join(d, "y.cap")
        heldup("record", "-i", some_trace(), "-o", out).ended(OK)
        assert "a trace of strace has system calls and no waits" in heldup(
            "why", "-i", out).ended(OK).out
        heldup("record", "-i", out, "-o", again).ended(OK)
        assert os.path.getsize(out) < os.path.getsize(some_trace()) * 2
        heldup("stacks", "-i", out).ended(OK)


def test_trace_that_is_none_is_refused():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "log.txt")
        with open(path, "w") as f:
            f.write("an ordinary log\n" * 50)
        heldup("why", "-i", path).ended(FAILED).one_line().says("no trace of strace")
        heldup("why", "-i", d).ended(FAILED).one_line().says("is a directory")
def traced(path, cnt):
    """Each of cnt processes makes a call."""
    with open(path, "w", encoding="utf-8") as f:
        f.writelines("%d 1690000000.%06d read(3, \"\", 9) = 0 <0.000010>\n" % (1000 + i, i * 10)
                     for i in range(cnt))


def forked(path, cnt):
    """Each of cnt processes of one program waits once for a timer."""
    c = Capture()
    for i in range(cnt):
        c.thread(1000 + i, 1000 + i, "worker%d" % i)
        c.wait(1000 + i, EPOLL, 0, 1 + i * 900 / cnt, 50 + i * 900 / cnt, 51 + i * 900 / cnt,
               tgid=1000 + i)
    c.write(path)


def cpu_of_why(make, cnt):
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/made"
        make(path, cnt)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        heldup("why", "-i", path).ended(OK)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def check_linear(make, few, many):
    """Twice what the numbers say, for a CPU that is shared, and the program's start."""
    took = [cpu_of_why(make, cnt) for cnt in (few, many)]
    assert took[1] < 2 * many / few * took[0] + 0.3, "%.2f s for %d, %.2f s for %d" % (
        took[0], few, took[1], many)


def test_capture_of_many_traced_takes_linear_time():
    check_linear(traced, 15000, 60000)


def test_capture_of_many_forked_takes_linear_time():
    check_linear(forked, 5000, 20000)


