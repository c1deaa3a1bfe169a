// SPDX-License-Identifier: Apache-2.0
// The host page: asks the API each five seconds and draws what it says.
"use strict";
(() => {
	const EVERY_MS = 5000, SERIES_EVERY_MS = 60000, SVG = "http://www.w3.org/2000/svg";
	const series = new Map(); // name of a service or id of a request type to {at, minutes}
	const by = id => document.getElementById(id);

	function el(tag, text, cls) {
		const e = document.createElement(tag);
		if (text !== undefined)
			e.textContent = text;
		if (cls)
			e.className = cls;
		return e;
	}

	function time(ns) {
		if (!ns)
			return "–";
		for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
			if (ns >= size)
				return `${Number((ns / size).toPrecision(3))} ${unit}`;
		return `${ns} ns`;
	}

	function lasted(ns) {
		const s = Math.max(0, Math.round(ns / 1e9));
		if (s < 120)
			return `${s} s`;
		return s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
	}

	function clock(ns) {
		const d = new Date(ns / 1e6), today = new Date();
		const day = d.toDateString() === today.toDateString() ? "" : d.toLocaleDateString() + " ";
		return day + d.toLocaleTimeString();
	}

	// p99 by the minute, on a scale of powers; findings shaded.
	function chart(minutes, findings) {
		const svg = document.createElementNS(SVG, "svg");
		const with_p99 = minutes.filter(m => m.p99_ns > 0);
		svg.setAttribute("class", "chart");
		svg.setAttribute("viewBox", "0 0 1000 100");
		svg.setAttribute("preserveAspectRatio", "none");
		svg.setAttribute("role", "img");
		if (with_p99.length < 2)
			return null;
		const from = with_p99[0].minute_ns, to = with_p99[with_p99.length - 1].minute_ns + 60e9;
		const logs = with_p99.map(m => Math.log(m.p99_ns));
		const low = Math.min(...logs), high = Math.max(...logs, low + 1);
		const x = ns => 1000 * Math.min(1, Math.max(0, (ns - from) / (to - from)));
		const most = Math.max(...with_p99.map(m => m.p99_ns));
		svg.setAttribute("aria-label", `p99 since ${clock(from)}, at most ${time(most)}`);
		for (const f of findings) {
			const r = document.createElementNS(SVG, "rect");
			const end = f.end_ns || to;
			if (end < from || f.begin_ns > to)
				continue;
			r.setAttribute("x", x(f.begin_ns));
			r.setAttribute("width", Math.max(4, x(end) - x(f.begin_ns)));
			r.setAttribute("y", 0);
			r.setAttribute("height", 100);
			svg.append(r);
		}
		const path = document.createElementNS(SVG, "path");
		path.setAttribute("d", with_p99.map((m, i) =>
			`${i ? "L" : "M"}${x(m.minute_ns).toFixed(1)} ${(95 - 90 * (logs[i] - low) / (high - low)).toFixed(1)}`).join(""));
		svg.append(path);
		return svg;
	}

	function numbers(pairs) {
		const dl = el("dl", undefined, "numbers");
		for (const [name, value] of pairs) {
			const div = el("div");
			div.append(el("dt", name), el("dd", value));
			dl.append(div);
		}
		return dl;
	}

	function service(s, all) {
		const li = el("li"), row = el("div", undefined, "row");
		const mine = all.filter(f => f.service === s.name);
		const open = mine.find(f => f.id === s.finding);
		const bad = s.state !== "sound";
		li.className = bad ? "bad" : "";
		row.append(el("h3", s.name), el("span", s.state, `state ${bad ? "bad" : "good"}`));
		li.append(row);
		if (open) {
			const a = el("a", open.verdict.title || open.reason), p = el("p");
			a.href = `/findings/${open.id}`;
			p.append(a, ` since ${clock(open.begin_ns)}`);
			li.append(p);
		}
		li.append(numbers([["answers/s", s.answers], ["p50", time(s.p50_ns)], ["p99", time(s.p99_ns)], ["open", s.open]]));
		const c = chart(series.get(s.name)?.minutes || [], mine);
		if (c)
			li.append(c);
		li.append(el("p", s.what, "what"));
		return li;
	}

	function percent(part) {
		return `${Number((100 * part).toPrecision(2))} %`;
	}

	// One request type over the window that was chosen; null: it had no requests in it.
	function request(r, seconds, all) {
		const w = r.windows.find(v => v.window_ns === seconds * 1e9);
		if (!w || !w.requests)
			return null;
		const li = el("li"), row = el("div", undefined, "row");
		const rate = w.covered_ns ? w.requests / (w.covered_ns / 1e9) : 0;
		row.append(el("h3", r.name), el("span", r.service, "dim"));
		li.append(row, numbers([["requests/s", Number(rate.toPrecision(3))],
			["failed", percent(w.failed / w.requests)], ["p50", time(w.p50_ns)], ["p99", time(w.p99_ns)]]));
		const c = chart(series.get(r.id)?.minutes || [], all.filter(f => f.service === r.service && f.rule === "shifted"));
		if (c)
			li.append(c);
		for (const [what, e] of [["of the time", w.time], ["of the variance", w.variance]])
			if (e)
				li.append(el("p", `${percent(e.share)} ${what} ${e.edge}, ${time(e.mean_ns)} a request`, "what"));
		return li;
	}

	function requests(st, log) {
		const seconds = Number(by("window").value);
		by("requests-section").hidden = !st.requests.length;
		by("requests").replaceChildren(...st.requests.map(r => request(r, seconds, log.findings)).filter(Boolean));
	}

	function finding(f, now) {
		const li = el("li"), row = el("div", undefined, "row"), h = el("h3");
		const a = el("a", `${f.id} · ${f.service}${f.verdict.title ? ": " + f.verdict.title : ""}`);
		li.className = f.end_ns ? "" : "bad";
		li.id = `finding-${f.id}`;
		a.href = `/findings/${f.id}`;
		h.append(f.capture_bytes ? a : a.textContent);
		row.append(h, el("span", `${clock(f.begin_ns)}, ${f.end_ns ? "for" : "since"} ${lasted((f.end_ns || now) - f.begin_ns)}${f.again ? `, came back ${f.again} time${f.again === 1 ? "" : "s"}` : ""}`, "dim"));
		li.append(row, el("p", f.verdict.summary || f.note || "not judged yet"),
			  el("p", f.reason + (f.verdict.confidence ? ` · confidence ${f.verdict.confidence}` : ""), "dim"));
		return li;
	}

	function cost(self) {
		const ran = self.now_ns - self.since_ns;
		const cpu = self.watch_cpu_ns + self.bpf_cpu_ns + self.keep_cpu_ns + self.judge_cpu_ns;
		const lost = Object.entries(self).filter(([k, v]) => v && /^(lost|left_out|refused)_/.test(k));
		if (!(ran > 0))
			return "";
		return `heldup costs ${(100 * cpu / ran).toFixed(2)} % of a CPU and ${Math.round(self.memory_bytes / 1048576)} MiB` +
			lost.map(([k, v]) => `; ${k.replaceAll("_", " ")}: ${v}`).join("");
	}

	async function get(url) {
		const r = await fetch(url);
		if (!r.ok)
			throw new Error(`${url}: ${r.status}`);
		return r.json();
	}

	async function get_series(st) {
		const wanted = [...st.services.map(s => ["service", s.name]), ...st.requests.map(r => ["request", r.id])];
		for (const [kind, id] of wanted) {
			const had = series.get(id);
			if (had && Date.now() - had.at < SERIES_EVERY_MS)
				continue;
			const got = await get(`/api/series?${kind}=${encodeURIComponent(id)}`);
			series.set(id, {at: Date.now(), minutes: got.minutes});
		}
	}

	function draw(st, log) {
		const bad = st.services.filter(s => s.state === "held up").length;
		const want = by("filter").value;
		const shown = log.findings.filter(f => f.service.includes(want));
		const now = st.self.now_ns || Date.now() * 1e6;
		const all = `${st.services.length} service${st.services.length === 1 ? "" : "s"}`;
		const slower = [...new Set(log.findings.filter(f => !f.end_ns && f.rule === "shifted").map(f => f.service))];
		by("now").textContent = (bad ? `${bad} of ${all} held up` : `${all}, none held up`) +
			(slower.length ? `; requests became slower: ${slower.join(", ")}` : "");
		by("services").replaceChildren(...st.services.map(s => service(s, log.findings)));
		requests(st, log);
		by("findings").replaceChildren(...shown.map(f => finding(f, now)));
		by("none").hidden = shown.length > 0;
		by("cost").textContent = cost(st.self);
		document.title = bad + slower.length ? `(${bad + slower.length}) heldup` : "heldup";
	}

	let last;
	async function turn() {
		try {
			const st = await get("/api/services"), log = await get("/api/findings");
			await get_series(st);
			last = [st, log];
			// what has the focus is not drawn anew under the person's hands
			if (!document.activeElement || !document.activeElement.closest("main li"))
				draw(st, log);
		} catch (e) {
			by("now").textContent = `heldup serve does not answer (${e.message})`;
		}
		setTimeout(turn, EVERY_MS);
	}

	const asked = new URLSearchParams(location.search).get("service");
	by("filter").value = asked || "";
	by("filter").addEventListener("input", () => {
		const v = by("filter").value;
		history.replaceState(null, "", v ? `?service=${encodeURIComponent(v)}` : location.pathname);
		if (last)
			draw(...last);
	});
	by("window").addEventListener("change", () => {
		if (last)
			draw(...last);
	});
	turn();
})();
