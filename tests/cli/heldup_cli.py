# SPDX-License-Identifier: Apache-2.0
"""Running heldup from a test."""
import os
import re
import shutil
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HELDUP = os.path.join(TOP, "heldup")
NOBODY = 65534
OK, FAILED, USAGE, RIGHTS = 0, 1, 2, 3


class Skip(Exception):
    pass


class Result:
    def __init__(self, argv, done):
        self.what = "heldup " + " ".join(argv)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def ended(self, status):
        assert self.status == status, "%s: status %d, not %d; stderr: %s" \
            % (self.what, self.status, status, self.err.strip()[:300])
        return self

    def prints(self, pattern):
        assert re.search(pattern, self.out), "%s prints no /%s/: %s" \
            % (self.what, pattern, self.out[:300])
        return self

    def says(self, pattern):
        assert re.search(pattern, self.err), "%s says no /%s/: %s" \
            % (self.what, pattern, self.err[:300])
        return self

    def one_line(self):
        """An error is one line on stderr, and there is no result."""
        assert self.err.count("\n") == 1 and self.err.endswith("\n"), \
            "%s: not one line: %r" % (self.what, self.err)
        assert self.out == "", "%s: prints beside the error: %r" % (self.what, self.out[:200])
        return self


def heldup(*argv, stdout=subprocess.PIPE, env=None, **more):
    merged = dict(os.environ, LC_ALL="C.UTF-8", **(env or {}))
    done = subprocess.run([HELDUP, *argv], stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=30,
                          env=merged, **more)
    return Result(argv, done)


def heldup_as_nobody(*argv):
    """With no rights at all, from a copy that anybody can run."""
    if os.geteuid() != 0:
        return heldup(*argv)
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as folder:
        os.chmod(folder, 0o755)
        copy = os.path.join(folder, "heldup")
        shutil.copy(HELDUP, copy)
        os.chmod(copy, 0o755)
        try:
            done = subprocess.run([copy, *argv], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=30, cwd="/", user=NOBODY, group=NOBODY,
                                  extra_groups=[])
        except OSError as e:
            raise Skip("cannot run as another user: %s" % e)
    return Result(argv, done)


def commands():
    """Names of the commands, from the help."""
    text = heldup("--help").ended(OK).out
    names = re.findall(r"^  ([a-z]+)\s{2,}\S", text[text.index("commands:"):], re.M)
    return [n for n in names if n != "help"]
