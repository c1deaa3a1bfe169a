# SPDX-License-Identifier: Apache-2.0
"""`heldup requests` of hosts whose clocks disagree: moved, and said to be."""
import json
import os
import random
import sys
import tempfile

from heldup_cli import OK, TOP, heldup

sys.path.insert(0, os.path.join(TOP, "tests", "golden"))
import schema_check  # noqa: E402


def traces(offset_us, cnt=300):
    """offset_us: by the number of the request.

    front on host-a calls back on host-b, with 0.5 to 3.5 ms each way."""
    rnd = random.Random(5)
    data = []
    for number in range(1, cnt + 1):
        trace = "%032x" % number
        at = 1700000000000000 + number * 1000000
        out, back, work = rnd.randint(500, 3500), rnd.randint(500, 3500), rnd.randint(20000, 40000)

        def span(ident, parent, name, process, begin, length):
            return {"traceID": trace, "spanID": "%016x" % ident, "operationName": name,
                    "processID": process, "startTime": begin, "duration": length, "tags": [],
                    "references": [{"refType": "CHILD_OF", "traceID": trace,
                                    "spanID": "%016x" % parent}] if parent else []}

        data.append({"traceID": trace, "spans": [
            span(1, 0, "/cart", "p1", at, out + work + back),
            span(2, 1, "read", "p2", at + out + offset_us(number), work)], "processes": {
                p: {"serviceName": s, "tags": [
                    {"key": "hostname", "type": "string", "value": h}]}
                for p, s, h in (("p1", "front", "host-a"), ("p2", "back", "host-b"))}})
    return {"data": data}


def answer(offset_us):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "traces.json")
        with open(path, "w") as f:
            json.dump(traces(offset_us), f)
        text = heldup("requests", path).ended(OK).out
        result = json.loads(heldup("requests", "--json", path).ended(OK).out)
    checker = schema_check.Checker(json.loads(heldup("requests", "--json-schema").ended(OK).out))
    checker.check(checker.root, result)
    assert not checker.errors, checker.errors[:5]
    return " ".join(text.split()), result


def test_clocks_one_that_is_off_is_moved_and_said():
    text, result = answer(lambda number: 42000000)
    clocks = result["input"]["clocks"]
    assert [c["host"] for c in clocks] == ["host-b"], clocks
    assert abs(clocks[0]["offset_ns"] + 42000000000) < 1000000, clocks
    assert clocks[0]["sure_ns"] < 1000000 and clocks[0]["reference"] == "host-a", clocks
    assert clocks[0]["impossible_before"] == clocks[0]["calls"] == 300, clocks
    assert clocks[0]["impossible_after"] == 0, clocks
    assert "clock of host-b: 42.0 s ahead of host-a's" in text, text


def test_clocks_one_that_is_right_is_left_alone():
    text, result = answer(lambda number: 0)
    assert result["input"]["clocks"] == [], result["input"]["clocks"]
    assert "clock of" not in text, text


def test_clocks_one_that_was_set_is_moved_from_then_on():
    text, result = answer(lambda number: 0 if number <= 180 else -3000000)
    clocks = result["input"]["clocks"]
    assert [c["host"] for c in clocks] == ["host-b"], clocks
    assert abs(clocks[0]["offset_ns"] - 3000000000) < 1000000, clocks
    step = 1700000000000000000 + 180500000000
    assert abs(clocks[0]["from_ns"] - step) <= 500000000 and clocks[0]["to_ns"] is None, clocks
    assert clocks[0]["drift_ppm"] is None and not result["input"]["unsettled_clocks"], result["input"]
    assert "clock of host-b from 2023-11-14 22:16:" in text, text
    assert "UTC: 3.00 s behind host-a's" in text, text


def test_clocks_one_that_drifts_is_moved_more_and_more():
    text, result = answer(lambda number: number * 200)      # of requests a second apart
    clocks = result["input"]["clocks"]
    assert len(clocks) == 1 and abs(clocks[0]["drift_ppm"] + 200) < 5, clocks
    assert "gaining by 20" in text or "gaining by 19" in text, text


def test_clocks_that_nothing_mends_are_named():
    rnd = random.Random(3)
    text, result = answer(lambda number: rnd.randint(-10**9, 10**9))
    unsettled = result["input"]["unsettled_clocks"]
    assert [(u["against"], u["host"]) for u in unsettled] == [("host-a", "host-b")], unsettled
    assert unsettled[0]["impossible"] > 100 and "times between these two are a guess" in text, text
