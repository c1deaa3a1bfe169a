# SPDX-License-Identifier: Apache-2.0
"""tests/eval/paths judges answers made from a truth as they are, and damaged ones as damaged."""
import os
import subprocess
import sys

from heldup_cli import TOP

PATHS = os.path.join(TOP, "tests", "eval", "paths")


def test_paths_scorer():
    done = subprocess.run([sys.executable, os.path.join(PATHS, "selftest")],
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and "Ran " in done.stderr, done.stderr


def test_paths_list_and_unknown_shape():
    def run(*args):
        return subprocess.run([sys.executable, os.path.join(PATHS, "run"), *args],
                              capture_output=True, text=True, timeout=30)
    listed = run("--list", "second").stdout.splitlines()
    assert listed and all(line.split()[1] == "second" for line in listed), listed
    done = run("--list", "nothing")
    assert done.returncode and "no shape 'nothing'" in done.stderr, done
