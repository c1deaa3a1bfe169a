# SPDX-License-Identifier: Apache-2.0
"""Licence lines, words for unfinished work, places of a developer's machine."""
import re

# Written so that this file does not contain the words itself.
UNFINISHED = re.compile(r"\b(%s|(?i:%s))\b" % (
    "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]),
    "|".join(["st" + "ub", "place" + "holder", "not imple" + "mented"])))
CODE = ("src/", "lib/", "tests/", "bench/", "tools/", "Makefile", ".ci/", "demo", "test")
# One of the words is also an attribute of HTML forms.
FORM_ATTRIBUTE = re.compile(r"(?:\.| )place" + "holder ?=")
MACHINE = re.compile(r"(?<![\w./-])/(home|root|work)/\w")

SPDX = "SPDX-License-Identifier: "
DUAL = "GPL-2.0-only OR BSD-2-Clause"
SCRIPT = re.compile(r"^#!.*\b(bash|sh|python3|bpftrace)\b")


def unfinished(files):
    errors = []
    for name, text in files.items():
        if not name.startswith(CODE):
            continue
        for i, line in enumerate(text.split("\n"), 1):
            m = UNFINISHED.search(FORM_ATTRIBUTE.sub("", line))
            if m:
                errors.append("%s:%d: '%s'" % (name, i, m.group(1)))
    return errors


def machine_places(files):
    return ["%s:%d: names a place of one machine: %s" % (name, i, line.strip()[:80])
            for name, text in files.items() if not name.startswith("LICENSE")
            for i, line in enumerate(text.split("\n"), 1) if MACHINE.search(line)]


def licence_of(name):
    if name.startswith(("src/bpf/", "src/wire/")) or name.endswith(".bpf.c"):
        return DUAL
    return "Apache-2.0"


def spdx(files):
    errors = []
    for name, text in files.items():
        lines = text.split("\n")
        is_script = bool(SCRIPT.match(lines[0]))
        if not (is_script or name == "Makefile" or
                (name.startswith(CODE) and name.endswith((".c", ".h", ".py", ".js", ".css")))):
            continue
        line = lines[1] if is_script and len(lines) > 1 else lines[0]
        want = SPDX + licence_of(name)
        if not line or re.sub(r"^[\s/*#]+|[\s*/]+$", "", line) != want:
            errors.append("%s: no line '%s'" % (name, want))
    return errors


def guards(files):
    """A header's guard is its name, so that two headers never share one."""
    errors, seen = [], {}
    for name, text in files.items():
        if not (name.startswith("src/") and name.endswith(".h")):
            continue
        m = re.search(r"^#ifndef (\w+)\n#define \1$", text, re.M)
        if not m:
            errors.append("%s: no include guard" % name)
        elif m.group(1) in seen:
            errors.append("%s: guard %s is that of %s" % (name, m.group(1), seen[m.group(1)]))
        else:
            seen[m.group(1)] = name
    return errors


CHECKS = [
    ("unfinished-words", unfinished),
    ("machine-places", machine_places),
    ("spdx", spdx),
    ("include-guards", guards),
]
