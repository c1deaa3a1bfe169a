# SPDX-License-Identifier: Apache-2.0
"""What a command may do that only reads files: docs/security.md."""
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time

from heldup_cli import FAILED, HELDUP, NOBODY, OK, TOP, Skip, heldup

CAPTURE = os.path.join(TOP, "tests", "golden", "lock_held.cap")
TRACE = os.path.join(TOP, "tests", "unit", "traces", "strace-k.txt.gz")

# VFS_CAP_REVISION_2 with the effective bit; BPF, PERFMON, SYS_PTRACE, SYS_ADMIN, SYSLOG, DAC_READ_SEARCH
CAPS = sum(1 << c for c in (39, 38, 19, 21, 34, 2))
FILE_CAPS = struct.pack("<IIIII", 0x02000001, CAPS & 0xffffffff, 0, CAPS >> 32, 0)


def status_of(argv):
    """/proc/PID/status of heldup while it waits for its input, a FIFO that nobody opens."""
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as folder:
        os.mkfifo(os.path.join(folder, "in"))
        p = subprocess.Popen([HELDUP, *argv], cwd=folder, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                time.sleep(0.05)
                with open("/proc/%d/status" % p.pid) as f:
                    text = f.read()
                with open("/proc/%d/wchan" % p.pid) as f:
                    if re.search("fifo|wait_for_partner", f.read()):
                        break
        finally:
            p.kill()
            p.wait()
    return dict(re.findall(r"^(\w+):\t(.*)$", text, re.M))


def test_rights_of_commands_that_read_files():
    for argv in (["requests", "in"], ["replay", "in"], ["why", "-i", "in"], ["stacks", "-i", "in"],
                 ["functions", "-i", "in"], ["metrics", "-i", "in"], ["why", "--input=in"],
                 ["record", "-i", "in", "-o", "x.cap"], ["learn", "-i", "in", "-o", "x.sig"]):
        got = status_of(argv)
        for key in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(got[key], 16) == 0, (argv, key, got[key])
        assert got["NoNewPrivs"] == "1", argv
        assert got["Seccomp"] == "2", (argv, "no filter of system calls")


def test_rights_from_the_file_open_no_other_files():
    """Installed with setcap as doctor says, it reads for a user what the user may read."""
    if os.geteuid() != 0:
        raise Skip("not root")
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as folder:
        os.chmod(folder, 0o755)
        copy, secret = os.path.join(folder, "heldup"), os.path.join(folder, "secret.csv")
        shutil.copy(HELDUP, copy)
        try:
            os.setxattr(copy, "security.capability", FILE_CAPS)
        except OSError as e:
            raise Skip("no file capabilities here: %s" % e)
        with open(secret, "w") as f:
            f.write("secret\n")
        os.chmod(secret, 0o600)
        for argv in (["requests", secret], ["why", "-i", secret]):
            done = subprocess.run([copy, *argv], user=NOBODY, group=NOBODY, extra_groups=[],
                                  cwd="/", capture_output=True, text=True, timeout=30)
            assert done.returncode == 1 and "Permission denied" in done.stderr, (argv, done)
            assert "secret\n" not in done.stdout, argv


def test_rights_from_the_file_are_for_a_group():
    """doctor warns of a heldup with capabilities that everybody may run, and names the remedy."""
    if os.geteuid() != 0:
        raise Skip("not root")
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as folder:
        copy = os.path.join(folder, "heldup")
        shutil.copy(HELDUP, copy)
        for mode, state in ((0o755, "degraded"), (0o750, "ok")):
            os.chmod(copy, mode)
            try:
                os.setxattr(copy, "security.capability", FILE_CAPS)
            except OSError as e:
                raise Skip("no file capabilities here: %s" % e)
            done = subprocess.run([copy, "doctor", "--no-self-test", "--json"],
                                  capture_output=True, text=True, timeout=60)
            got = [c for c in json.loads(done.stdout)["checks"] if c["name"] == "who may run it"]
            assert [c["state"] for c in got] == [state], (oct(mode), got)
            assert state == "ok" or "chmod 750" in got[0]["mend"], got


def test_rights_of_root_reach_what_it_names():
    """Root reads another user's file, and writes into another user's folder, as before."""
    if os.geteuid() != 0:
        raise Skip("not root")
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as folder:
        home = os.path.join(folder, "home")
        os.mkdir(home)
        shutil.copy(os.path.join(os.path.dirname(HELDUP), "tests/golden/healthy.cap"), home)
        for path in (os.path.join(home, "healthy.cap"), home):
            os.chown(path, NOBODY, NOBODY)
            os.chmod(path, 0o700 if path == home else 0o600)
        for argv in ((HELDUP, "why", "-i", home + "/healthy.cap", "--html", home + "/page.html"),
                     (HELDUP, "why", "-i", home + "/healthy.cap", "--html=%s/page.html" % home)):
            done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
            assert done.returncode == 0, done.stderr
            assert os.path.getsize(home + "/page.html") > 1000


def test_rights_of_root_follow_no_link_that_another_laid():
    """With fs.protected_symlinks off, too: a capture or signatures in a sticky folder."""
    if os.geteuid() != 0:
        raise Skip("not root")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        secret, drop = os.path.join(folder, "secret"), os.path.join(folder, "drop")
        link = os.path.join(drop, "x")
        os.chmod(folder, 0o755)
        os.mkdir(drop)
        os.chmod(drop, 0o1777)
        open(secret, "w").close()
        os.symlink(secret, link)
        os.lchown(link, 65534, 65534)
        for words in (("record", "-i", CAPTURE, "--force", "-o", link),
                      ("learn", "-i", TRACE, "-o", link)):
            heldup(*words).ended(FAILED).one_line().says("Permission denied")
            assert os.path.getsize(secret) == 0 and os.listdir(drop) == ["x"], words
        os.lchown(link, 0, 0)
        heldup("record", "-i", CAPTURE, "-o", link).ended(OK)
        assert os.path.getsize(secret) > 0 and os.path.islink(link)
