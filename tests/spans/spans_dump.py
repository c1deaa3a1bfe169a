# SPDX-License-Identifier: Apache-2.0
"""What heldup reads of a file of spans, and packages that tests need."""
import fcntl
import json
import os
import shutil
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DUMP = os.path.join(TOP, "build", "tests", "spans_dump")
PACKAGES = os.path.join(TOP, "build", "npm")
ERROR, OPEN, POINT = 1, 2, 4


class Skip(Exception):
    pass


def read(path):
    """(spans, counts) of the file."""
    done = subprocess.run([DUMP, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr.strip()
    lines = [json.loads(line) for line in done.stdout.split("\n") if line]
    return lines[:-1], lines[-1]


def npm(name, *packages):
    """A folder under build/ with the packages, installed by the first test that asks."""
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            raise Skip("no %s" % tool)
    folder = os.path.join(PACKAGES, name)
    os.makedirs(folder, exist_ok=True)
    done = os.path.join(folder, "installed")
    wanted = " ".join(packages)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(done) and open(done).read() == wanted:
            return folder
        with open(os.path.join(folder, "package.json"), "w") as f:
            f.write('{"private": true}\n')
        try:
            ran = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                                  "--no-save", "--loglevel=error", *packages], cwd=folder,
                                 capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            raise Skip("npm install takes over two minutes")
        if ran.returncode:
            lines = ran.stderr.strip().split("\n")
            raise Skip("npm install: %s" % lines[-1 if len(lines) == 1 else 1][:160])
        with open(done, "w") as f:
            f.write(wanted)
    return folder
