# SPDX-License-Identifier: Apache-2.0
"""Inputs on a file system that does not answer: each command says so in time."""
import contextlib
import ctypes
import os
import struct
import tempfile
import threading

from heldup_cli import FAILED, Skip, heldup

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
