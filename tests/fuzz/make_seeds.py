#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds of fuzz_spans, fuzz_requests, fuzz_inject, fuzz_space_file, of what reads ELF
files (fuzz_names, fuzz_module, fuzz_lines), of heldup serve (fuzz_settings, fuzz_http), and of
what its processes say to each other (fuzz_replies).

tests/fuzz/make_seeds.py [FOLDER]: into tests/fuzz/corpus, or FOLDER.  All of it
is made up here: for each reader of spans a whole request with everything that
its format can say, the same in an unusual order, with numbers and texts at the
ends of what they can be, nested deeply, and cut off.  Other files there (those
that fuzzing found) stay.  It needs ./heldup for the search spaces.  Those of fuzz_runtimes
are what unit tests made up: tests/unit/runtime_image.h.
"""
import gzip
import io
import json
import lzma
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "corpus")

# enum spans_format
PROTO, OTLP, JAEGER, ZIPKIN, OSP, REDIS, XTRACE, XTRACE_OLD, CSV = b"012345678"
ANY = ord("x")
T0 = 1600000000000000
NUMBERS = ["0", "-0", "1e308", "-1e-320", "9223372036854775807", "9223372036854775808",
           "18446744073709551616", "0.1", "1E+2", "-9223372036854775809"]
TEXTS = ["", "\\u0000", "\\ud834\\udd1e", "\\ud834", "\\\"\\\\\\/\\b\\f\\n\\r\\t", "caf\u00e9 \u20ac",
         "</script>", "x" * 300, "true", "12", "a=b;c"]


def put(target, name, data):
    folder = os.path.join(FOLDER, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "made_" + name), "wb") as f:
        f.write(data)


def dumps(value):
    return json.dumps(value, separators=(",", ":")).encode()


# ---- protocol buffers

def varint(n):
    out = b""
    n &= (1 << 64) - 1
    while n >= 0x80:
        out += bytes([0x80 | n & 0x7f])
        n >>= 7
    return out + bytes([n])


def field(num, value):
    if isinstance(value, int):
        return varint(num << 3) + varint(value)
    if isinstance(value, float):
        return varint(num << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, str):
        value = value.encode()
    return varint(num << 3 | 2) + varint(len(value)) + value


def fixed(num, value):
    return varint(num << 3 | 1) + struct.pack("<Q", value)


def attr(key, value):
    return field(1, key) + field(2, value)


def proto_span(ident, parent, name, begin, end, more=b""):
    return (field(1, bytes(range(16))) + field(2, struct.pack(">Q", ident)) +
            (field(4, struct.pack(">Q", parent)) if parent else b"") + field(5, name) +
            field(6, 2 + ident % 4) + fixed(7, begin) + fixed(8, end) + more)


def proto_request(spans, resource=True):
    scope = b"".join(field(2, s) for s in spans)
    head = field(1, field(1, attr("service.name", field(1, "shop"))) +
                 field(1, attr("host.name", field(1, "h1"))))
    body = field(2, field(1, field(1, "lib") + field(2, "1.0")) + scope)
    return field(1, head + body if resource else body + head)


def proto_seeds():
    values = [field(1, "text"), field(2, 1), field(3, -5), field(4, 2.5), field(4, float("inf")),
              field(5, field(1, field(1, "in a list"))), field(6, field(1, attr("k", field(2, 0)))),
              field(7, b"\0\1")]
    attrs = b"".join(field(9, attr("k%d" % i, v)) for i, v in enumerate(values))
    event = field(11, fixed(1, 1600000000000005000) + field(2, "step 12") +
                  field(3, attr("n", field(3, 7))))
    link = field(13, field(1, bytes(16)[:15] + b"\1") + field(2, struct.pack(">Q", 2)))
    status = field(15, field(3, 2) + field(2, "failed"))
    begin = T0 * 1000
    spans = [proto_span(1, 0, "GET /", begin, begin + 90000, attrs + event + link + status),
             proto_span(2, 1, "query", begin + 10000, begin + 80000)]
    whole = proto_request(spans)
    yield "whole", whole
    yield "resource_last", proto_request(spans, False)
    yield "two", whole + proto_request([proto_span(3, 2, "", begin, begin - 1)])
    yield "cut", whole[:-30]
    deep = field(1, "x")
    for _ in range(80):
        deep = field(5, field(1, deep))
    yield "deep", proto_request([proto_span(1, 0, "a", 1, 2, field(9, attr("k", deep)))])
    yield "ids", proto_request([proto_span(1, 1, "self", 1, 2), field(1, b"short") + field(2, b""),
                                proto_span(2**64 - 1, 7, "orphan", 2**63, 2**64 - 1)])
    yield "varints", field(1, field(2, field(2, b"\xff" * 9 + b"\x7f" + b"\x30" + b"\xff" * 10)))
    yield "unknown", field(99, "x") + whole + field(1, 5) + varint(3 << 3 | 5) + b"1234"


# ---- JSON

def otlp_json(order=False, number=None, text=None):
    span = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174",
            "parentSpanId": "", "name": "GET /", "kind": 2, "startTimeUnixNano": str(T0 * 1000),
            "endTimeUnixNano": str(T0 * 1000 + 90000), "attributes": [
                {"key": "i", "value": {"intValue": "7"}}, {"key": "d", "value": {"doubleValue": 1.5}},
                {"key": "b", "value": {"boolValue": True}},
                {"key": "a", "value": {"arrayValue": {"values": [{"stringValue": "x"}]}}},
                {"key": "n", "value": {"intValue": "@number"}},
                {"key": "t", "value": {"stringValue": "@text"}}],
            "events": [{"timeUnixNano": str(T0 * 1000 + 5), "name": "step 3",
                        "attributes": [{"key": "e", "value": {"stringValue": "v"}}]}],
            "links": [{"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "00f067aa0ba902b7"}],
            "status": {"code": 2}}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    spans = [{"scope": {"name": "l"}, "spans": [span, dict(span, spanId="00f067aa0ba902b7",
                                                           parentSpanId=span["spanId"])]}]
    one = {"resource": resource, "scopeSpans": spans}
    if order:
        one = {"scopeSpans": spans, "schemaUrl": "", "resource": resource}
    return with_values({"resourceSpans": [one]}, number, text)


def jaeger_json(order=False, number=None, text=None):
    def span(ident, parent):
        return {"traceID": "ab", "spanID": ident, "operationName": "GET /", "references":
                [{"refType": kind, "traceID": "ab", "spanID": parent}
                 for kind in ("CHILD_OF", "FOLLOWS_FROM", "OTHER")] if parent else [],
                "startTime": T0, "duration": 90, "processID": "p1", "warnings": None,
                "tags": [{"key": "n", "type": "int64", "value": "@number"},
                         {"key": "t", "type": "string", "value": "@text"},
                         {"key": "span.kind", "type": "string", "value": "server"},
                         {"key": "error", "type": "bool", "value": True}],
                "logs": [{"timestamp": T0 + 5, "fields": [
                    {"key": "event", "type": "string", "value": "step 3"}]}]}

    processes = {"p1": {"serviceName": "shop", "tags": [
        {"key": "hostname", "type": "string", "value": "h1"}]}}
    trace = {"traceID": "ab", "spans": [span("1", None), span("2", "1")], "processes": processes}
    if order:
        trace = {"processes": processes, "warnings": None, "spans": trace["spans"], "traceID": "ab"}
    return with_values({"data": [trace], "total": 0, "errors": None}, number, text)


def zipkin_json(order=False, number=None, text=None):
    one = {"traceId": "5982fe77008310cc80f1da5e10147517", "id": "67fae42571535f60", "kind": "CLIENT",
           "name": "get /", "timestamp": T0, "duration": 90, "localEndpoint":
           {"serviceName": "shop", "ipv4": "10.0.0.1", "port": 80}, "annotations":
           [{"timestamp": T0 + 5, "value": "step 3"}], "tags": {"n": "@number", "t": "@text",
                                                               "error": "x"}}
    two = dict(one, kind="SERVER", shared=True, localEndpoint={"serviceName": "db", "ipv6": "::1"})
    if order:
        one = dict(reversed(list(one.items())))
    return with_values([one, two, dict(one, id="2", parentId="67fae42571535f60")], number, text)


def osprofiler_json(order=False, number=None, text=None):
    def node(ident, parent, kids):
        return {"trace_id": ident, "parent_id": parent, "children": kids, "info": {
            "name": "rpc", "service": "api", "project": "nova", "host": "h1", "started": 3,
            "finished": 90, "exception": "None", "last_trace_started": 80, "tracepoint_id": "a/b.py:9",
            "meta.raw_payload.rpc-start": {
                "timestamp": "2019-01-15T20:57:28.830000", "name": "rpc-start", "trace_id": ident,
                "info": {"request": {"path": "@text"}, "n": "@number", "wait_for": ["1"]}},
            "meta.raw_payload.rpc-stop": {"timestamp": "2019-01-15T20:57:29.830000", "info": {}}}}

    root = {"info": {"name": "total", "finished": 90}, "stats": {"rpc": {"count": 2}},
            "children": [node("1", "ba5e", [node("2", "1", [])])]}
    return with_values(dict(reversed(list(root.items()))) if order else root, number, text)


def redis_json(order=False, number=None, text=None):
    lines = []
    for name, second in (("rpc-start", "28.83"), ("db-start", "28.90"), ("db-stop", "28.95"),
                         ("rpc-stop", "29.83")):
        event = {"name": name, "trace_id": "1" if name[0] == "r" else "2", "base_id": "ba5e",
                 "parent_id": "ba5e" if name[0] == "r" else "1", "project": "nova", "service": "api",
                 "timestamp": "2019-01-15T20:57:%s" % second, "host": "h1",
                 "info": {"n": "@number", "t": "@text"}}
        lines.append(with_values(event, number, text))
    return b"\n".join(reversed(lines) if order else lines)


def xtrace_json(order=False, number=None, text=None):
    def report(ident, parents, label):
        return {"Agent": "A", "ProcessName": "sh", "ProcessID": 7, "EventID": ident,
                "ParentEventID": parents, "Label": label, "Host": "h1", "Timestamp": T0 // 1000,
                "HRT": 1000000 * abs(int(ident)), "ThreadID": 1, "Source": "A.java:%s" % ident,
                "n": "@number", "t": "@text"}

    reports = [report("1", [], "begin"), report("-2", ["1"], "fork"), report("3", ["1"], "fork"),
               report("4", ["-2", "3"], "join 7")]
    return with_values([{"id": "33B8", "reports": list(reversed(reports)) if order else reports}],
                       number, text)


def xtrace_old_json(order=False, number=None, text=None):
    def report(ident, parents):
        return {"Agent": ["sh"], "Edge": parents, "X-Trace": ["1933B884245CFB54F1%016X" % ident],
                "Label": ["step %d" % ident], "Host": ["h1"], "Timestamp": ["%d.5" % (T0 // 1000)],
                "Class": ["a.B"], "n": ["@number"], "t": ["@text"]}

    reports = [report(1, []), report(2, ["%016X" % 1]), report(3, ["%016X" % 1, "%016X" % 2])]
    return with_values([{"id": "33B884245CFB54F1", "reports":
                         list(reversed(reports)) if order else reports}], number, text)


def csv(order=False, number=None, text=None):
    rows = ["trace_id,span_id,parent_id,service,operation,host,start_us,duration_us,kind,error,n,t",
            '1,1,root,shop,"GET ""/""",h1,%d,90,server,false,@number,"@text"' % T0,
            "1,2,1,db,query,h2,%d,70,client,true,7," % (T0 + 10), "1,3,9,db,,,,,,,,"]
    if order:
        rows = [";".join(reversed(r.split(","))) for r in rows]
    return with_values("\r\n".join(rows), number, text, plain=True)


def with_values(value, number, text, plain=False):
    data = value.encode() if plain else dumps(value)
    number = "12" if number is None else number
    text = "acme" if text is None else text
    return data.replace(b'"@number"', number.encode()).replace(b"@number", number.encode()).replace(
        b"@text", text.encode())


MAKERS = {"otlp": (OTLP, otlp_json), "jaeger": (JAEGER, jaeger_json), "zipkin": (ZIPKIN, zipkin_json),
          "osprofiler": (OSP, osprofiler_json), "redis": (REDIS, redis_json),
          "xtrace": (XTRACE, xtrace_json), "xtrace_old": (XTRACE_OLD, xtrace_old_json),
          "csv": (CSV, csv)}


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def gzip_bytes(data):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as f:
        f.write(data)
    return out.getvalue()


def spans_seeds():
    for name, data in proto_seeds():
        put("fuzz_spans", "proto_" + name, bytes([PROTO]) + data)
    for name, (number, make) in MAKERS.items():
        whole, head = make(), bytes([number])
        put("fuzz_spans", name, head + whole)
        put("fuzz_spans", name + "_order", head + make(order=True))
        put("fuzz_spans", name + "_cut", head + whole[:len(whole) * 3 // 5])
        put("fuzz_spans", name + "_numbers", head + b"\n".join(make(number=n) for n in NUMBERS[:3]))
        put("fuzz_spans", name + "_big", head + make(number=NUMBERS[5], text=TEXTS[2]))
        put("fuzz_spans", name + "_texts", head + b"\n".join(make(text=t) for t in TEXTS[1:5]))
        put("fuzz_spans", name + "_deep", head + make(text="x").replace(b'"x"', b"[" * 70 + b"]" * 70))
        put("fuzz_spans", name + "_hole", head + whole + b"\n" + whole[len(whole) // 3:] + b"\n" + whole)
    any_ = bytes([ANY])
    two = otlp_json() + b"\n" + otlp_json(order=True)
    put("fuzz_spans", "any_gzip_members", any_ + gzip_bytes(two[:200]) + gzip_bytes(two[200:]))
    put("fuzz_spans", "any_zstd", any_ + zstd(csv()) + zstd(csv()))
    put("fuzz_spans", "any_mark", any_ + b"\xef\xbb\xbf" + zipkin_json())
    put("fuzz_spans", "any_proto", any_ + dict(proto_seeds())["whole"])
    put("fuzz_spans", "any_gzip_cut", any_ + gzip_bytes(two)[:-9])
    put("fuzz_spans", "any_blank", any_ + b" \n\t\n")


# ---- requests, as fuzz_requests and fuzz_inject take their bytes

def requests_seeds():
    """14 bytes a span: request, id, parent, tracepoint, host and kind, flags, times, a key."""
    def span(trace, ident, parent, point, begin, length, host=0, flags=0, key=0):
        return bytes([trace, ident - 1, parent, point, host, flags, 10, begin, 10, length, key, 1, 7, 2])

    tree = [(1, 0, 0, 0, 100), (2, 1, 5, 10, 30), (3, 1, 9, 50, 40), (4, 3, 14, 60, 20)]
    put("fuzz_requests", "tree", b"".join(span(t, *s, key=0x81) for t in range(8) for s in tree))
    skewed = [(1, 0, 0, 0, 100, 9), (2, 1, 5, 110, 30, 10), (3, 1, 9, 0, 40, 11), (4, 3, 14, 5, 20, 9)]
    put("fuzz_requests", "hosts", b"".join(span(t, *s) for t in range(8) for s in skewed))
    put("fuzz_requests", "roots", b"".join(span(t, i, 0, i * 4, i * 20, 15) for t in range(8)
                                           for i in range(1, 5)))
    put("fuzz_requests", "rings", b"".join(span(t, i, i % 4 + 1, i, i, 5) for t in range(8)
                                           for i in range(1, 5)))
    put("fuzz_requests", "same_ids", b"".join(span(t, 1 + i // 2, 0, i, i, 9, 2 + i % 2, 8 * (i % 2))
                                              for t in range(8) for i in range(4)))
    rnd = random.Random(2)
    put("fuzz_requests", "wild", bytes(rnd.randrange(256) for _ in range(14 * 40)))
    put("fuzz_inject", "tree", bytes([0, 0, 0, 100, 1, 1, 0, 0, 1, 1, 10, 40, 2, 2, 0, 0,
                                      2, 1, 50, 90, 1, 2, 0, 0, 3, 3, 60, 80, 2, 1, 0, 0]))
    put("fuzz_inject", "order", b"".join(bytes([i, 0, i * 10, i * 10 + 5, i % 4, 16, i, 2])
                                         for i in range(6)))
    put("fuzz_inject", "ends", bytes([0, 0, 250, 255, 1, 1, 1, 1, 1, 2, 254, 251, 2, 3, 2, 0]))


def shop_traces(path, cnt):
    """front asks a cache and, when that has nothing, a database."""
    rnd = random.Random(4)
    data = []
    for number in range(1, cnt + 1):
        at, hit, work = T0 + number * 1000000, rnd.random() < .5, rnd.randint(1000, 9000)

        def span(ident, parent, name, begin, length):
            return {"traceID": "%x" % number, "spanID": "%x" % ident, "operationName": name,
                    "processID": "p1", "startTime": begin, "duration": length, "tags": [],
                    "references": [{"refType": "CHILD_OF", "traceID": "%x" % number,
                                    "spanID": "%x" % parent}] if parent else []}

        spans = [span(1, 0, "GET /", at, work + 2000), span(2, 1, "cache", at + 500, 300)]
        if not hit:
            spans.append(span(3, 1, "query", at + 900, work))
        data.append({"traceID": "%x" % number, "spans": spans,
                     "processes": {"p1": {"serviceName": "s", "tags": []}}})
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"data": data}, f)


def space_seeds():
    """What stands between the head line and the checksum of a search space's file."""
    heldup = os.path.join(TOP, "heldup")
    with tempfile.TemporaryDirectory() as folder:
        for name, cnt in (("small", 3), ("shop", 40)):
            path, space = os.path.join(folder, name + ".json"), os.path.join(folder, name + ".space")
            shop_traces(path, cnt)
            subprocess.run([heldup, "replay", path, "--space", space], stdout=subprocess.DEVNULL,
                           check=False)
            with open(space, "rb") as f:
                data = f.read()
            body = data[data.index(b"\n") + 1:-8]
            put("fuzz_space_file", name, body)
            put("fuzz_space_file", name + "_cut", body[:len(body) // 2])
            put("fuzz_space_file", name + "_more", body + b"\1")


# ---- ELF files

PROGBITS, SYMTAB, STRTAB, NOTE, DYNSYM, RELA = 1, 2, 3, 7, 11, 4
ALLOC, EXEC, COMPRESSED = 2, 4, 0x800
TEXT, TEXT_LEN = 0x1000, 0xf000


def elf(sections, base=TEXT, text_len=TEXT_LEN):
    """sections: (name, type, flags, vaddr, data, link, entry size); text is at base."""
    names, body, heads = b"\0", b"", [bytes(64)]
    sections = sections + [(".shstrtab", STRTAB, 0, 0, None, 0, 0)]
    for name, kind, flags, vaddr, data, link, entry in sections:
        at = len(names)
        names += name.encode() + b"\0"
        if data is None:
            data = names
        body += b"\0" * (-len(body) % 16)
        heads.append(struct.pack("<IIQQQQIIQQ", at, kind, flags, vaddr, 120 + len(body), len(data),
                                 link, 0, 8, entry))
        body += data
    body += b"\0" * (-len(body) % 16)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 120 + len(body), 0, 64, 56, 1, 64, len(heads),
        len(heads) - 1)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, 120 + len(body), text_len, 4096)
    return head + segment + body + b"".join(heads)


def packed(data, how=zlib.compress, number=1):
    return struct.pack("<IIQQ", number, 0, len(data), 1) + how(data)


def symbols(link, kind=SYMTAB, name=".symtab"):
    rows = [(0, 0, 0, 0, 0, 0), (1, 0x12, 0, 1, TEXT + 16, 64), (6, 0x02, 0, 1, TEXT + 128, 0),
            (11, 0x22, 0, 1, TEXT + 256, 32)]
    return (name, kind, 0, 0, b"".join(struct.pack("<IBBHQQ", *r) for r in rows), link, 24)


def frame():
    cie = struct.pack("<IIB", 20, 0xffffffff, 4) + b"\0\x08\0\x01\x78\x10\x0c\x07\x08\x90\x01" + bytes(3)
    fdes = b"".join(struct.pack("<IIQQ", 28, 0, TEXT + i * 64, 48) + b"\x41\x0e\x10\x86\x02\x43\x0d\x06"
                    for i in range(8))
    return cie + fdes


def note(ident):
    return (".note.gnu.build-id", NOTE, ALLOC, 0, struct.pack("<III", 4, len(ident), 3) + b"GNU\0" +
            ident, 0, 0)


STRINGS = (".strtab", STRTAB, 0, 0, b"\0main\0_Z1fv\0loop\0", 0, 0)
ID = bytes(range(20))


def elf_kinds():
    inner = elf([symbols(2), STRINGS])
    yield "zlib_frame", elf([(".debug_frame", PROGBITS, COMPRESSED, 0, packed(frame()), 0, 0)])
    yield "zstd_frame", elf([(".debug_frame", PROGBITS, COMPRESSED, 0, packed(frame(), zstd, 2), 0, 0)])
    yield "zlib_notes", elf([(".note.stapsdt", NOTE, COMPRESSED, 0, packed(
        struct.pack("<III8sQQQ", 8, 24 + 8, 3, b"stapsdt\0", TEXT, 0, 0) + b"p\0n\0-4@x"), 0, 0)])
    yield "zlib_versions", elf([symbols(2, DYNSYM, ".dynsym"), STRINGS,
                                (".gnu.version", PROGBITS, COMPRESSED, 0, packed(bytes(8)), 0, 0),
                                (".rela.plt", RELA, COMPRESSED, 0, packed(
                                    struct.pack("<QQq", TEXT + 0x800, 1 << 32 | 7, 0)), 0, 24),
                                (".plt", PROGBITS, EXEC | ALLOC, TEXT + 0x200,
                                 b"\xff\x25" + struct.pack("<i", 0x5fa) + bytes(10), 0, 0)])
    yield "xz", elf([(".gnu_debugdata", PROGBITS, 0, 0, lzma.compress(inner), 0, 0)])
    yield "xz_cut", elf([(".gnu_debugdata", PROGBITS, 0, 0, lzma.compress(inner)[:-9], 0, 0)])
    for version in ("1.2", "1.16", "1.18", "1.20"):
        with open(os.path.join(HERE, "corpus", "fuzz_gopcln", "go" + version), "rb") as f:
            table = f.read()
        yield "go" + version, elf([(".gopclntab", PROGBITS, ALLOC, 0x2000000, table, 0, 0)],
                                  0x400000, 0x1000000)


def debug_info():
    """A program's own, as compilers write it, plain and packed, where there is a compiler."""
    source = ("static inline int g(int x) { return x * 3 + 1; }\n"
              "int f(int x) { for (int i = 0; i < x; i++) x += g(i); return x; }\n")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "f")
        for name, flags in (("dwarf4", ["-gdwarf-4"]), ("dwarf5", ["-gdwarf-5"]),
                            ("zlib", ["-gdwarf-5", "-gz=zlib"])):
            subprocess.run(["cc", "-x", "c", "-O2", *flags, "-shared", "-nostdlib", "-o", path, "-"],
                           input=source.encode(), check=True)
            with open(path, "rb") as f:
                yield name, f.read()


def elf_seeds():
    debug = elf([note(ID), symbols(3), STRINGS])
    link = b"x.debug\0" + struct.pack("<I", zlib.crc32(debug))
    for name, data in elf_kinds():
        put("fuzz_names", name, data)
        put("fuzz_module", name, struct.pack("<I", len(data)) + data)
    for name, sections in (("by_id", [note(ID)]), ("by_id_copied", [note(ID), STRINGS]),
                           ("by_link", [(".gnu_debuglink", PROGBITS, 0, 0, link, 0, 0)])):
        whole = elf(sections)
        put("fuzz_module", name, struct.pack("<I", len(whole)) + whole + debug)
    for name, data in debug_info():
        put("fuzz_lines", name, data)


# ---- heldup serve

CONF = b"""# of a host
[serve]
state = /var/lib/heldup
listen = 127.0.0.1:4319
token = abc
keep-size = 1.5G
keep-age = 30d
window = 2m
budget = 0.5%
on-finding = /bin/true
webhook = http://127.0.0.1/x
webhook-format = alertmanager
[service web]
port = 80
p99 = 1m200ms
[service db]
unit = postgresql.service ; a cluster
[service any]
comm = ^a.*(b|c)$
pid = 1
cgroup = /sys/fs/cgroup
container = x
"""
PAGES = ("/", "/serve.css", "/metrics", "/api/services", "/api/findings?service=web&since_ns=1",
         "/api/series?service=web", "/api/findings/1", "/findings/1", "/api/findings/1/why",
         "/findings/1/capture", "/api/findings/-1", "/%2e%2e/x?token=secret")


def serve_seeds():
    put("fuzz_settings", "whole", CONF)
    put("fuzz_settings", "option", b"web=port:80")
    put("fuzz_settings", "ends", b"[serve]\nkeep-size = 1e15\nkeep-age = 1000d\nbudget = 0\n"
        b"window = 1h\nlisten = [::1]:65535\n[service a]\nport = 65535\n  more\n")
    for i, page in enumerate(PAGES):
        more = b"Authorization: Bearer secret\r\nCookie: heldup=secret\r\n" if i % 2 else b""
        text = b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (page.encode(), more)
        put("fuzz_http", "get_%d" % i, text + b" " * (len(text) % 2 == 0 and i % 2))
    put("fuzz_http", "origin", b"HEAD / HTTP/1.0\r\nHost: x\r\nOrigin: http://x\r\n\r\n")
    put("fuzz_http", "post", b"POST / HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n"
        b"\r\n4\r\nabcd\r\n0\r\n\r\n")


# ---- between processes (fuzz_replies.c): a byte for the way, then the message

MESSAGE = 464  # struct link_msg


def reply_seeds():
    for kind in range(1, 7):
        head = struct.pack("<IIQQ", kind, 0, T0, 0)
        text = b"web\0".ljust(64, b"\0") + b"unit web.service, port 80, 443, 3 processes\0"
        put("fuzz_replies", "link_%d" % kind, b"\0" + (head + text).ljust(MESSAGE, b"\0"))
    texts = {2: b"fdinfo/0\0", 9: b"/bin/sh\0", 10: b"/bin/sh\0"}
    for op in range(14):
        args = struct.pack("<IIQ", 0, 64, 0) if op < 9 else struct.pack("<II", 0, 0)
        put("fuzz_replies", "read_%d" % op, bytes([1, op]) + args + texts.get(op, bytes(48)))
    for name, link in (("socket", b"socket:[12]"), ("pipe", b"pipe:[18446744073709551615]")):
        put("fuzz_replies", name, b"\2" + link)


if __name__ == "__main__":
    if not shutil.which("zstd"):
        sys.exit("zstd is needed")
    serve_seeds()
    reply_seeds()
    elf_seeds()
    spans_seeds()
    requests_seeds()
    space_seeds()
