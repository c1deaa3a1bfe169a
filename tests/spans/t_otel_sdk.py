# SPDX-License-Identifier: Apache-2.0
"""OTLP of OpenTelemetry's own SDK (JavaScript), in all encodings, with and without gzip."""
import json
import os
import subprocess
import tempfile

import spans_dump
from spans_dump import ERROR, POINT

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ("@opentelemetry/api@1", "@opentelemetry/sdk-trace-base@2",
            "@opentelemetry/resources@2", "@opentelemetry/exporter-trace-otlp-http@0",
            "@opentelemetry/exporter-trace-otlp-proto@0",
            "@opentelemetry/exporter-trace-otlp-grpc@0")
ENCODINGS = {"json.none": ("OTLP JSON", None), "json.gzip": ("OTLP JSON", "gzip"),
             "proto.none": ("OTLP protobuf", None), "proto.gzip": ("OTLP protobuf", "gzip"),
             "grpc.none": ("OTLP protobuf", None), "grpc.gzip": ("OTLP protobuf", None)}
RESOURCE = [["host.name", "node-1"], ["service.version", "1.2.3"]]


def expected_attrs(attrs):
    out = []
    for key, v in attrs.items():
        if isinstance(v, list) or v == "" or (isinstance(v, str) and len(v.encode()) > 64):
            continue
        out.append([key, 42 if v == "42" else v])
    return sorted(out + RESOURCE)


def expected(made):
    """As the dump has them, from what the SDK says of its own spans."""
    for s in made:
        yield {"trace": s["trace"], "id": s["id"], "parent": s["parent"] or "0" * 16,
               "begin": int(s["begin"]), "end": int(s["end"]), "service": "shop",
               "name": s["name"], "host": "node-1", "kind": s["kind"] + 1,
               "flags": ERROR if s["error"] else 0, "attrs": expected_attrs(s["attrs"]),
               "refs": [{"trace": r["trace"], "span": r["id"]} for r in s["links"]]}


def expected_points(made):
    digits = {"row 17 of 20": "row # of #"}
    return sorted((s["id"], digits.get(e["name"], e["name"]), int(e["at"]))
                  for s in made for e in s["events"])


def record(folder):
    env = dict(os.environ, NODE_PATH=os.path.join(
        spans_dump.npm("otel", *PACKAGES), "node_modules"))
    done = subprocess.run(["node", os.path.join(HERE, "otel_sdk.js"), folder], env=env,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr.strip()[-400:]
    with open(os.path.join(folder, "made.json"), encoding="utf-8") as f:
        return json.load(f)


def test_otel_sdk_in_all_encodings():
    with tempfile.TemporaryDirectory(prefix="heldup-otel-") as folder:
        made = record(folder)
        want = sorted(expected(made), key=lambda s: s["id"])
        assert len(want) == 5 and len(expected_points(made)) == 3, made
        for name, (form, packed) in ENCODINGS.items():
            spans, counts = spans_dump.read(os.path.join(folder, name))
            assert counts["format"] == form and counts["packed"] == packed, (name, counts)
            assert counts["bad"] == 0 and counts["dropped"] == 0 and not counts["cut"], counts
            assert counts["passed"] == 3, counts  # the list, the long text and the empty one
            points = sorted((s["parent"], s["name"], s["begin"]) for s in spans
                            if s["flags"] & POINT)
            assert points == expected_points(made), (name, points)
            got = sorted((s for s in spans if not s["flags"] & POINT), key=lambda s: s["id"])
            for s, w in zip(got, want):
                s["attrs"].sort()
                assert s == w, "%s: %s, not %s" % (name, s, w)
            assert len(got) == len(want), name
