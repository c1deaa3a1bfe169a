# SPDX-License-Identifier: Apache-2.0
"""Spans over the network: the official SDK, clients that do not keep the rules, limits."""
import concurrent.futures
import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import time

import spans_dump
import t_otel_sdk

HERE = os.path.dirname(os.path.abspath(__file__))
INTAKE = os.path.join(spans_dump.TOP, "build", "tests", "spans_intake")
JSON, PROTO = "application/json", "application/x-protobuf"
MIB = 1 << 20


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Intake:
    """One that runs, until it is left; then what it counted is in counts."""

    def __init__(self, host="127.0.0.1", token=None):
        self.http, self.grpc = free_port(), free_port()
        self.argv = [INTAKE, "%s:%d" % (host, self.http), "%s:%d" % (host, self.grpc)]
        self.argv += [token] if token else []
        self.counts = None

    def __enter__(self):
        self.ran = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True)
        assert self.ran.stdout.readline() == "ready\n"
        return self

    def say(self, line):
        self.ran.stdin.write(line + "\n")
        self.ran.stdin.flush()

    def __exit__(self, *args):
        self.ran.stdin.close()
        self.counts = json.loads(self.ran.stdout.read() or "null")
        self.ran.stdout.close()
        assert self.ran.wait(timeout=20) == 0

    def post(self, body, kind=JSON, path="/v1/traces", method="POST", **headers):
        """(status, headers, body) of the answer."""
        c = http.client.HTTPConnection("127.0.0.1", self.http, timeout=20)
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        c.request(method, path, body, dict({"Content-Type": kind}, **headers))
        r = c.getresponse()
        got = r.status, dict(r.getheaders()), r.read()
        c.close()
        return got


def request(cnt=1, first=1, **more):
    spans = [dict({"traceId": "%032x" % (first + i), "spanId": "%016x" % (first + i),
                   "name": "GET /a", "kind": 2, "startTimeUnixNano": str(10 ** 18),
                   "endTimeUnixNano": str(10 ** 18 + 5000000)}, **more) for i in range(cnt)]
    return {"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]},
        "scopeSpans": [{"spans": spans}]}]}


def test_intake_of_the_official_sdk():
    env = dict(os.environ, NODE_PATH=os.path.join(
        spans_dump.npm("otel", *t_otel_sdk.PACKAGES), "node_modules"))
    with Intake() as it:
        done = subprocess.run(["node", os.path.join(HERE, "otel_live.js"), str(it.http),
                               str(it.grpc)], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-400:]
    made, got = json.loads(done.stdout)["spans"], it.counts
    assert got["spans"] == made == 600, (made, got)
    assert got["traces"] == 300 and not got["rootless"] and not got["late"], got
    (kind,) = got["types"]  # ids are folded, and both services are one request
    assert (kind["service"], kind["name"]) == ("shop", "GET /cart/{id}"), kind
    assert kind["cnt"] == 300 and kind["failed"] == 30, kind
    assert kind["edges"][0] == "in db SELECT" and kind["max_ns"] == 59000000, kind


def test_intake_answers_by_the_protocol():
    good = json.dumps(request())
    with Intake() as it:
        assert it.post(good)[0] == 200
        assert it.post("{}")[0] == 200 and it.post(b"", PROTO)[0] == 200
        status, _, body = it.post('{"resourceSpans": [{')
        assert status == 400 and json.loads(body)["code"] == 3, body
        assert it.post(b"\xff\xff", PROTO)[0] == 400
        assert it.post(gzip.compress(good.encode())[:-9], Content_Encoding="gzip")[0] == 400
        assert it.post(good, "text/plain")[0] == 415
        assert it.post(good, Content_Encoding="br")[0] == 415
        assert it.post(good, path="/v1/logs")[0] == 404
        status, headers, _ = it.post(None, method="GET")
        assert status == 405 and headers["Allow"] == "POST", headers
        one_bad = request(2)
        one_bad["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] = "0" * 32
        status, _, body = it.post(json.dumps(one_bad))
        part = json.loads(body)["partialSuccess"]
        assert status == 200 and int(part["rejectedSpans"]) == 1 and part["errorMessage"], body
        it.say("busy")
        end = time.monotonic() + 10
        while time.monotonic() < end:
            status, headers, body = it.post(good)
            if status == 503:
                break
        assert status == 503 and headers["Retry-After"] == "7", (status, headers)
    got = it.counts
    assert got["bad"] == 3 and got["unsupported"] == 4 and got["busy"] == 1, got
    assert got["refused_spans"] == 1 and got["requests"] >= 4, got


def test_intake_bounds_what_is_sent():
    bomb = gzip.compress(b'{"resourceSpans": [' + b" " * (80 * MIB), 1)
    with Intake() as it:
        assert it.post(bomb, Content_Encoding="gzip")[0] == 413
        with socket.create_connection(("127.0.0.1", it.http)) as s:
            s.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                      b"Content-Length: 99999999\r\n\r\n")
            assert b" 413 " in s.recv(100)
        body = b" " * (7 * MIB)
        with concurrent.futures.ThreadPoolExecutor(6) as many:
            codes = [f.result()[0] for f in [many.submit(it.post, body) for _ in range(6)]]
        assert set(codes) <= {200, 503} and 503 in codes, codes
        slow = [socket.create_connection(("127.0.0.1", p)) for p in (it.http, it.grpc) * 20]
        for s in slow:
            s.sendall(b"PRI * HTTP")
        assert it.post(json.dumps(request()))[0] == 200  # the others wait for nobody
        for s in slow:
            s.close()
    assert it.counts["large"] == 2 and it.counts["spans"] == 1, it.counts
    assert it.counts["busy"] == codes.count(503), (codes, it.counts)
    assert it.counts["peak_bytes"] < 110 * MIB, it.counts


def test_intake_asks_others_for_the_token():
    good = json.dumps(request())
    refused = subprocess.run([INTAKE, "0.0.0.0:%d" % free_port()], capture_output=True, text=True)
    assert refused.returncode == 1 and "token" in refused.stderr, refused.stderr
    with Intake("0.0.0.0", "secret") as it:
        assert it.post(good)[0] == 401
        assert it.post(good, Authorization="Bearer secreT")[0] == 401
        assert it.post(good, Authorization="Bearer secret")[0] == 200
    assert it.counts["denied"] == 2 and it.counts["spans"] == 1, it.counts


def test_intake_completes_traces_by_time_out():
    root, child = request(), request(1, 2, traceId="%032x" % 1, parentSpanId="%016x" % 1)
    with Intake() as it:
        assert it.post(json.dumps(root))[0] == 200
        time.sleep(6.3)  # a trace is quiet for six seconds before it is complete
        status, _, body = it.post(json.dumps(child))
        assert json.loads(body)["partialSuccess"]["rejectedSpans"] in (1, "1"), body
    assert it.counts["late"] == 1 and it.counts["traces"] == 1, it.counts


def test_intake_that_is_killed_leaves_nothing():
    it = Intake()
    it.__enter__()
    assert it.post(json.dumps(request(1000)))[0] == 200
    it.ran.send_signal(signal.SIGKILL)
    it.ran.wait(timeout=20)
    it.ran.stdin.close()
    it.ran.stdout.close()
    with Intake() as again:  # at the same ports at once
        pass
    again.http, again.grpc, again.argv = it.http, it.grpc, it.argv
    with again:
        assert again.post(json.dumps(request()))[0] == 200
