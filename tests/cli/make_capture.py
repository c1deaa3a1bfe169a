# SPDX-License-Identifier: Apache-2.0
"""Writes a capture file event by event (docs/capture.md), for what no recording holds."""
import struct
import zlib

STR, META, TASK, RES, WAIT, TICK, MODULE, STACK, FRAME, SAMPLE = 1, 2, 3, 4, 5, 7, 24, 25, 26, 27
CALLS, CALL_NAME, WINDOW, CALLS_PART = 28, 29, 30, 33
NOTE, NOTE_LIMIT = 21, 2
SWITCHES, ALL_STACKS = 1 << 0, 1 << 2
BLOCKED = 1 << 0
TARGET = 1 << 2
FUTEX, EPOLL, FSYNC = 1, 4, 9 # wait classes
RES_FUTEX, RES_EPOLL = 1, 4   # kinds of resource
TASK_SEEN, WAKER_TASK, WHOLE = 1, 1, 1
BASE_NS = 10 ** 12
KERNEL = 0xffff << 48
CHUNK_EVENTS = 2000


class Capture:
    def __init__(self):
        self.events, self.strs, self.frames, self.stacks = [], {}, {}, {}
        self.modules = {}
        self.put(META, 0, 0, struct.pack("<QQQ8IQ", 1, 0, 10 ** 9, 2, 100, self.str("made"),
                                         self.str("6.1"), self.str("host"), 0,
                                         self.str("pid 10 (srv)"), 0, 10 ** 7))

    def put(self, kind, tid, at_ms, body):
        body += b"\0" * (-len(body) % 8)
        self.events.append(struct.pack("<HBBIQ", 16 + len(body), kind, 0, tid,
                                       BASE_NS + int(at_ms * 1e6)) + body)

    def str(self, text):
        if text not in self.strs:
            self.strs[text] = len(self.strs) + 1
            data = text.encode()
            self.events.append(b"")  # keeps the order: the string comes before its use
            body = struct.pack("<II", self.strs[text], len(data)) + data
            body += b"\0" * (-len(body) % 8)
            self.events[-1] = struct.pack("<HBBIQ", 16 + len(body), STR, 0, 0, 0) + body
        return self.strs[text]

    def thread(self, tid, tgid, comm):
        self.put(TASK, tid, 0, struct.pack("<QQ8I", 0, 0, tgid, 1, TASK_SEEN, TARGET,
                                           self.str(comm), 0, 0, 0))

    def res(self, res, kind, name):
        self.put(RES, 0, 0, struct.pack("<QQQIIiIBBHHHHHI32sIIIIQ", res, res, 0, 10, 0, -1, 0, kind,
                                        0, 0, 0, 0, 0, 0, 0, b"", self.str(name), 0, 0, 0, 0))

    def module(self, path):
        if path not in self.modules:
            at = self.modules[path] = len(self.modules) + 1
            self.put(MODULE, 0, 0, struct.pack("<IIQ20sBBHII", at, self.str(path), 0x1000,
                                               bytes([at]) * 20, 20, 0, 0, 10, 0))
        return self.modules[path]

    def frame(self, name):
        """"fn", "fn@/path" or "fn@k"."""
        if name not in self.frames:
            fn, _, where = name.partition("@")
            frame = len(self.frames) * 16 + 0x100
            frame |= KERNEL if where == "k" else self.module(where or "/usr/bin/srv") << 48
            self.frames[name] = frame
            self.put(FRAME, 0, 0, struct.pack("<Q6I", frame, 0, 0, self.str(fn), 0, 7, 0))
        return self.frames[name]

    def stack(self, text):
        """Innermost first: "futex_wait@k;lock@/usr/lib/libc.so.6;work;main"."""
        if text not in self.stacks:
            self.stacks[text] = len(self.stacks) + 1
            names = text.split(";")
            kernel = sum(n.endswith("@k") for n in names)
            frames = [self.frame(n) for n in names]
            self.put(STACK, 0, 0, struct.pack("<IIHHB3x", self.stacks[text], 10,
                                              len(names) - kernel, kernel, WHOLE) +
                     struct.pack("<%dQ" % len(frames), *frames))
        return self.stacks[text]

    def wait(self, tid, cls, res, off_ms, wake_ms, end_ms, waker=0, stack=None, waker_stack=None,
             nr=-1, tgid=10):
        ns = [BASE_NS + int(t * 1e6) for t in (off_ms, wake_ms)]
        ids = [self.stack(s) if s else 0 for s in (stack, waker_stack)]
        self.put(WAIT, tid, end_ms, struct.pack(
            "<QQQQ6IhBBBBHHHIII", ns[0], ns[1], res, 0, tgid, 0, waker, 10 if waker else 0, 0, 0,
            nr, cls, 0, WAKER_TASK if waker else 0, 0, 0, 0, 0, 0, *ids))

    def note(self, kind, text):
        self.put(NOTE, 0, 0, struct.pack("<II", kind, self.str(text)))

    def sample(self, tid, at_ms, stack, cnt=1):
        self.put(SAMPLE, tid, at_ms, struct.pack("<4I", 10, self.stack(stack), 0, cnt))

    def calls_part(self, begin_ms, end_ms=None):
        """Blocking calls only in this time; without an end: such times follow."""
        self.put(CALLS_PART, 0, begin_ms, struct.pack(
            "<QQ", BASE_NS + int(begin_ms * 1e6),
            0 if end_ms is None else BASE_NS + int(end_ms * 1e6)))

    def calls(self, rows, flags=SWITCHES | ALL_STACKS):
        """A window of calls, each (tid, begin_ms, ms, name, stack or None, result)."""
        names = sorted({row[3] for row in rows})
        for nr, name in enumerate(names):
            self.put(CALL_NAME, 0, 0, struct.pack("<II", nr, self.str(name)))
        for i in range(0, len(rows), 200):
            body = b""
            for tid, begin, ms, name, stack, result in rows[i:i + 200]:
                body += struct.pack("<QQIIHHBBBB", BASE_NS + int(begin * 1e6), int(ms * 1e6), tid,
                                    self.stack(stack) if stack else 0, names.index(name), 0xffff,
                                    result, 0, BLOCKED if ms > 0.05 else 0, 0)
            self.put(CALLS, 0, 0, struct.pack("<II", len(rows[i:i + 200]), 0) + body)
        end = max(row[1] + row[2] for row in rows)
        self.put(WINDOW, 0, end, struct.pack("<QQQII", BASE_NS, 0, 0, flags, self.str("made")))

    def write(self, path, seconds=1):
        self.put(TICK, 0, seconds * 1000, struct.pack("<QQ", BASE_NS, 0))
        strs = [e for e in self.events if e[2] == STR]
        rest = [e for e in self.events if e[2] not in (STR, TICK)]
        rest.sort(key=lambda e: (e[2] != META, struct.unpack_from("<Q", e, 8)[0]))
        ordered = strs + rest + [e for e in self.events if e[2] == TICK]
        chunks = [(1, b"".join(ordered[i:i + CHUNK_EVENTS]), len(ordered[i:i + CHUNK_EVENTS]))
                  for i in range(0, len(ordered), CHUNK_EVENTS)]
        head = b"\x89HELDUP\n" + struct.pack("<IHHQI", 0x01020304, 1, 32, 1, 0)
        with open(path, "wb") as file:
            file.write(head + struct.pack("<I", zlib.crc32(head)))
            for kind, data, cnt in chunks + [(2, b"\0" * 40, 0)]:
                chunk = struct.pack("<IHHIIIII", 0x4b4e4843, kind, 0, len(data), len(data), cnt,
                                    zlib.crc32(data), 0)
                file.write(chunk + struct.pack("<I", zlib.crc32(chunk)) + data)


def lock_scene(hash_ms=20):
    """A worker waits for a lock that a cleaner lets go, waits for work, and computes."""
    c = Capture()
    c.thread(10, 10, "srv")
    c.thread(11, 10, "worker")
    c.thread(12, 10, "cleaner")
    c.res(7, RES_FUTEX, "big lock")
    c.res(8, RES_EPOLL, "epoll of srv")
    lock = "futex_wait@k;pthread_mutex_lock@/usr/lib/libc.so.6;take_page;serve<std::map<int, int> >;main"
    for at in (100, 500):
        c.wait(11, FUTEX, 7, at, at + 300, at + 301, 12, lock,
               "futex_wake@k;pthread_mutex_unlock@/usr/lib/libc.so.6;release_page;flush;cleaner_main")
    c.wait(11, EPOLL, 8, 810, 900, 900, 0, "ep_poll@k;epoll_wait@/usr/lib/libc.so.6;loop;main")
    c.wait(12, FUTEX, 7, 10, 90, 91)
    for i in range(hash_ms):
        c.sample(11, 901 + i, "hash_row;serve<std::map<int, int> >;main")
    for i in range(10):
        c.sample(11, 960 + i, "copy_row;serve<std::map<int, int> >;main")
    return c
