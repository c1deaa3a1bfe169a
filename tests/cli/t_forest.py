# SPDX-License-Identifier: Apache-2.0
"""`heldup forest`: what replay kept is shown, walked and put together; bad files are refused."""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from heldup_cli import FAILED, OK, TOP, USAGE, Skip, heldup

sys.path.insert(0, os.path.join(TOP, "tests", "golden"))
sys.path.insert(0, os.path.join(TOP, "tests", "eval"))
import schema_check  # noqa: E402
from requests import made  # noqa: E402

REQUESTS = 300
MS = 1_000_000


class Search:
    """A forest of made requests with one slow operation, self.slow."""

    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="heldup-forest-")
        self.good, self.bad, self.forest, self.other = (
            os.path.join(self.dir.name, n)
            for n in ("good.json", "bad.json", "one.forest", "two.forest"))
        app = made.App(5, ops=40, services=5)
        op = app.leaves()[-1]
        self.slow = op.point
        made.write(made.requests(app, REQUESTS, 1), self.good)
        problem = made.Slow(op, lambda rnd, _: rnd.uniform(0, 60 * MS))
        made.write(made.requests(app, REQUESTS, 2, [problem]), self.bad)
        self.search(self.forest)
        return self

    def search(self, path, *args):
        heldup("replay", self.bad, "--learn", self.good, "--strategy", "hedge", "--forest", path,
               *args).ended(OK)

    def __exit__(self, *_):
        self.dir.cleanup()


def answer(*args):
    return json.loads(heldup("forest", "--json", *args).ended(OK).out)


def words(point):
    return (point["service"] + " " + point["name"]).strip()


def test_forest_tells_what_was_found_and_why():
    with Search() as s:
        doc = answer(s.forest)
        found = [d for d in doc["decisions"] if d["decision"] == "localised"]
        assert words(found[0]["owner"]) == s.slow, found[0]
        tree = doc["trees"][found[0]["tree"]]
        node = tree["nodes"][found[0]["node"]]
        assert node["status"] in ("localised", "explored"), node["status"]
        for n in tree["nodes"][1:]:
            other = tree["nodes"][n["other"]]
            assert other["point"] == n["point"] and other["present"] != n["present"]
            assert n["parent"] < n["node"]
        for group in node["groups"]:
            if group["edges"] and group["times"]["count"] > 20:
                total = sum(e["share_variance"] for e in group["edges"])
                assert abs(total - 1) < 0.01, total
        text = heldup("forest", s.forest).ended(OK).out
        assert s.slow in text and "localised" in text


def test_forest_fits_its_schema():
    schema = json.loads(heldup("forest", "--json-schema").ended(OK).out)
    with Search() as s:
        checker = schema_check.Checker(schema)
        checker.check(schema, answer(s.forest))
        tree = answer(s.forest)["trees"][0]
        slowest = tree["nodes"][0]["groups"][0]["slowest"]
        checker.check(schema, answer(s.forest, "--trace", s.bad + ":" + slowest))


def test_forest_walks_a_request():
    with Search() as s:
        doc = answer(s.forest)
        leaf = next(n for n in doc["trees"][0]["nodes"] if n["status"] == "localised")
        trace = leaf["groups"][0]["slowest"]
        for args in (("--trace", s.bad + ":" + trace), ("--trace", trace, "-i", s.bad)):
            walked = answer(s.forest, *args)
            way = walked["walked"]["nodes"]
            assert way[0] == 0 and leaf["node"] in way, way
            marked = [n["node"] for n in walked["trees"][0]["nodes"] if n["walked"]]
            assert marked == way
            points = walked["walked"]["points"]
            assert points[0]["seen"] == "always" and points[0]["on_path"], points
            on = [p for p in points if p["seen"] == "on"]
            assert on and all(p["because"] and p["round"] for p in on), points
        refused = heldup("forest", s.forest, "--trace", "feed", "-i", s.bad).ended(FAILED)
        assert "no request 'feed'" in refused.err
        heldup("forest", s.forest, "--trace", trace).ended(USAGE)


def test_forest_of_two_searches():
    with Search() as s:
        s.search(s.other, "--seed", "7")
        one, two, both = answer(s.forest), answer(s.other), answer(s.forest, s.other)
        assert both["rounds"] == one["rounds"] + two["rounds"]
        assert len(both["decisions"]) == len(one["decisions"]) + len(two["decisions"])
        assert both["trees"][0]["requests"] == (one["trees"][0]["requests"] +
                                                two["trees"][0]["requests"])
        kept = os.path.join(s.dir.name, "both.forest")
        heldup("forest", s.forest, s.other, "--save", kept).ended(OK)
        again = answer(kept)
        assert again["trees"] == both["trees"] and again["decisions"] == both["decisions"]


def test_forest_page_holds_the_data():
    with Search() as s:
        page = os.path.join(s.dir.name, "page.html")
        heldup("forest", s.forest, "--html", page).ended(OK)
        with open(page, encoding="utf-8") as f:
            text = f.read()
        data = text.split('id="data">', 1)[1].split("</script>", 1)[0]
        assert json.loads(data)["trees"] == answer(s.forest)["trees"]


PROBE = """<script>addEventListener('load', () => setTimeout(() => {
	const all = s => [...document.querySelectorAll(s)], shown = () => all('[role=treeitem]').filter(i => i.offsetParent);
	const key = k => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true}));
	const saw = {drawn: document.documentElement.dataset.drawn, nodes: shown().length, bars: all('.side .bar1').length,
		wide: document.documentElement.scrollWidth > innerWidth};
	all('[role=treeitem]')[0].querySelector('.hyp').click();
	key('ArrowLeft');
	saw.closed = shown().length;
	key('ArrowRight');
	key('ArrowDown');
	saw.chosen = document.documentElement.dataset.node;
	const find = document.querySelector('input[type=search]');
	find.value = 'nothing is called so';
	find.dispatchEvent(new Event('input'));
	saw.found = shown().length;
	const pre = document.createElement('pre');
	pre.id = 'saw';
	pre.textContent = JSON.stringify(saw);
	document.body.append(pre);
}, 100));</script></body>"""


def test_forest_page_can_be_walked():
    """In a browser, where there is one, on a narrow screen."""
    chromium = shutil.which("chromium")
    if not chromium:
        raise Skip("no chromium")
    with Search() as s:
        page = os.path.join(s.dir.name, "page.html")
        heldup("forest", s.forest, "--html", page).ended(OK)
        nodes = len(answer(s.forest)["trees"][0]["nodes"])
        with open(page, encoding="utf-8") as f:
            text = f.read().replace("</body>", PROBE)
        with open(page, "w", encoding="utf-8") as f:
            f.write(text)
        p = subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--user-data-dir=" + os.path.join(s.dir.name, "profile"), "--enable-logging=stderr",
             "--window-size=420,900", "--virtual-time-budget=3000", "--dump-dom",
             "file://" + page], capture_output=True, text=True, errors="replace", timeout=60)
        errors = [line for line in p.stderr.splitlines() if "CONSOLE" in line]
        assert not errors, errors[0][:200]
        found = re.search(r'<pre id="saw">(.*?)</pre>', p.stdout, re.S)
        assert found, "the page was not drawn to its end"
        saw = json.loads(html.unescape(found.group(1)))
        assert saw["drawn"] == "1" and saw["nodes"] == nodes, saw
        assert saw["closed"] == 1 and saw["chosen"] == "0.1" and saw["found"] == 0, saw
        assert saw["bars"] > 0 and not saw["wide"], saw


def test_forest_same_search_same_bytes():
    with Search() as s:
        s.search(s.other)
        with open(s.forest, "rb") as a, open(s.other, "rb") as b:
            assert a.read() == b.read()


def test_forest_bad_files_are_refused():
    with Search() as s:
        with open(s.forest, "rb") as f:
            whole = f.read()
        cut = os.path.join(s.dir.name, "cut.forest")
        with open(cut, "wb") as f:
            f.write(whole[:len(whole) // 2])
        assert "cut short or damaged" in heldup("forest", cut).ended(FAILED).err
        assert "is a trace of requests: heldup requests " in heldup("forest", s.bad).ended(FAILED).err
        heldup("forest").ended(USAGE)
        heldup("forest", s.forest, "--json", "--html", "-").ended(USAGE).says("only one").one_line()
        heldup("forest", s.forest, "--save", "-", "--html", "-").ended(USAGE).says("only one")
        heldup("forest", s.forest, "--type", "nothing is called so").ended(FAILED)
        for name in ("^front GET /page$", "^front: GET /page$"): # as here, and as heldup requests
            heldup("forest", s.forest, "--type", name).ended(OK).prints("front GET /page: ")
        # neither another file nor the old forest is lost
        refused = heldup("replay", s.bad, "--strategy", "hedge", "--forest", s.good).ended(FAILED)
        assert "is not a forest" in refused.err
        with open(s.good, "rb") as f:
            assert f.read(1) == b"{"
        assert not [n for n in os.listdir(s.dir.name) if "partial" in n]


def located(doc):
    return [(e["owner"], e["round"]) for s in doc["strategies"] for e in s["located"]]


def test_replay_keeps_what_it_learnt():
    with Search() as s:
        space = os.path.join(s.dir.name, "one.space")
        args = ("replay", "--json", "--strategy", "hedge", s.bad)
        first = json.loads(heldup(*args, "--learn", s.good, "--space", space).ended(OK).out)
        with open(space, "rb") as f:
            kept = f.read()
        again = json.loads(heldup(*args, "--space", space).ended(OK).out)
        assert located(again) == located(first) and located(first)
        assert again["learnt_requests"] == first["learnt_requests"] == REQUESTS
        with open(space, "rb") as f:
            assert f.read() == kept, "used, and nothing was learnt"
        more = json.loads(heldup(*args, "--learn", s.good, "--space", space).ended(OK).out)
        assert more["learnt_requests"] == 2 * REQUESTS
        with open(space, "wb") as f:
            f.write(kept[:-9])
        assert "cut short or damaged" in heldup(*args, "--space", space).ended(FAILED).err
        assert "is a forest of hypotheses: heldup forest " in heldup(*args, "--space", s.forest).ended(FAILED).err


def test_replay_uses_an_earlier_search():
    with Search() as s:
        args = ("replay", "--json", "--strategy", "hedge", s.bad, "--learn", s.good)
        first = json.loads(heldup(*args).ended(OK).out)
        again = json.loads(heldup(*args, "--earlier", s.forest).ended(OK).out)
        assert located(again)[0][0] == located(first)[0][0] == s.slow
        assert again["strategies"][0]["enabled"] <= first["strategies"][0]["enabled"]
        heldup(*args, "--earlier", s.good).ended(FAILED)
