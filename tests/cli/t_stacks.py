# SPDX-License-Identifier: Apache-2.0
"""`heldup stacks` from a made capture: the table, JSON, and each format that others read."""
import gzip
import html
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from heldup_cli import FAILED, OK, TOP, USAGE, Skip, heldup
from make_capture import EPOLL, FUTEX, NOTE_LIMIT, RES_EPOLL, Capture, lock_scene

sys.path.insert(0, os.path.join(TOP, "tests", "golden"))
import schema_check  # noqa: E402

MODES = ["on-cpu", "off-cpu", "waker"]


class Scene:
    """The made capture in a directory of its own."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="heldup-stacks-")
        lock_scene().write(self.path("a.cap"))
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def export(self, what, *more):
        out = self.path("out")
        heldup("stacks", "-i", self.path("a.cap"), "--" + what, out, *more).ended(OK)
        with open(out, "rb") as f:
            return f.read()

    def json(self, *more):
        done = heldup("stacks", "-i", self.path("a.cap"), "--json", *more).ended(OK)
        return json.loads(done.out)


def names(data, frames):
    return [data["functions"][i]["name"] for i in frames]


def mode_of(data, name):
    return next(m for m in data["modes"] if m["mode"] == name)


def test_stacks_table_names_functions():
    with Scene() as s:
        out = heldup("stacks", "-i", s.path("a.cap"), env={"COLUMNS": "120"}).ended(OK).out
        assert len(out.splitlines()) <= 40, out
        assert max(map(len, out.splitlines())) <= 120
        for pattern in (r"67 %\s+67 %  hash_row  srv", r"33 %\s+33 %  copy_row",
                        r"waits for futex big lock\n +in take_page ← serve<std::map<int, int> > ← main",
                        r"ended by cleaner in release_page ← flush ← cleaner_main"):
            assert re.search(pattern, out), "no /%s/ in\n%s" % (pattern, out)


def test_stacks_table_says_what_bounds_and_rights_kept_back():
    with Scene() as s:
        c = lock_scene()
        c.note(NOTE_LIMIT, "no right to see the code of processes")
        c.write(s.path("a.cap"))
        out = heldup("stacks", "-i", s.path("a.cap")).ended(OK).out
        assert "no right to see the code of processes" in out, out


def test_stacks_json_fits_its_schema():
    with Scene() as s:
        with open(os.path.join(TOP, "docs", "stacks.schema.json"), encoding="utf-8") as f:
            schema = json.load(f)
        for more in ([], ["--mode", "off", "--idle"], ["--diff", s.path("a.cap")]):
            data = s.json(*more)
            checker = schema_check.Checker(schema)
            checker.check(schema, data)
            assert not checker.errors, checker.errors[:3]
        assert json.loads(heldup("stacks", "--json-schema").ended(OK).out) == schema


def test_stacks_json_says_where_the_time_went():
    with Scene() as s:
        data = s.json()
        off, on, waker = (mode_of(data, m) for m in ("off-cpu", "on-cpu", "waker"))
        first = off["stacks"][0]
        assert names(data, first["frames"]) == ["main", "serve<std::map<int, int> >", "take_page",
                                                "pthread_mutex_lock", "futex_wait"]
        assert (first["ns"], first["count"]) == (600000000, 2), first
        assert first["resource"] == "big lock" and first["thread"]["thread"] == "worker"
        assert sum(r["count"] for r in on["stacks"]) == 30
        run = sum(r["ns"] for r in on["stacks"])
        assert abs(run - on["total_ns"]) < 10, (run, on["total_ns"])
        assert names(data, waker["stacks"][0]["waker_frames"])[2] == "release_page"
        assert waker["stacks"][0]["waker"]["thread"] == "cleaner"


def test_stacks_folded_has_all_the_time():
    with Scene() as s:
        lines = s.export("folded").decode().splitlines()
        data = s.json()
        for mode in MODES:
            mine = [line for line in lines if line.startswith(mode + ";")]
            want = sum(r["ns"] for r in mode_of(data, mode)["stacks"])
            assert sum(int(line.rsplit(" ", 1)[1]) for line in mine) == want, mode
        one = s.export("folded", "--mode", "off").decode()
        assert re.search(r"^srv;worker;main;serve<std::map<int, int> >;take_page;pthread_mutex_lock;"
                         r"futex_wait_\[k\];futex big lock 600000000$", one, re.M), one


def test_stacks_folded_to_standard_output():
    with Scene() as s:
        out = heldup("stacks", "-i", s.path("a.cap"), "--folded", "-").ended(OK).out
        assert out == s.export("folded").decode(), out[:200]
        assert not os.path.exists("-")


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(field number, value) of each field of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            assert at + size <= len(data), "a field longer than its message"
            value, at = data[at:at + size], at + size
        else:
            raise AssertionError("wire type %d" % (key & 7))
        yield key >> 3, value


def packed(data):
    out, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


class Profile:
    def __init__(self, blob):
        self.by = {}
        for number, value in fields(gzip.decompress(blob)):
            self.by.setdefault(number, []).append(value)
        self.strs = [v.decode() for v in self.by[6]]
        assert self.strs[0] == ""
        self.functions = {f[1]: self.strs[f[2]] for f in (dict(fields(v)) for v in self.by[5])}
        self.mappings = {m[1]: m for m in (dict(fields(v)) for v in self.by[3])}
        self.locations = {}
        for v in self.by[4]:
            one = list(fields(v))
            lines = [self.functions[dict(fields(x))[1]] for n, x in one if n == 4]
            self.locations[dict(one)[1]] = (lines, dict(one).get(2), dict(one).get(3))

    def types(self):
        return [self.strs[dict(fields(v))[1]] for v in self.by[1]]

    def samples(self):
        for v in self.by[2]:
            one = list(fields(v))
            labels = {}
            for n, x in one:
                if n == 3:
                    label = dict(fields(x))
                    labels[self.strs[label[1]]] = self.strs[label[2]] if 2 in label else label.get(3, 0)
            yield packed(dict(one)[1]), packed(dict(one)[2]), labels


def test_stacks_pprof_has_labels_and_build_ids():
    with Scene() as s:
        blob = s.export("pprof")
        data = s.json()
        p = Profile(blob)
        assert p.types() == ["samples", "cpu", "waits", "delay"]
        sums = [0] * 4
        for locations, values, labels in p.samples():
            sums = [a + b for a, b in zip(sums, values)]
            assert all(at in p.locations for at in locations)
            if labels.get("resource") == "big lock" and values[3] > 5 * 10 ** 8:
                assert labels["thread"] == "worker" and labels["tid"] == 11, labels
                got = [p.locations[at][0][0] for at in locations]
                assert got == ["pthread_mutex_lock", "take_page", "serve<std::map<int, int> >",
                               "main"], got
                mapping = p.mappings[p.locations[locations[1]][1]]
                assert p.strs[mapping[5]] == "/usr/bin/srv"
                assert p.strs[mapping[6]] == "01" * 20 or len(p.strs[mapping[6]]) == 40
        assert sums[0] == 30 and sums[1] == sum(r["ns"] for r in mode_of(data, "on-cpu")["stacks"])
        assert sums[3] == sum(r["ns"] for r in mode_of(data, "off-cpu")["stacks"])
        joined = Profile(s.export("pprof", "--mode", "waker"))
        got = [[joined.locations[at][0][0] for at in loc] for loc, _, _ in joined.samples()]
        assert any(g[0] == "cleaner_main" and g[-1] == "main" and "-- woken by --" in g for g in got), got
        go = shutil.which("go")
        if go:
            done = subprocess.run([go, "tool", "pprof", "-top", "-sample_index=delay", s.path("out")],
                                  capture_output=True, text=True, timeout=30,
                                  env=dict(os.environ, HOME=s.folder.name))
            assert done.returncode == 0 and "cleaner_main" in done.stdout, done.stderr[:300]


def test_stacks_pprof_has_the_kernel_below_a_wait_only_when_asked():
    with Scene() as s:
        def innermost(*more):
            p = Profile(s.export("pprof", *more))
            return {p.locations[loc[0]][0][0] for loc, values, _ in p.samples() if values[3]}
        assert not innermost() & {"futex_wait", "ep_poll"}, innermost()
        assert "pthread_mutex_lock" in innermost()
        assert "futex_wait" in innermost("--kernel"), innermost("--kernel")


def test_stacks_speedscope_fits_its_format():
    with Scene() as s:
        d = json.loads(s.export("speedscope"))
        assert d["$schema"] == "https://www.speedscope.app/file-format-schema.json"
        frames = d["shared"]["frames"]
        assert all(f["name"] for f in frames)
        assert len(d["profiles"]) == 3
        for p in d["profiles"]:
            assert p["type"] == "sampled" and p["unit"] == "nanoseconds"
            assert len(p["samples"]) == len(p["weights"]) > 0
            assert p["endValue"] - p["startValue"] == sum(p["weights"])
            assert all(0 <= at < len(frames) for one in p["samples"] for at in one)


def test_stacks_chrome_spans_do_not_overlap():
    with Scene() as s:
        events = json.loads(s.export("chrome"))["traceEvents"]
        spans = {}
        for e in events:
            if e["ph"] == "X":
                assert e["dur"] >= 0
                spans.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"], e["name"]))
        assert {n for _, _, n in spans[11]} >= {"big lock", "runs", "waits for a CPU"}
        for lane in spans.values():
            lane.sort()
            assert all(a[1] <= b[0] + 0.002 for a, b in zip(lane, lane[1:])), lane
        starts = [e for e in events if e["ph"] == "s"]
        ends = [e for e in events if e["ph"] == "f"]
        assert len(starts) == len(ends) == 2 and starts[0]["tid"] == 12 and ends[0]["tid"] == 11
        assert sum(e["ph"] == "i" for e in events) == 30


def test_stacks_chrome_is_bounded():
    with Scene() as s:
        c = lock_scene()
        for i in range(24000):
            at = i * 990 / 24000
            c.wait(12, FUTEX, 7, at, at + 0.01, at + 0.02, 11, "futex_wait@k;wait_long_name;main",
                   "futex_wake@k;wake_long_name;main")
        c.write(s.path("a.cap"))
        trace = s.export("chrome")
        assert len(trace) <= 8 << 20, len(trace)
        assert len(json.loads(trace)["traceEvents"]) > 20000


def test_stacks_diff_says_what_changed():
    with Scene() as s:
        lock_scene(hash_ms=40).write(s.path("b.cap"))
        done = heldup("stacks", "--diff", s.path("a.cap"), s.path("b.cap")).ended(OK)
        assert re.search(r"ON CPU.*\n.*function.*\n \+.*hash_row", done.out), done.out
        data = json.loads(heldup("stacks", "--diff", s.path("a.cap"), "-i", s.path("b.cap"), "--json",
                                 "--mode", "on").ended(OK).out)
        row = next(r for r in data["modes"][0]["diff"] if r["name"] == "hash_row")
        assert row["self_ns"] > row["base_self_ns"] > 0, row
        heldup("stacks", "--diff", s.path("a.cap"), s.path("b.cap"), "--html", s.path("d.html")).ended(OK)


def test_stacks_refuses_what_makes_no_sense():
    with Scene() as s:
        a = s.path("a.cap")
        for argv in ([], ["-i", a, "-p", "1"], [a], ["--diff", a, a, "-i", a], ["-i", a, "-o", "x"],
                     ["-p", "1", "-o", "-"], ["-i", a, "--mode", "sideways"]):
            heldup("stacks", *argv).ended(USAGE).one_line()
        heldup("stacks", "-i", s.path("missing")).ended(FAILED).one_line()
        heldup("stacks", "-i", a, "--folded", s.path("no/such/dir")).ended(FAILED).one_line()


def test_stacks_refuses_a_capture_without_an_interval():
    with Scene() as s:
        with open(s.path("a.cap"), "rb") as whole, open(s.path("cut.cap"), "wb") as cut:
            cut.write(whole.read(64))
        for command in ("stacks", "why"):
            heldup(command, "-i", s.path("cut.cap")).ended(FAILED).one_line() \
                .says("ends before its first interval")


def page_data(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))


def draw(s, path):
    """What a page's probe saw; no script error."""
    chromium = shutil.which("chromium")
    if not chromium:
        raise Skip("no chromium")
    p = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--user-data-dir=" + s.path("profile"), "--enable-logging=stderr",
         "--window-size=900,900", "--virtual-time-budget=3000", "--dump-dom", "file://" + path],
        capture_output=True, text=True, errors="replace", timeout=28)
    errors = [line for line in p.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors[0][:200]
    found = re.search(r'<pre id="saw">(.*?)</pre>', p.stdout, re.S)
    assert found, "the page was not drawn to its end"
    return json.loads(html.unescape(found.group(1)))


def test_stacks_page_has_waits_for_work_apart():
    with Scene() as s:
        plain = page_data(s.export("html").decode())["flame"]
        all_too = page_data(s.export("html", "--idle").decode())["flame"]
        for mode in ("off-cpu", "waker"):
            with_idle, one = ({m["mode"]: m for m in f["modes"]}[mode] for f in (plain, all_too))
            assert "idle" not in one
            top = [i for i, d in enumerate(with_idle["depth"]) if d == 0]
            idle = with_idle.get("idle", [0] * len(with_idle["ns"]))
            assert sum(with_idle["ns"][i] + idle[i] for i in top) == \
                sum(n for n, d in zip(one["ns"], one["depth"]) if d == 0), mode
        off = {m["mode"]: m for m in plain["modes"]}["off-cpu"]
        assert sum(off["idle"]) > 0 and off["idle_ns"] > 0, off
        assert "loop" in [plain["fns"][f][0] for f, n in zip(off["fn"], off["idle"]) if n]


OPENED = """<script>
setTimeout(() => {
	const canvas = document.querySelector('.flame-view canvas'), box = document.querySelector('input.sleepers');
	const pre = document.createElement('pre');
	pre.id = 'saw';
	pre.textContent = JSON.stringify({
		painted: canvas.getContext('2d').getImageData(30, 9, 1, 1).data[3],
		mode: document.querySelector('button.mode[aria-pressed=true]').textContent,
		sleepers: !!box && box.checked,
	});
	document.body.append(pre);
}, 200);
</script></body>"""


def test_stacks_page_never_opens_on_an_empty_view():
    with Scene() as s:
        c = Capture()
        c.thread(10, 10, "srv")
        c.res(8, RES_EPOLL, "epoll of srv")
        for at in range(0, 1000, 10):  # it runs, but no sample hit it; it waits for work alone
            c.wait(10, EPOLL, 8, at + 0.1, at + 10, at + 10, 0,
                   "ep_poll@k;epoll_wait@/usr/lib/libc.so.6;loop;main")
        c.write(s.path("a.cap"))
        page = s.export("html").decode().replace("</body>", OPENED)
        with open(s.path("idle.html"), "w", encoding="utf-8") as f:
            f.write(page)
        saw = draw(s, s.path("idle.html"))
        assert saw["painted"] == 255 and saw["mode"] == "Off the CPU", saw


PROBE = """<script>
setTimeout(() => {
	const saw = {}, view = document.querySelector('.flame-view'), canvas = view.querySelector('canvas');
	const box = canvas.getBoundingClientRect(), bar = document.querySelector('.flame-bar');
	const mouse = (what, x, y) => canvas.dispatchEvent(new MouseEvent(what,
		{ clientX: box.left + x, clientY: box.top + y, bubbles: true }));
	const pixel = (x, y) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data];
	bar.querySelectorAll('button.mode')[0].click();
	saw.modes = bar.querySelectorAll('button.mode').length;
	saw.painted = pixel(30, 9)[3];
	const input = bar.querySelector('input[type=search]');
	input.value = '^fn_77$';
	input.dispatchEvent(new Event('input'));
	saw.found = bar.querySelector('span').textContent;
	mouse('mousemove', 20, 45);
	saw.tip = document.querySelector('.flame-tip').textContent;
	const rows = () => document.querySelectorAll('.flame-crumbs button').length;
	saw.crumbs = rows();
	mouse('click', 20, 45);
	saw.crumbs_zoomed = rows();
	bar.querySelector('input[type=checkbox]').click();
	bar.querySelectorAll('button.mode')[1].click();
	saw.table = document.querySelector('tbody').textContent;
	saw.wider = document.documentElement.scrollWidth > innerWidth;
	const pre = document.createElement('pre');
	pre.id = 'saw';
	pre.textContent = JSON.stringify(saw);
	document.body.append(pre);
}, 200);
</script></body>"""


def big_tree(flame, want):
    """Turns the page's first tree into one of so many nodes."""
    random.seed(4)
    first = len(flame["fns"])
    flame["fns"] += [["fn_%d" % i, "module%d" % (i % 40), random.choice([0, 0, 1, 2])]
                     for i in range(20000)]
    kids, weight = [[]], [10 ** 12]
    queue = 0
    while len(weight) < want:
        parts = [random.random() for _ in range(random.choice([1, 1, 2, 3, 6]))]
        for part in parts:
            kids[queue].append(len(weight))
            weight.append(int(weight[queue] * part / sum(parts) * 0.99))
            kids.append([])
        queue += 1
    tree, todo = {"depth": [], "fn": [], "st": [], "ns": []}, [(0, 0)]
    while todo:
        at, depth = todo.pop()
        tree["depth"].append(depth)
        tree["fn"].append(first + at % 20000)
        tree["st"].append(at % 20)
        tree["ns"].append(weight[at])
        todo += [(kid, depth + 1) for kid in kids[at]]
    flame["modes"][0].update(tree, total_ns=10 ** 12, covered_ns=10 ** 12)


def test_stacks_page_works_with_100000_frames():
    with Scene() as s:
        page = s.export("html").decode()
        m = re.search(r'(id="data">)(.*?)(</script>)', page, re.S)
        data = json.loads(m.group(2))
        big_tree(data["flame"], 100000)
        page = page[:m.start(2)] + json.dumps(data).replace("<", "\\u003c") + page[m.end(2):]
        with open(s.path("big.html"), "w", encoding="utf-8") as f:
            f.write(page.replace("</body>", PROBE))
        saw = draw(s, s.path("big.html"))
        assert saw["modes"] == 3 and saw["painted"] == 255, saw
        assert re.search(r"% of the time, [1-9]", saw["found"]), saw["found"]
        assert re.search(r"^fn_\d+ .*\n.*of all", saw["tip"]), saw["tip"]
        assert saw["crumbs_zoomed"] == saw["crumbs"] + 3, saw
        assert "take_page" in saw["table"] and not saw["wider"], saw
