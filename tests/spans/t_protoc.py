# SPDX-License-Identifier: Apache-2.0
"""OTLP in protobuf against protobuf's own compiler: what `protoc --decode` reads of the same bytes.

The definitions are those that an older exporter of OpenTelemetry carries; new ones carry none.
"""
import math
import os
import random
import re
import shutil
import subprocess
import tempfile

import spans_dump
import t_otel_sdk
from spans_dump import ERROR, OPEN, POINT, Skip

PACKAGE = "@opentelemetry/otlp-grpc-exporter-base@0.35.1"
REQUEST = "opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest"
SERVICE = "opentelemetry/proto/collector/trace/v1/trace_service.proto"
KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]
RESOURCE_KEYS = {"host.name", "service.version"}
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$")


def protoc(how, data):
    if not shutil.which("protoc"):
        raise Skip("no protoc")
    protos = os.path.join(spans_dump.npm("protos", PACKAGE), "node_modules",
                          PACKAGE.rsplit("@", 1)[0], "build", "protos")
    done = subprocess.run(["protoc", "-I" + protos, "--%s=%s" % (how, REQUEST), SERVICE],
                          input=data, capture_output=True, timeout=60)
    return done.stdout if done.returncode == 0 else None


# ---- protobuf's text format

ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def unquote(text):
    def one(m):
        e = m.group(1)
        return bytes([int(e, 8)]) if e[0:1].isdigit() else ESCAPES.get(e, e)
    return re.sub(rb"\\([0-7]{3}|.)", one, text[1:-1])


def parse(text):
    """A message is a list of (name, value), and so is each message in it."""
    stack = [[]]
    for line in text.split(b"\n"):
        line = line.strip()
        if line.endswith(b"{"):
            inner = []
            stack[-1].append((line[:-1].strip().decode(), inner))
            stack.append(inner)
        elif line == b"}":
            stack.pop()
        elif line:
            name, _, value = line.partition(b": ")
            stack[-1].append((name.decode(), unquote(value) if value[:1] == b'"'
                              else value.decode()))
    return stack[0]


def all_of(message, name):
    return [v for n, v in message if n == name]


def last(message, name, default):
    found = all_of(message, name)
    return found[-1] if found else default


# ---- from the text to what the dump must say

def number(v):
    v = float(v)
    return [v] if math.isfinite(v) else []


def value(v):
    """A list of the value as the dump has it, empty when it is not kept."""
    if not v:
        return []
    kind, v = v[-1]
    if kind == "string_value":
        text = v.decode("utf-8")
        if not v or len(v) > 64:
            return []
        if NUMBER.match(text) and len(v) <= 32 and math.isfinite(float(text)):
            return [float(text)]
        return [{"true": True, "false": False}.get(text, text)]
    if kind == "bool_value":
        return [v == "true"]
    return number(v) if kind in ("int_value", "double_value") else []


def attrs(message):
    out = []
    for kv in all_of(message, "attributes"):
        key = last(kv, "key", b"").decode("utf-8")
        out += [[key, v] for v in value(last(kv, "value", [])) if key]
    return out


def ident(message, name):
    return last(message, name, b"").hex()


def spans_of(request):
    for rs in all_of(request, "resource_spans"):
        resource = attrs(last(rs, "resource", []))
        told = dict((k, v) for k, v in resource)
        given = [[k, v] for k, v in resource if k in RESOURCE_KEYS]
        for scope in all_of(rs, "scope_spans"):
            for s in all_of(scope, "spans"):
                begin = int(last(s, "start_time_unix_nano", 0))
                end = int(last(s, "end_time_unix_nano", 0))
                code = last(last(s, "status", []), "code", "")
                flags = (ERROR if code == "STATUS_CODE_ERROR" else 0)
                if end < begin:
                    flags, end = flags | OPEN, begin
                kind = last(s, "kind", "SPAN_KIND_UNSPECIFIED")[len("SPAN_KIND_"):]
                yield {"trace": ident(s, "trace_id"), "id": ident(s, "span_id"),
                       "parent": ident(s, "parent_span_id") or "0" * 16,
                       "begin": begin, "end": end, "service": told.get("service.name", ""),
                       "host": told.get("host.name", ""),
                       "name": last(s, "name", b"").decode("utf-8"),
                       "kind": KINDS.index(kind), "flags": flags, "attrs": attrs(s) + given,
                       "refs": [{"trace": ident(r, "trace_id"), "span": ident(r, "span_id")}
                                for r in all_of(s, "links")]}


def points_of(request):
    for rs in all_of(request, "resource_spans"):
        for scope in all_of(rs, "scope_spans"):
            for s in all_of(scope, "spans"):
                for e in all_of(s, "events"):
                    name = re.sub("[0-9]+", "#", last(e, "name", b"").decode())
                    yield ident(s, "span_id"), name, int(last(e, "time_unix_nano", 0))


def compare(path):
    with open(path, "rb") as f:
        text = protoc("decode", f.read())
    assert text is not None, "protoc does not decode it"
    request = parse(text)
    spans, counts = spans_dump.read(path)
    assert counts["bad"] == 0 and counts["dropped"] == 0 and not counts["cut"], counts
    want = list(spans_of(request))
    got = [s for s in spans if not s["flags"] & POINT]
    for s, w in zip(got, want):
        assert s == w, "%s, not %s" % (s, w)
    assert len(got) == len(want)
    points = [(s["parent"], s["name"], s["begin"]) for s in spans if s["flags"] & POINT]
    assert sorted(points) == sorted(points_of(request)), points
    return len(got)


def test_protoc_of_the_sdk():
    with tempfile.TemporaryDirectory(prefix="heldup-protoc-") as folder:
        made = t_otel_sdk.record(folder)
        assert compare(os.path.join(folder, "proto.none")) == len(made)


# ---- requests of every shape that the definitions allow

class Maker:
    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.lines = []

    def line(self, text):
        self.lines.append(text)

    def block(self, name, fill, *args):
        self.line(name + " {")
        fill(*args)
        self.line("}")

    def bytes(self, cnt):
        return '"%s"' % "".join("\\%03o" % b for b in self.rnd.randbytes(cnt))

    def text(self):
        one = self.rnd.choice(["plain", "42", "-1.5e3", "007", "true", "ünï", "x" * 64, "y" * 65,
                               "", "1e999", "a b", "tab\\t"])
        return '"%s"' % one

    def any_value(self, depth=0):
        kind = self.rnd.randrange(8)
        if kind == 0:
            self.line("string_value: " + self.text())
        elif kind == 1:
            self.line("bool_value: " + self.rnd.choice(["true", "false"]))
        elif kind == 2:
            self.line("int_value: %d" % self.rnd.choice([0, 1, -1, 2**62, -2**63, 2**63 - 1, 300]))
        elif kind == 3:
            self.line("double_value: %s" % self.rnd.choice(["0", "-0.5", "1e300", "nan", "inf"]))
        elif kind == 4 and depth < 4:
            self.block("array_value", lambda: [self.block("values", self.any_value, depth + 1)
                                               for _ in range(self.rnd.randrange(3))])
        elif kind == 5 and depth < 4:
            self.block("kvlist_value", lambda: [self.block("values", self.key_value, depth + 1)
                                                for _ in range(self.rnd.randrange(3))])
        elif kind == 6:
            self.line("bytes_value: " + self.bytes(5))

    def key_value(self, depth=0):
        self.line('key: "%s"' % self.rnd.choice(["a", "key.two", "ключ"]))
        if self.rnd.randrange(10):
            self.block("value", self.any_value, depth)

    def named(self, key, text):
        self.line('key: "%s"' % key)
        self.block("value", lambda: self.line('string_value: "%s"' % text))

    def event(self):
        self.line("time_unix_nano: %d" % self.rnd.randrange(1, 2**62))
        self.line('name: "%s"' % self.rnd.choice(["", "exception", "cache miss"]))
        self.block("attributes", self.key_value)

    def link(self):
        self.line("trace_id: " + self.bytes(16))
        self.line("span_id: " + self.bytes(8))
        self.block("attributes", self.key_value)

    def span(self):
        rnd = self.rnd
        self.line("trace_id: " + self.bytes(16))
        self.line("span_id: " + self.bytes(8))
        if rnd.randrange(3):
            self.line("parent_span_id: " + self.bytes(8))
        self.line('name: "%s"' % rnd.choice(["", "GET /", "ünï", "n" * 70]))
        self.line("kind: SPAN_KIND_" + rnd.choice(KINDS))
        begin = rnd.choice([1, 1760000000000000000, 2**63 - 1])
        self.line("start_time_unix_nano: %d" % begin)
        if rnd.randrange(5):
            self.line("end_time_unix_nano: %d" % max(1, begin - rnd.randrange(2)))
        self.line('trace_state: "x=1"')
        for _ in range(rnd.randrange(6)):
            self.block("attributes", self.key_value)
        for _ in range(rnd.randrange(2)):
            self.block("events", self.event)
        for _ in range(rnd.randrange(2)):
            self.block("links", self.link)
        if rnd.randrange(2):
            self.block("status", lambda: self.line(
                "code: STATUS_CODE_" + rnd.choice(["UNSET", "OK", "ERROR"])))

    def resource(self):
        self.block("attributes", self.named, "service.name", self.rnd.choice(["a", "b.c", "ü"]))
        for key in RESOURCE_KEYS:
            if self.rnd.randrange(2):
                self.block("attributes", self.named, key, self.rnd.choice(["h1", "v-2"]))
        self.line("dropped_attributes_count: 3")

    def scope_spans(self):
        self.block("scope", lambda: self.line('name: "lib"'))
        for _ in range(self.rnd.randrange(5)):
            self.block("spans", self.span)
        self.line('schema_url: "https://schema"')

    def resource_spans(self):
        if self.rnd.randrange(8):
            self.block("resource", self.resource)
        for _ in range(self.rnd.randrange(3)):
            self.block("scope_spans", self.scope_spans)

    def request(self):
        for _ in range(1 + self.rnd.randrange(4)):
            self.block("resource_spans", self.resource_spans)
        return "\n".join(self.lines).encode("utf-8")


def test_protoc_of_every_shape():
    spans = 0
    with tempfile.TemporaryDirectory(prefix="heldup-protoc-") as folder:
        path = os.path.join(folder, "request")
        for seed in range(60):
            data = protoc("encode", Maker(seed).request())
            assert data is not None, "protoc does not encode seed %d" % seed
            with open(path, "wb") as f:
                f.write(data)
            try:
                spans += compare(path)
            except AssertionError as e:
                raise AssertionError("seed %d: %s" % (seed, e))
    assert spans > 200, spans
