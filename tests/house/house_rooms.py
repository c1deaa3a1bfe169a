# SPDX-License-Identifier: Apache-2.0
"""Folders stay small, and neither includes nor calls run in circles.

A file here is a .c with its .h; a folder is one of src with what lies directly in it.
"""
import os
import re
import subprocess

from house_code import INCLUDE, c_files
from known import Counts

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OBJECTS = "build/obj/src"
FOLDER_FILES, FOLDER_LINES = 20, 5500  # the aim is 5,000 lines


def folder_size(files):
    """Of each folder that is too large: how many .c files and lines it has."""
    cnt, lines = {}, {}
    for name in c_files(files, "src/"):
        at = os.path.dirname(name)
        cnt[at] = cnt.get(at, 0) + name.endswith(".c")
        lines[at] = lines.get(at, 0) + files[name].count("\n")
    over = {"%s (.c files)" % at: n for at, n in cnt.items() if n > FOLDER_FILES}
    over.update({"%s (lines)" % at: n for at, n in lines.items() if n > FOLDER_LINES})
    return Counts(over, "more than %d .c files or %d lines" % (FOLDER_FILES, FOLDER_LINES))


def base_names(files):
    """A .c file is found by its name alone."""
    seen = {}
    for name in files:
        if name.startswith("src/") and name.endswith(".c"):
            seen.setdefault(os.path.basename(name), []).append(name)
    return Counts({base: len(names) for base, names in seen.items() if len(names) > 1},
                  "more than one .c file of this name")


def circles(edges):
    """Nodes that reach themselves; edges: node, to the set of its next ones."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(start):
        work = [(start, iter(sorted(edges.get(start, ()))))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            node, rest = work[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on.add(to)
                    work.append((to, iter(sorted(edges.get(to, ())))))
                    break
                if to in on:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while not part or part[-1] != node:
                        part.append(stack.pop())
                        on.discard(part[-1])
                    if len(part) > 1:
                        found.append(sorted(part))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


SHOWN = 40


def by_top(said, what):
    """Of each folder right below src how many; said: path, to what is said of it."""
    found, more = {}, {}
    for path, text in sorted(said.items()):
        top = "/".join(path.split("/")[:2])
        found[top] = found.get(top, 0) + 1
        more.setdefault(top, []).append(text)
    return Counts(found, what, {top: "; ".join(texts[:SHOWN]) for top, texts in more.items()})


def node(path):
    """A file or folder by its base name."""
    return os.path.basename(path)


def in_circles(edges, what):
    """Of each node in a circle: with whom."""
    return by_top({path: "%s (%s)" % (node(path), ", ".join(node(p) for p in part if p != path))
                   for part in circles(edges) for path in part}, what)


def includes(files):
    """(file, included file) of src without the kernel's side; both without .c and .h."""
    for name in c_files(files, "src/"):
        if name.startswith("src/bpf/"):
            continue
        for target in INCLUDE.findall(files[name]):
            here = os.path.normpath(os.path.join(os.path.dirname(name), target))
            to = "src/" + target if "src/" + target in files else here
            if to in files:
                yield name[:-2], to[:-2]


def folder_circles(files):
    edges = {}
    for a, b in includes(files):
        if os.path.dirname(a) != os.path.dirname(b):
            edges.setdefault(os.path.dirname(a), set()).add(os.path.dirname(b))
    return in_circles(edges, "folders in a circle of includes")


def include_circles(files):
    edges = {}
    for a, b in includes(files):
        a, b = re.sub("_int$", "", a), re.sub("_int$", "", b)  # x_int.h is the inside of x.c
        if a != b and os.path.dirname(a) == os.path.dirname(b):
            edges.setdefault(a, set()).add(b)
    return in_circles(edges, "files in a circle of includes of their folder")


def symbols(files):
    """(file that defines, {function: file}, {file: what it asks of others}) of the built objects."""
    names = [n for n in files if n.startswith("src/") and n.endswith(".c") and
             not n.startswith("src/bpf/")]
    paths = [os.path.join(OBJECTS, n[4:-2] + ".o") for n in names]
    paths = [p for p in paths if os.path.exists(os.path.join(TOP, p))]
    out = subprocess.run(["nm", "-A", "-g", *paths], cwd=TOP, capture_output=True, text=True)
    defined, asked = {}, {}
    for line in out.stdout.split("\n"):
        m = re.match(r"(\S+)\.o:\S*\s+([A-Z])\s+(\w+)$", line)
        if not m:
            continue
        name = "src" + m.group(1)[len(OBJECTS):]
        if m.group(2) == "T":
            defined[m.group(3)] = name
        elif m.group(2) == "U":
            asked.setdefault(name, set()).add(m.group(3))
    return defined, asked


def call_circles(files):
    defined, asked = symbols(files)
    if not defined:
        return ["no objects: run make first"]
    edges = {a: {defined[f] for f in funcs if f in defined and defined[f] != a}
             for a, funcs in asked.items()}
    return in_circles(edges, "files in a circle of calls")


def uncalled(files):
    """Functions that neither another file of src nor a test or a bench calls: static, or dead."""
    defined, asked = symbols(files)
    if not defined:
        return ["no objects: run make first"]
    used = set().union(*asked.values())
    for name, text in files.items():
        if name.startswith(("tests/", "bench/", "src/bpf/")) and name.endswith((".c", ".h")):
            used.update(re.findall(r"\b[a-z_]\w*\b", text))
    return by_top({defined[f] + "/" + f: "%s.c: %s" % (defined[f], f) for f in defined
                   if f not in used and f != "main"}, "extern functions that no other file calls")


ROOT = {"ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "demo", "test",
        ".clang-format", ".clang-tidy", ".gitignore"}


def root_files(files):
    return ["%s: not a file of the root (tests/house/house_rooms.py lists them)" % n
            for n in files if "/" not in n and n not in ROOT]


README_MAX = 40


def folder_readmes(files):
    """Each folder of src says in reading order what lives in it, each file of it by its name."""
    lacking, errors = {}, []
    folders = {os.path.dirname(n) for n in c_files(files, "src/")} - {"src"}
    for at in sorted(folders):
        page = at + "/README.md"
        if page not in files:
            lacking[at] = at
            continue
        text = files[page]
        if text.count("\n") > README_MAX:
            errors.append("%s: %d lines, limit %d" % (page, text.count("\n"), README_MAX))
        named = set(re.findall(r"`([\w/.-]+\.(?:c|h|bpf\.c))`", text))
        errors += ["%s: no file %s" % (page, n) for n in sorted(named)
                   if os.path.normpath(os.path.join(at, n)) not in files and "src/" + n not in files]
        stems = {n[:-2] for n in named}
        mine = {os.path.basename(n)[:-2] for n in files if os.path.dirname(n) == at and
                n.endswith((".c", ".h"))}
        errors += ["%s: says nothing of %s (tools/folder-readmes writes the table)" % (page, s) for s in sorted(mine - stems)]
    counts = by_top(lacking, "folders without a README.md")
    counts.errors = errors
    return counts


def fuzz_seeds(files):
    """Each target of tests/fuzz starts from seeds: without them it reaches little."""
    corpus = os.path.join(TOP, "tests/fuzz/corpus")
    targets = [os.path.basename(n)[:-2] for n in files
               if os.path.dirname(n) == "tests/fuzz" and n.endswith(".c")]
    return ["tests/fuzz/%s.c: no seeds in tests/fuzz/corpus/%s" % (t, t) for t in targets
            if not os.path.isdir(os.path.join(corpus, t)) or not os.listdir(os.path.join(corpus, t))]


CHECKS = [
    ("folder-size", folder_size),
    ("base-names", base_names),
    ("folder-circles", folder_circles),
    ("include-circles", include_circles),
    ("call-circles", call_circles),
    ("called-elsewhere", uncalled),
    ("root-files", root_files),
    ("folder-readmes", folder_readmes),
    ("fuzz-seeds", fuzz_seeds),
]
