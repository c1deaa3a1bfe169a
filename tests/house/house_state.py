# SPDX-License-Identifier: Apache-2.0
"""R6: no variable that lives as long as the program, but for the few named here."""
import os
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OBJECTS = os.path.join(TOP, "build", "obj", "src")

# file, variable: log level, signal flag, and the one child that reads what may hang
ALLOWED = {
    ("base/log.o", "current_level"),
    ("base/stop.o", "stop_flag"),
    ("base/stop.o", "usr1_flag"),
    ("base/stop.o", "stop_event"),
    ("base/stop.o", "stop_asked_ns"),
    ("base/stop.o", "was_ignored"),
    ("base/stop.o", "last_words"),
    ("base/timed/timed_call.o", "timed"),
    # set in that child, whose operations have no context
    ("reads/ops_bound.o", "bound"),
}
SYMBOL = re.compile(r"^\S+ .{7}\s*(\.(?:bss|data|tbss|tdata)\S*)\s+\S+\s+(?:\.hidden )?(\S+)$")


def objects():
    for folder, _, names in os.walk(OBJECTS):
        for name in names:
            if name.endswith(".o"):
                path = os.path.join(folder, name)
                source = os.path.join(TOP, os.path.relpath(path, os.path.dirname(OBJECTS)))
                if os.path.exists(source[:-2] + ".c"):
                    yield path


def global_state(files):
    errors, cnt = [], 0
    for path in objects():
        cnt += 1
        out = subprocess.run(["objdump", "-t", path], capture_output=True, text=True)
        if out.returncode != 0:
            return ["objdump %s: %s" % (path, out.stderr.strip())]
        short = os.path.relpath(path, OBJECTS)
        for line in out.stdout.split("\n"):
            m = SYMBOL.match(line)
            if not m or m.group(1).startswith(".data.rel.ro") or m.group(2) == m.group(1):
                continue
            name = re.sub(r"\.\d+$", "", m.group(2))
            if (short, name) not in ALLOWED:
                errors.append("%s: variable '%s' outlives its caller" % (short, name))
    if not cnt:
        errors.append("no objects: run make first")
    return errors


CHECKS = [("global-state", global_state)]
