# SPDX-License-Identifier: Apache-2.0
"""The program's own options, help, and errors that every command shares."""
import json
import os
import platform
import re
import tempfile
import threading

from heldup_cli import FAILED, OK, RIGHTS, TOP, USAGE, commands, heldup, heldup_as_nobody

NO_PID = "4194304"  # PID_MAX_LIMIT: never given to a process


def test_no_arguments_is_the_host_or_usage():
    if os.path.exists("/var/lib/heldup/heldup.db"):
        heldup().ended(OK).prints(r"Services")
    else:
        heldup().ended(USAGE).says(r"sudo heldup serve").says(r"\nusage: heldup COMMAND")


def test_help_lists_commands():
    for words in (("--help",), ("-h",), ("help",)):
        heldup(*words).ended(OK).prints(r"\bwhy\b").prints(r"exit status: 0 done")


def test_version_names_kernel_and_libbpf():
    r = heldup("--version").ended(OK)
    r.prints(r"^heldup \d+\.\d+").prints(r"\nlibbpf \d+\.\d+\n")
    r.prints(r"\nkernel " + re.escape(platform.release()) + " ")


def test_unknown_command_and_option():
    heldup("wyh").ended(USAGE).one_line().says("no command 'wyh'")
    heldup("--wyh").ended(USAGE).one_line().says("no option '--wyh'")
    heldup("help", "wyh").ended(USAGE).one_line()


def test_unknown_command_is_guessed():
    for typed, meant in (("wyh", "why"), ("stack", "stacks"), ("recrod", "record"),
                         ("func", "functions"), ("version", "--version"), ("-v", "--version"),
                         ("1234", "why 1234")):
        heldup(typed).ended(USAGE).one_line().says(r"\(did you mean %s\?\)$" % meant)
    heldup("help", "dcotor").ended(USAGE).one_line().says(r"\(did you mean doctor\?\)$")
    for typed in ("nginx", "x", "", "w" * 500):
        heldup(typed).ended(USAGE).one_line().says(r"\(see heldup help\)$")


def test_closed_descriptors_take_no_file():
    """A page that is opened as descriptor 1 would get the text, too, or the text be refused."""
    capture = os.path.join(TOP, "tests", "golden", "lock_held.cap")
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        heldup("why", "-i", capture, "--html", page, stdout=None,
               preexec_fn=lambda: [os.close(fd) for fd in (0, 1)]).ended(OK)
        with open(page) as f:
            text = f.read()
        assert text.startswith("<!doctype html>") and text.rstrip().endswith("</html>")


def test_each_command_has_help():
    for name in commands():
        r = heldup(name, "-h").ended(OK).prints(r"^usage: heldup " + name)
        assert r.err == "", r.err
        assert heldup("help", name).out == r.out, name
        assert heldup(name, "--help", "--nonsense").ended(OK).out == r.out, name
        r.prints(r"\n  -h, --help  ")


def test_each_command_refuses_unknown_options():
    for name in commands():
        heldup(name, "--nonsense").ended(USAGE).one_line().says("unknown option '--nonsense'")


def test_each_command_that_selects_refuses_bad_pids():
    for name in commands():
        if "--pid" not in heldup(name, "-h").out:
            continue
        for pid in ("0", "-1", "x", "1,", ",1", "1;2", "99999999999"):
            heldup(name, "-p", pid).ended(USAGE).one_line().says("is not a process id")


def test_why_needs_a_selection():
    heldup("why").ended(USAGE).one_line().says("which process")
    heldup("why", "-a", "-p", "1").ended(USAGE).one_line().says("only one of")


def watchers():
    """Commands that watch what is selected, each with what else it needs."""
    return [[n, *WITH_INPUT.get(n, [])] for n in ("why", "stacks", "functions", "top", "metrics",
                                                  "record")]


def test_a_bare_number_is_a_pid():
    for words in watchers():
        heldup(*words, NO_PID).ended(FAILED).one_line().says("no process has pid " + NO_PID)
        heldup(*words, "-p", "1", "--comm", "x", NO_PID).ended(USAGE).says("only one of")
        heldup(*words, "12,").ended(USAGE).one_line().says("is not a process id")


def test_a_bare_name_is_that_of_processes():
    for words in watchers():
        heldup(*words, "no-such-name").ended(FAILED).one_line().says("matches 'no-such-name'")
        heldup(*words, "a", "b").ended(USAGE).one_line().says(r"--comm 'a\|b'")
        heldup(*words, "(").ended(USAGE).one_line().says("not a regular expression")


def test_a_bare_file_is_told_its_option():
    for words in watchers():
        heldup(*words, __file__).ended(USAGE).one_line().says(
            "is a file: -i " + re.escape(__file__) + " reads it")


def test_the_id_of_a_thread_is_told_to_be_one():
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        for name in ("symbols", "tracepoints"):
            r = heldup(name, "-p", str(other.native_id))
            r.says(r"%d is a thread of pid %d \(\S.*\): the whole process is looked at"
                   % (other.native_id, os.getpid()))
            assert "is a thread" not in heldup(name, "-p", str(os.getpid())).err
    finally:
        done.set()
        other.join()


def test_durations_are_checked():
    for text in ("0", "-1s", "1x", "", "5000d"):
        heldup("why", "-p", "1", "-d", text).ended(USAGE).one_line()


def test_no_such_process():
    heldup("why", "-p", NO_PID).ended(FAILED).one_line().says("no process has pid")


def test_no_rights_is_status_3():
    r = heldup_as_nobody("why", "-p", "1", "-d", "1s").ended(RIGHTS).one_line()
    r.says("root|sudo|CAP_")


def test_doctor_needs_no_rights():
    r = heldup_as_nobody("doctor")
    assert r.status in (OK, FAILED, RIGHTS) and r.out, r.err


# What a command needs beside -i.
WITH_INPUT = {"learn": ["-o", "/dev/null"], "record": ["-o", "/dev/null"]}


def inputs():
    """(command, what else it needs) of those that read a capture; forest reads traces there."""
    return [[n, *WITH_INPUT.get(n, [])] for n in commands()
            if n != "forest" and "--input" in heldup(n, "-h").out]


def test_input_that_is_not_there():
    for words in inputs():
        heldup(*words, "-i", "/nonexistent/x").ended(FAILED).one_line().says("No such file")


def test_input_that_is_no_capture():
    with tempfile.NamedTemporaryFile() as f:
        for content in (b"", b"x", b"\0" * 100, b"#!/bin/sh\n" * 1000, os.urandom(70000)):
            f.seek(0)
            f.truncate()
            f.write(content)
            f.flush()
            for words in inputs():
                heldup(*words, "-i", f.name).ended(FAILED).one_line()


def test_input_that_is_a_folder():
    for words in inputs():
        heldup(*words, "-i", "/").ended(FAILED).one_line()


def test_json_schemas_are_json():
    cnt = 0
    for name in commands():
        if "--json-schema" not in heldup(name, "-h").out:
            continue
        schema = json.loads(heldup(name, "--json-schema").ended(OK).out)
        assert isinstance(schema, dict) and schema, name
        cnt += 1
    assert cnt > 0, "no command has a schema"


def test_full_disk_is_not_success():
    for words in (("--version",), ("why", "-h"), ("why", "--json-schema")):
        with open("/dev/full", "w") as full:
            heldup(*words, stdout=full).ended(FAILED)
