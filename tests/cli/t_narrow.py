# SPDX-License-Identifier: Apache-2.0
"""No text is wider than the terminal: here 40 and 80 columns; JSON is as it always is."""
import os
import tempfile

from heldup_cli import OK, TOP, commands, heldup

GOLDEN = os.path.join(TOP, "tests", "golden")
SPANS = os.path.join(GOLDEN, "shop.spans.csv")


def cap(name):
    return os.path.join(GOLDEN, name + ".cap")


def texts(folder):
    yield ("--help",)
    for name in commands():
        yield (name, "-h")
    for name in ("lock_stacks", "peer", "workers"):
        yield ("why", "-i", cap(name))
        yield ("why", "-v", "-i", cap(name))
        for command in ("stacks", "functions", "metrics"):
            yield (command, "-i", cap(name))
    yield ("why", "-i", cap("lock_held"), "--baseline", cap("healthy"), "-v")
    yield ("stacks", "--diff", cap("lock_held"), cap("lock_stacks"))
    yield ("top", "-i", cap("peer"), "-b", "-n", "1")
    yield ("record", "-i", cap("peer"), "-o", os.path.join(folder, "a-copy-of-it.cap"))
    yield ("requests", SPANS)
    yield ("requests", SPANS, "--diff", SPANS)
    yield ("replay", SPANS, "--learn", SPANS, "--forest", os.path.join(folder, "forest"))
    yield ("forest", os.path.join(folder, "forest"))
    yield ("symbols", "-p", str(os.getpid()))
    yield ("tracepoints", "-p", str(os.getpid()))
    yield ("doctor", "--no-self-test")


def test_no_text_is_wider_than_the_terminal():
    with tempfile.TemporaryDirectory() as folder:
        for words in texts(folder):
            for columns in (40, 80):
                r = heldup(*words, env={"COLUMNS": str(columns)})
                assert r.out and (r.status == OK or words[0] == "doctor"), (words, r.err)
                wide = [line for line in r.out.split("\n") if len(line) > columns]
                assert not wide, "%s: %d lines over %d: %r" % (words, len(wide), columns, wide[0])


def test_a_folded_text_has_all_words():
    for words in (("why", "-h"), ("metrics", "-i", cap("peer")), ("doctor", "-h")):
        wide = heldup(*words).ended(OK).out
        folded = heldup(*words, env={"COLUMNS": "60"}).ended(OK).out
        if words[1] == "-h":
            assert folded.split() == wide.split(), words
        narrow = heldup(*words, env={"COLUMNS": "40"}).ended(OK).out
        assert len(narrow.split("\n")) > len(wide.split("\n")), words


def test_narrow_tables_keep_what_rows_say():
    """At 40 columns numbers stay by their units, and names and causes are not cut to nothing."""
    traces = os.path.join(TOP, "tests", "unit", "traces")
    for words, says in (
            (("requests", SPANS), "\n       18.8 ms     11.3 ms         1.0 x\n"),
            (("metrics", "-i", cap("peer")), "\n runtime            0.000398  s/s\n"),
            (("stacks", "-i", cap("lock_stacks")), "\n    finish_task_switch.isra.0\n"),
            (("stacks", "-i", cap("lock_stacks")), "\n    conn, 16 threads: "),
            (("functions", "-i", os.path.join(traces, "strace-f-r.txt.gz")), "\n      srv 16673: futex ")):
        text = heldup(*words, env={"COLUMNS": "40"}).ended(OK).out
        assert says in text, (words, text)


def test_narrow_texts_are_not_cut_where_wide_ones_are_not():
    """What is not cut at 100 columns is whole at 40, and no line ends in blanks."""
    for words in (("stacks", "-i", cap("lock_stacks")), ("functions", "-i", cap("peer"))):
        wide = heldup(*words, env={"COLUMNS": "100"}).ended(OK).out
        narrow = heldup(*words, env={"COLUMNS": "40"}).ended(OK).out
        for text in (wide, narrow):
            assert " \n" not in text, (words, text)
        folded = " ".join(narrow.split())
        heads = [line for line in wide.split("\n") if line[:1].isupper() and "…" not in line]
        assert heads, words
        for head in heads:
            assert " ".join(head.split()) in folded, (words, head, narrow)


def test_top_at_40_columns_has_whole_rows():
    """Columns go, and none is cut at the edge; the header goes on in further lines."""
    for view, first, last in (("threads", "TID", "WAITS ON"), ("resources", "WAIT S/S", "LONGEST"),
                              ("processes", "PID", "REQ/S"), ("pairs", "WAIT S/S", "WAKER")):
        text = heldup("top", "-i", cap("lock_held"), "-b", "-n", "1", "--view", view,
                      env={"COLUMNS": "40"}).ended(OK).out
        lines = text.split("\n")
        head = next((line for line in lines if line.strip().startswith(first)), "")
        assert head.endswith(last) and len(head) <= 40, (view, text)
        above = " ".join(" ".join(lines[:lines.index(head)]).split())
        assert "~" not in above.split(" tick ")[1] and " own cost " in above and "so far: " in above, (view, text)


def test_json_is_not_folded():
    words = ("why", "-i", cap("peer"), "--json")
    assert heldup(*words).out == heldup(*words, env={"COLUMNS": "40"}).out
