# SPDX-License-Identifier: Apache-2.0
"""Inputs on a file system that does not answer: each command says so in time."""
import contextlib
import ctypes
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time

from heldup_cli import FAILED, HELDUP, TOP, Skip, heldup

MNT_DETACH = 2
FUSE_INIT_BYTES = 64
INPUTS = (("why", "-i"), ("functions", "-i"), ("stacks", "-i"), ("metrics", "-i"), ("requests",),
          ("replay",), ("forest",), ("learn", "--show"))


@contextlib.contextmanager
def dead_mount():
    """A FUSE mount whose server answers INIT and nothing else."""
    libc = ctypes.CDLL(None, use_errno=True)
    with tempfile.TemporaryDirectory(prefix="heldup-dead-") as folder:
        try:
            fd = os.open("/dev/fuse", os.O_RDWR)
        except OSError as e:
            raise Skip("no /dev/fuse: %s" % e)
        try:
            opts = "fd=%d,rootmode=40000,user_id=0,group_id=0" % fd
            if libc.mount(b"dead", folder.encode(), b"fuse", 0, opts.encode()):
                raise Skip("cannot mount: %s" % os.strerror(ctypes.get_errno()))
            try:
                unique = struct.unpack("Q", os.read(fd, 1 << 16)[8:16])[0]
                body = struct.pack("IIII", 7, 31, 1 << 16, 0).ljust(FUSE_INIT_BYTES, b"\0")
                os.write(fd, struct.pack("IiQ", 16 + len(body), 0, unique) + body)
                yield folder
            finally:
                libc.umount2(folder.encode(), MNT_DETACH)
        finally:
            os.close(fd)


def test_dead_inputs_are_given_up_on():
    if os.geteuid() != 0:
        raise Skip("needs root, for a mount")
    with dead_mount() as folder:
        wrong = []

        def ask(words):
            try:
                heldup(*words, os.path.join(folder, "file")).ended(FAILED).one_line().says(
                    "its file system does not answer")
            except Exception as e:  # an assertion, or out of time
                wrong.append("%s: %s" % (" ".join(words), e))
        threads = [threading.Thread(target=ask, args=(words,)) for words in INPUTS]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong, "; ".join(wrong)


@contextlib.contextmanager
def frozen_file():
    """A file of a file system whose writers wait until it is thawed."""
    with tempfile.TemporaryDirectory(prefix="heldup-frozen-") as folder:
        image, mount = os.path.join(folder, "image"), os.path.join(folder, "mount")
        os.mkdir(mount)
        with open(image, "wb") as f:
            f.truncate(16 << 20)
        for words in (("mkfs.ext4", "-q", image), ("mount", "-o", "loop", image, mount)):
            if not shutil.which(words[0]) or subprocess.run(
                    words, capture_output=True, check=False).returncode:
                raise Skip("cannot: %s" % " ".join(words))
        out = None
        try:
            out = open(os.path.join(mount, "out"), "wb")
            subprocess.run(("fsfreeze", "-f", mount), check=True)
            yield out
        finally:
            subprocess.run(("fsfreeze", "-u", mount), check=False, capture_output=True)
            if out:
                out.close()
            subprocess.run(("umount", "-l", mount), check=False)


def test_dead_standard_output_is_given_up_on():
    """Ctrl-C ends the wait for it soon, and a second one at once."""
    if os.geteuid() != 0 or not shutil.which("fsfreeze"):
        raise Skip("needs root and fsfreeze")
    words = [HELDUP, "why", "-i", os.path.join(TOP, "tests/golden/lock_held.cap")]
    with frozen_file() as out:
        for signals, limit in ((1, 9), (2, 3)):
            p = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.PIPE, text=True)
            time.sleep(0.7)
            assert p.poll() is None, "it does not wait"
            begin = time.monotonic()
            for _ in range(signals):
                p.send_signal(signal.SIGINT)
                time.sleep(1.2)
            try:
                err = p.communicate(timeout=15)[1]
            except subprocess.TimeoutExpired:
                p.kill()
                raise AssertionError("nothing ends it")
            assert time.monotonic() - begin < limit, time.monotonic() - begin
            assert signals == 2 or "its file system does not answer" in err, (p.returncode, err)
