# SPDX-License-Identifier: Apache-2.0
"""Includes go one way; functions and files stay small."""
import re

# Who may include whom, beside itself.  A missing folder here is an error, so
# that a new one gets its place.
EVENTS = {"store/event.h", "store/event_calls.h"}
BELOW = {
    "base": set(),
    "wire": {"base"},
    "bpf": {"wire"},
    "store": {"base", "wire"},
    "model": {"base", "wire"} | EVENTS,
    "reads": {"base"},
    "symbols": {"base", "wire", "reads"},
    "collect": {"base", "wire", "reads", "store", "model", "symbols"},
    "waits": {"base", "model"} | EVENTS,
    "stacks": {"base", "model"} | EVENTS,
    "functions": {"base", "model", "stacks"} | EVENTS,
    "trace": {"base"},
    "requests": {"base", "model", "trace"} | EVENTS,
    "spans": {"base", "model", "trace"},
    "paths": {"base", "wire", "trace"},
    "explore": {"base", "wire", "paths"},
    "traced": {"base", "trace", "requests"},
}
BELOW["verdict"] = {"base", "model", "trace", "waits", "stacks", "functions", "requests"} | EVENTS
BELOW["report"] = BELOW["verdict"] | {"verdict", "store", "spans", "explore", "traced"}
BELOW["ui"] = BELOW["report"] | {"report", "collect"}
BELOW["intake"] = {"base", "trace", "spans"}
BELOW["serve"] = {"base", "wire", "store", "collect", "trace", "spans", "requests", "intake"}
BELOW["cli"] = BELOW["ui"] | {"ui", "reads", "symbols", "spans", "paths", "intake", "serve"}
BELOW["main"] = {"base", "cli", "serve"}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
GENERATED = {"heldup.skel.h", "paths.skel.h"}

FUNCTION_MAX, FILE_MAX, HEADER_MAX, COLUMN_MAX = 60, 800, 200, 100
P95_MAX = 45
# Few have more than the aim, none more than the limit.
PARAMETER_AIM, PARAMETER_MAX, PARAMETER_OVER_SHARE = 5, 8, 0.03
# Contracts that are one table of records each: split, they would be read side by side;
# the last is the inside of one folder.
TABLE_HEADERS = {"src/wire/wire.h": 300, "src/store/event.h": 430, "src/model/model.h": 270,
                 "src/model/model_int.h": 270}
EXCUSE = "/* flat table */"


def folder(path):
    return path.split("/")[1] if path.count("/") > 1 else "main"


def c_files(files, *roots):
    return [n for n in files if n.endswith((".c", ".h")) and n.startswith(roots)]


def include_direction(files):
    errors = []
    for name in c_files(files, "src/"):
        own = folder(name)
        if own not in BELOW:
            errors.append("%s: folder '%s' has no place in the order" % (name, own))
            continue
        allowed = BELOW[own]
        for target in INCLUDE.findall(files[name]):
            to = target.split("/")[0]
            if target in GENERATED or "/" not in target or to == own:
                continue
            if to not in allowed and target not in allowed:
                errors.append("%s includes %s" % (name, target))
    return errors


def strip(text):
    """The code without comments, strings and character constants, line by line."""
    def blank(m):
        s = m.group(0)
        return re.sub(r"[^\n]", " ", s) if s.startswith("/") else '""'
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text,
                  flags=re.S)


def functions(text):
    """(name, first line, line count, parameter count, excused) of each definition."""
    raw, lines = text.split("\n"), strip(text).split("\n")
    start = None
    for i, line in enumerate(lines):
        if start is None:
            if line.rstrip() != "{" or i == 0:
                continue
            head = i - 1
            while head > 0 and not re.match(r"[A-Za-z_]", lines[head]):
                head -= 1
            sig = " ".join(lines[head:i])
            m = re.search(r"([A-Za-z_]\w*)\s*\((.*)\)[^()]*$", sig)
            if m and "=" not in sig and not sig.startswith(("struct {", "enum", "typedef")):
                start = (m.group(1), head, m.group(2))
        elif line.startswith("}"):
            name, head, args = start
            args = re.sub(r"\([^()]*\)", "", args)
            cnt = 0 if args.strip() in ("", "void") else args.count(",") + 1
            above = [r.strip() for r in raw[max(0, head - 2):head]]
            yield name, head + 1, i - head + 1, cnt, EXCUSE in above
            start = None


CODE_ROOTS = ("src/", "lib/", "tests/", "bench/")


def function_size(files):
    errors, lengths = [], []
    for name in c_files(files, *CODE_ROOTS):
        for func, line, length, _, excused in functions(files[name]):
            if excused:
                continue
            lengths.append(length)
            if length > FUNCTION_MAX:
                errors.append("%s:%d: %s has %d lines" % (name, line, func, length))
    lengths.sort()
    p95 = lengths[len(lengths) * 95 // 100] if lengths else 0
    if p95 > P95_MAX:
        errors.append("95 %% of the functions have at most %d lines, aim %d" % (p95, P95_MAX))
    return errors


def parameter_count(files):
    # A TEST, BPF_PROG or SEC macro is not a parameter list of its own.
    cnt_all, over, errors = 0, [], []
    for name in c_files(files, "src/"):
        for func, line, _, cnt, _ in functions(files[name]):
            if func in ("BPF_PROG", "BPF_KPROBE"):
                continue
            cnt_all += 1
            text = "%s:%d: %s has %d parameters" % (name, line, func, cnt)
            if cnt > PARAMETER_MAX:
                errors.append(text)
            elif cnt > PARAMETER_AIM:
                over.append(text)
    if len(over) > cnt_all * PARAMETER_OVER_SHARE:
        errors += ["%d of %d functions have more than %d parameters"
                   % (len(over), cnt_all, PARAMETER_AIM)] + over
    return errors


def file_size(files):
    errors = []
    for name in c_files(files, *CODE_ROOTS) + [n for n in files if n.endswith((".py", "/run"))]:
        lines = files[name].count("\n")
        limit = FILE_MAX
        if name.startswith("src/") and name.endswith(".h") and not name.startswith("src/bpf/"):
            limit = TABLE_HEADERS.get(name, HEADER_MAX)
        if lines > limit:
            errors.append("%s has %d lines, limit %d" % (name, lines, limit))
    return errors


def columns(files):
    errors = []
    for name in c_files(files, *CODE_ROOTS):
        for i, line in enumerate(files[name].split("\n"), 1):
            if len(line.expandtabs(8)) > COLUMN_MAX:
                errors.append("%s:%d: over %d columns" % (name, i, COLUMN_MAX))
            if line != line.rstrip():
                errors.append("%s:%d: space at the end" % (name, i))
    return errors


# R21: below cli and ui nothing prints or ends the program.
PRINTS = re.compile(r"(?<![\w.>])(printf|puts|putchar|perror|exit|abort|fprintf)\s*\(")
MAY_PRINT = ("src/cli/", "src/ui/", "src/main.c", "src/bpf/", "src/base/log.c", "src/base/bug.c")


def who_prints(files):
    errors = []
    for name in c_files(files, "src/"):
        if name.startswith(MAY_PRINT):
            continue
        for i, line in enumerate(strip(files[name]).split("\n"), 1):
            m = PRINTS.search(line)
            if m and m.group(1) == "fprintf" and not re.search(r"fprintf\s*\(\s*std", line):
                continue
            if m:
                errors.append("%s:%d: calls %s" % (name, i, m.group(1)))
    return errors


# R16: small allocations abort; base has the functions.
ALLOCATES = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf)\s*\(")


def who_allocates(files):
    return ["%s:%d: calls %s, not x%s" % (name, i, m.group(1), m.group(1))
            for name in c_files(files, "src/") if not name.startswith(("src/base/", "src/bpf/"))
            for i, line in enumerate(strip(files[name]).split("\n"), 1)
            for m in [ALLOCATES.search(line)] if m]


CHECKS = [
    ("include-direction", include_direction),
    ("function-size", function_size),
    ("parameter-count", parameter_count),
    ("file-size", file_size),
    ("columns", columns),
    ("only-cli-prints", who_prints),
    ("allocation-aborts", who_allocates),
]
