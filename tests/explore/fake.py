# SPDX-License-Identifier: Apache-2.0
"""A heldup of the tests: answers the questions of agents and takes their spans in."""
import gzip
import http.server
import json
import threading
import time
import urllib.parse

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        at += 1
        if not data[at - 1] & 0x80:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of a protobuf message; bytes of those that have a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = varint(data, at)
        elif kind == BYTES:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = 8 if kind == FIXED64 else 4
            value, at = int.from_bytes(data[at:at + size], "little"), at + size
        yield tag >> 3, value


def attrs_of(pairs):
    found = {}
    for pair in pairs:
        parts = dict(fields(pair))
        for number, value in fields(parts.get(2, b"")):
            found[parts[1].decode()] = value.decode() if number == 1 else value
    return found


def proto_spans(body):
    for _, resource_spans in fields(body):
        parts = list(fields(resource_spans))
        resource = {}
        for number, value in parts:
            if number == 1:
                resource = attrs_of(v for n, v in fields(value) if n == 1)
        for scope in (v for n, v in parts if n == 2):
            for raw in (v for n, v in fields(scope) if n == 2):
                one = list(fields(raw))
                get = dict(one)
                yield {"service": resource.get("service.name"), "name": get[5].decode(),
                       "trace": get[1].hex(), "id": get[2].hex(), "parent": get.get(4, b"").hex(),
                       "begin_ns": get[7], "end_ns": get[8],
                       "attrs": attrs_of(v for n, v in one if n == 9),
                       "events": [dict(fields(v))[2].decode() for n, v in one if n == 11]}


def json_attrs(pairs):
    found = {}
    for pair in pairs:
        for kind, value in pair["value"].items():
            found[pair["key"]] = int(value) if kind == "intValue" else value
    return found


def json_spans(body):
    for resource_spans in json.loads(body).get("resourceSpans", []):
        resource = json_attrs(resource_spans.get("resource", {}).get("attributes", []))
        for scope in resource_spans.get("scopeSpans", []):
            for s in scope.get("spans", []):
                yield {"service": resource.get("service.name"), "name": s["name"],
                       "trace": s["traceId"], "id": s["spanId"],
                       "parent": s.get("parentSpanId", ""),
                       "begin_ns": int(s["startTimeUnixNano"]),
                       "end_ns": int(s["endTimeUnixNano"]),
                       "attrs": json_attrs(s.get("attributes", [])),
                       "events": [e["name"] for e in s.get("events", [])]}


class Fake:
    """state: what is answered; None: 503, so no lease."""

    def __init__(self, port=0):
        self.state, self.asked, self.spans, self.lock = None, [], [], threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def reply(self, status, body=b"", kind="application/json"):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                if url.path != "/heldup/v1/switches":
                    return self.reply(404)
                question = dict(urllib.parse.parse_qsl(url.query), at=time.monotonic())
                with outer.lock:
                    outer.asked.append(question)
                    state = outer.state
                if callable(state):
                    state = state(question)
                if state is None:
                    return self.reply(503)
                return self.reply(200, json.dumps(state).encode())

            def body(self):
                """As long as it says, or in chunks; plain or gzip."""
                data = b""
                if self.headers["Content-Length"] is not None:
                    data = self.rfile.read(int(self.headers["Content-Length"]))
                else:
                    while size := int(self.rfile.readline().split(b";")[0], 16):
                        data += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                if self.headers.get("Content-Encoding") == "gzip":
                    data = gzip.decompress(data)
                return data

            def do_POST(self):
                body = self.body()
                as_json = "json" in self.headers.get("Content-Type", "")
                with outer.lock:
                    outer.spans += json_spans(body) if as_json else proto_spans(body)
                self.reply(200, b"{}" if as_json else b"")

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                """An agent that was killed while it was answered."""

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def set(self, epoch, type_name=None, share=1, everything=False, on=(), lease_ms=2000, **more):
        types = [{"type": type_name, "share": share, "all": everything, "on": list(on)}]
        self.state = dict({"version": 1, "epoch": epoch, "lease_ms": lease_ms, "again_ms": 50,
                           "types": types if type_name else []}, **more)

    def wait(self, what, seconds, why):
        """What what() gives, as soon as it is true; it is called with the lock held."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self.lock:
                found = what()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError("after %s s not: %s" % (seconds, why))

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
