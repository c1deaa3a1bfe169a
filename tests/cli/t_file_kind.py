# SPDX-License-Identifier: Apache-2.0
"""A file that another command reads: the error names that command."""
import os
import re
import tempfile

from heldup_cli import FAILED, OK, TOP, heldup

CAPTURE = os.path.join(TOP, "tests", "golden", "healthy.cap")
SPANS = os.path.join(TOP, "tests", "golden", "shop.spans.csv")
STRACE = "".join("%d 1700000000.%06d read(3, \"x\", 1) = 1 <0.000100>\n" % (7, i)
                 for i in range(0, 900000, 1000))
PATHS = os.path.join(TOP, "tests", "fuzz", "corpus", "fuzz_path_file", "front")
READERS = {  # how each kind is read
    "capture": "heldup why -i", "calls": "heldup why -i", "spans": "heldup requests",
    "paths": "heldup requests -i",
    "forest": "heldup forest", "signatures": "heldup learn --show", "answer": None,
}


def files(folder):
    paths = {"capture": CAPTURE, "spans": SPANS, "paths": PATHS}
    for name, text in (("calls", STRACE), ("signatures", "heldup-signatures 2\n"),
                       ("answer", heldup("why", "-i", CAPTURE, "--json").ended(OK).out)):
        paths[name] = os.path.join(folder, name)
        with open(paths[name], "w") as f:
            f.write(text)
    paths["forest"] = os.path.join(folder, "forest")
    heldup("replay", SPANS, "--learn", SPANS, "--strategy", "hedge", "--forest",
           paths["forest"]).ended(OK)
    return paths


def commands():
    """(words before the file, the kinds they read)"""
    calls = ("capture", "calls")
    for name in ("why", "stacks", "functions", "metrics", "top"):
        yield [name, "-i"], calls
    yield ["why", "-i", CAPTURE, "--baseline"], calls
    yield ["record", "-o", "/dev/null", "-i"], calls
    yield ["learn", "-o", "/dev/null", "-i"], calls
    yield ["requests"], ("spans", "paths")
    yield ["requests", SPANS, "--diff"], ("spans", "paths")
    yield ["replay"], ("spans",)
    yield ["replay", SPANS, "--space"], ()
    yield ["forest"], ("forest",)
    yield ["learn", "--show"], ("signatures",)


def test_a_file_of_another_kind_names_its_command():
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in files(folder).items():
            for words, reads in commands():
                if kind in reads:
                    continue
                r = heldup(*words, path).ended(FAILED).one_line()
                reader = READERS[kind]
                r.says("no command reads that$" if not reader else
                       ": %s %s reads it$" % (reader, re.escape(path)))


def test_a_file_of_no_known_kind_keeps_its_error():
    path = os.path.join(TOP, "LICENSE")
    heldup("why", "-i", path).ended(FAILED).one_line().says("not a heldup capture")
    heldup("requests", path).ended(FAILED).one_line().says("expected OTLP")
