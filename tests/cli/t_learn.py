# SPDX-License-Identifier: Apache-2.0
"""heldup learn: signatures from a trace of another program, merged, shown, refused."""
import contextlib
import json
import os
import tempfile

from heldup_cli import FAILED, OK, TOP, USAGE, heldup
from t_functions import scene

TRACE = os.path.join(TOP, "tests/unit/traces/strace-k.txt.gz")
NO_STACKS = os.path.join(TOP, "tests/unit/traces/strace-plain.txt")


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as path:
        yield lambda name: os.path.join(path, name)


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def test_learn_from_a_trace_with_stacks():
    with folder() as at:
        heldup("learn", "-i", TRACE, "-o", at("a.sig")).ended(OK).prints(r"a\.sig: \d+ functions")
        assert os.listdir(at("")) == ["a.sig"], os.listdir(at(""))
        shown = json.loads(heldup("learn", "--show", at("a.sig"), "--json").ended(OK).out)
        assert shown["schema"] == "heldup/learn/1"
        names = [f["name"] for f in shown["functions"]]
        assert "main" in names and shown["function_count"] == len(names), names
        for f in shown["functions"]:
            assert f["invocations"] and f["episodes"], f
            assert f["name"] in shown["groups"][f["group"]], f
        assert not any(f["module"] and f["module"].startswith("libc.") for f in
                       shown["functions"]), "the C library's functions are no application's"
        some = heldup("learn", "--show", at("a.sig"), "main").ended(OK).out
        assert "main" in some and "not distinguishable" not in some, some


def test_learn_merges_without_order():
    with folder() as at:
        heldup("learn", "-i", TRACE, "-o", at("a")).ended(OK)
        write(at("b"), read(at("a")).replace(" main\n", " other_main\n"))
        heldup("learn", "--merge", at("a"), at("b"), "-o", at("ab")).ended(OK)
        heldup("learn", "--merge", at("b"), at("a"), "-o", at("ba")).ended(OK)
        heldup("learn", "--merge", at("ab"), at("a"), "-o", at("aba")).ended(OK)
        assert read(at("ab")) == read(at("ba")) == read(at("aba"))
        assert " other_main\n" in read(at("ab")) and " main\n" in read(at("ab"))
        out = heldup("learn", "--merge", at("ab"), "-o", "-").ended(OK).out
        assert out == read(at("ab"))


def test_learn_replaces_only_its_own_files():
    with folder() as at:
        write(at("letter"), "dear reader\n")
        heldup("learn", "-i", TRACE, "-o", at("letter")).ended(FAILED).one_line() \
            .says("not a file of signatures")
        assert read(at("letter")) == "dear reader\n"
        heldup("learn", "-i", TRACE, "-o", at("a")).ended(OK)
        old = read(at("a"))
        heldup("learn", "-i", NO_STACKS, "-o", at("a")).ended(FAILED).one_line().says("stack")
        assert read(at("a")) == old
        os.symlink(at("a"), at("link"))
        heldup("learn", "-i", TRACE, "-o", at("link")).ended(OK)
        assert os.path.islink(at("link"))
        heldup("learn", "-i", TRACE, "-o", at("none/a")).ended(FAILED).one_line().says("No such")
        heldup("learn", "-i", TRACE, "-o", "/dev/null").ended(OK)
        assert sorted(os.listdir(at(""))) == ["a", "letter", "link"]


def test_learn_refuses_a_damaged_file():
    with folder() as at:
        heldup("learn", "-i", TRACE, "-o", at("a")).ended(OK)
        write(at("cut"), read(at("a"))[:-30])
        for words in (["--show", at("cut")], ["--merge", at("a"), at("cut"), "-o", at("b")]):
            heldup("learn", *words).ended(FAILED).one_line().says(r"cut'|line \d+")
        assert sorted(os.listdir(at(""))) == ["a", "cut"]


def test_learn_usage():
    for words in (["--merge", "x"], ["-o", "x"], ["--show", "x", "-o", "y"], ["--merge", "-o", "x"],
                  ["--merge", "-i", TRACE, "-o", "x", "y"], ["-i", TRACE, "-o", "x", "y"],
                  ["-i", TRACE, "-o", "x", "--json"], ["-p", "1", "-i", TRACE, "-o", "x"]):
        heldup("learn", *words).ended(USAGE).one_line()


def test_learn_keeps_it_where_commands_look():
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as top:
        env = {"XDG_STATE_HOME": os.path.join(top, "new", "state")}
        store = os.path.join(env["XDG_STATE_HOME"], "heldup")
        capture, seconds = scene()
        path = os.path.join(top, "a.cap")
        capture.write(path, seconds)
        ask = ("functions", "-i", path, "--calls-only", "--json")
        assert json.loads(heldup(*ask, env=env).ended(OK).out)["functions"] == []
        heldup("learn", "-i", path, env=env).ended(OK).prints(r"/heldup/[0-9a-f]{40}\.sig: \d+ f")
        kept = os.listdir(store)
        assert len(kept) == 1, kept
        first = json.loads(heldup(*ask, env=env).ended(OK).out)["functions"][0]
        assert first["name"] == "save", first
        with open(os.path.join(store, kept[0]), "rb") as f:
            once = f.read()
        heldup("learn", "-i", path, env=env).ended(OK)
        with open(os.path.join(store, kept[0]), "rb") as f:
            assert f.read() == once and os.listdir(store) == kept
        os.chmod(store, 0o777)
        heldup("learn", "-i", path, env=env).ended(FAILED).one_line().says("others may write")
        heldup(*ask, env=env).ended(OK).says("others may write")
