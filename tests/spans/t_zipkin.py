# SPDX-License-Identifier: Apache-2.0
"""Spans of Zipkin's own library and of the Zipkin exporter of OpenTelemetry's SDK."""
import json
import os
import re
import subprocess
import tempfile

import spans_dump
from spans_dump import ERROR, POINT

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ("zipkin@0", "@opentelemetry/api@1", "@opentelemetry/sdk-trace-base@2",
            "@opentelemetry/resources@2", "@opentelemetry/exporter-zipkin@2")
KINDS = {None: 0, "SERVER": 2, "CLIENT": 3}
SHARED = 8


def record(folder):
    env = dict(os.environ, NODE_PATH=os.path.join(
        spans_dump.npm("zipkin", *PACKAGES), "node_modules"))
    done = subprocess.run(["node", os.path.join(HERE, "zipkin.js"), folder], env=env,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr.strip()[-400:]
    with open(os.path.join(folder, "made.json"), encoding="utf-8") as f:
        return json.load(f)


def number(text):
    return float(text) if re.match(r"\d+$", str(text)) else text


def points(made):
    return [(s["id"], re.sub("[0-9]+", "#", p["value"]), p["timestamp"] * 1000)
            for s in made for p in s["points"]]


def core(made, **more):
    return dict(trace=made["trace"].rjust(32, "0"), id=made["id"],
                parent=made["parent"] or "0" * 16, name=made["name"],
                begin=made["begin"] * 1000, end=(made["begin"] + made["duration"]) * 1000, **more)


def compare(path, want, want_points):
    spans, counts = spans_dump.read(path)
    assert counts["format"] == "Zipkin JSON" and counts["bad"] == 0, counts
    got_points = [(s["parent"], s["name"], s["begin"]) for s in spans if s["flags"] & POINT]
    assert got_points == want_points, (path, got_points, want_points)
    got = [s for s in spans if not s["flags"] & POINT]
    assert len(got) == len(want), (path, len(got))
    for g, w in zip(got, want):
        w_attrs = {k: number(v) for k, v in w.pop("attrs").items()}
        g_attrs = {k: v for k, v in g["attrs"] if k != "peer.service" or k in w_attrs}
        assert g_attrs == w_attrs, (path, g_attrs, w_attrs)
        assert {k: g[k] for k in w} == w, (path, g, w)


def test_zipkin_library():
    with tempfile.TemporaryDirectory(prefix="heldup-zipkin-") as folder:
        made = record(folder)["zipkin"]
        assert sum(s["shared"] for s in made) == 1 and len(made) == 3, made
        for name in ("zipkin.json", "zipkin.lines"):
            compare(os.path.join(folder, name),
                    [core(s, service=s["service"], kind=KINDS[s.get("kind")], attrs=s["tags"],
                          flags=(ERROR if "error" in s["tags"] else 0) |
                          (SHARED if s["shared"] else 0)) for s in made], points(made))


def test_zipkin_of_otel_sdk():
    with tempfile.TemporaryDirectory(prefix="heldup-zipkin-") as folder:
        made = record(folder)["otel"]
        assert len(made) == 2, made
        want = []
        for s in made:
            attrs = dict(s["attrs"], **{"service.name": "shop"})
            if s["error"]:
                attrs.update({"error": "no such table", "otel.status_code": "ERROR"})
            want.append(core(s, service="shop", kind=s["kind"], attrs=attrs,
                             flags=ERROR if s["error"] else 0))
        compare(os.path.join(folder, "otel.json"), want, points(made))
