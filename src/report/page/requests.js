/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `heldup requests`: the worst first, then a section for each
 * request type with its groups, edges, keys and waterfalls.  Everything from
 * the data goes through text nodes: names in it come from traced programs.
 */
(function () {
'use strict';

const D = unpack(JSON.parse(document.getElementById('data').textContent));
const page = document.getElementById('page');
const { clean, three, ns, add, el, shape, showTip, hideTip } = parts;
const ROWS_AT_ONCE = 60, GROUPS_AT_ONCE = 12, EDGES_AT_ONCE = 8;

/* ---- the data: see requests_page.c ---- */

function unpack(d) {
	const text = i => d.strings[i], kinds = ['begin', 'end', 'point'];
	const point = i => i < 0 ? null : { service: text(d.points[i][0]), name: text(d.points[i][1]) };
	const words = i => i < 0 ? null : (text(d.points[i][0]) + ' ' + text(d.points[i][1])).trim();
	const latency = ([requests, p50_ns, p95_ns, p99_ns, cv]) => ({ requests, p50_ns, p95_ns, p99_ns, cv });
	const end = (i, kind) => i < 0 ? null : { ...point(i), kind: kinds[kind] };
	const edge = ([index, from, from_kind, to, to_kind, occurrence, present, mean_ns, p50_ns, p95_ns, p99_ns, max_ns, time_share,
		variance_share, variance_share_low, variance_share_high, trimmed_share, tail_share, excess_ns]) => ({ index,
		from: end(from, from_kind), to: end(to, to_kind), occurrence, present, latency: { mean_ns, p50_ns, p95_ns, p99_ns, max_ns },
		time_share, variance_share, variance_share_low, variance_share_high, trimmed_share, tail_share, excess_ns });
	const row = (rows, unit, [service, name, parent, error, begin, end_, path_ns, ...path]) => {
		const parts = [];
		for (let i = 0; i < path.length; i += 2) parts.push([path[i] * unit, path[i + 1] * unit]);
		rows.push({ service: text(service), name: text(name), parent: parent < 0 ? null : parent,
			depth: parent < 0 ? 0 : rows[parent].depth + 1, error: !!error, begin_ns: begin * unit, end_ns: end_ * unit, path_ns,
			path: parts });
	};
	const waterfall = (total_ns, [unit, rows_are, omitted, packed]) => {
		const rows = [];
		packed.forEach(r => row(rows, unit, r));
		return { total_ns, rows_are, omitted, rows };
	};
	const copy = ([i, percentile]) => ({ trace: d.traces[i][0], total_ns: d.traces[i][1], percentile,
		drawn: d.traces[i][2] !== null, waterfall: () => waterfall(d.traces[i][1], d.traces[i][2]) });
	const key = ([name, p, said, e, aliases, list]) => ({ key: text(name), tracepoint: words(p), words: text(said), edge: e, aliases,
		values: list.map(([low, high, requests, mean_ns]) => ({ low, high, requests, mean_ns })) });
	const group = g => Object.assign(g, { latency: latency(g.latency), edges: g.edges.map(edge), key_edges: g.key_edges.map(edge),
		owners: g.owners.map(([p, edges, mean_ns, time_share, variance_share, variance_share_low, variance_share_high]) => ({
			tracepoint: words(p), edges, mean_ns, time_share, variance_share, variance_share_low, variance_share_high })),
		bins: g.bins.map(text), rules: g.rules.map(([p, times, holds]) => ({ tracepoint: words(p), times, holds })),
		keys: g.keys.map(key),
		slow: copy(g.slow), typical: copy(g.typical), fast: copy(g.fast) });
	d.types.forEach(t => { t.latency = latency(t.latency); t.keys = t.keys.map(key); t.groups.forEach(group); });
	return d;
}

/* ---- words and numbers ---- */

function count(v) {
	let i = 0;
	if (v < 1000) return String(v);
	for (; v >= 999.5 && i < 4; i++) v /= 1000;
	return three(v) + ['', ' k', ' M', ' G', ' T'][i];
}
const percent = v => (Math.abs(v) < 0.0995 && v ? (v * 100).toFixed(1) : (v * 100).toFixed(0))
	.replace('-', '−') + ' %';
const plural = (n, word) => count(n) + ' ' + word + (n === 1 ? '' : 's');

/* ---- elements ---- */

function button(text, act, pressed) {
	const b = el('button', '', text);
	b.type = 'button';
	if (pressed !== undefined) b.setAttribute('aria-pressed', String(pressed));
	b.addEventListener('click', act);
	return b;
}
function tips(node, text) {
	node.addEventListener('mousemove', ev => showTip(ev, clean(text())));
	node.addEventListener('mouseleave', hideTip);
	return node;
}
/* The first rows of many, and a button for the others. */
function some(box, rows, at_once, what) {
	box.append(...rows.slice(0, at_once));
	if (rows.length > at_once) {
		const more = button((rows.length - at_once) + ' more ' + what, () => more.replaceWith(...rows.slice(at_once)));
		more.className = 'more';
		box.append(more);
	}
	return box;
}
function table(heads, rows) {
	const isNum = i => heads[i][1] === 'num';
	return el('div', 'scroll', el('table', '',
		el('thead', '', el('tr', '', heads.map((h, i) => el('th', isNum(i) ? 'num' : '', h[0])))),
		el('tbody', '', rows.map(r => el('tr', '', r.map((c, i) =>
			el('td', isNum(i) ? 'num' : heads[i][1] || '', c)))))));
}

/* ---- waterfall ---- */

const X = 1000;	/* units of a bar's width */

function ticks(total) {
	const step = [1, 2, 5, 10].map(f => f * 10 ** Math.floor(Math.log10(total / 4))).find(s => total / s <= 7);
	const box = el('div', 'ticks');
	for (let t = 0; t <= total && step > 0; t += step) {
		const b = el('b', '', ns(Math.round(t)));
		b.style.left = t / total * 100 + '%';
		if (t / total < 0.9 || t === 0) box.append(b);
	}
	return box;
}

function bar(r, total) {
	const x = v => v / total * X, svg = shape('svg', { viewBox: `0 0 ${X} 14`, preserveAspectRatio: 'none',
		role: 'img', 'aria-label': `open ${ns(r.end_ns - r.begin_ns)}, ${ns(r.path_ns)} of the critical path` });
	const rect = (from, to, y, h, cls) => svg.append(shape('rect', { x: x(from), y,
		width: Math.max(x(to) - x(from), X / 600), height: h, class: cls }));
	rect(r.begin_ns, r.end_ns, 4, 6, 'open');
	for (const [from, to] of r.path) rect(from, to, 1, 12, 'path');
	return svg;
}

/* seen: by service and name, what a search had on; only of one request that was looked up. */
const seenKey = r => r.service + '\u0000' + r.name;
function waterfall(w, seen) {
	const total = Math.max(1, w.total_ns), box = el('div', 'wf'), nodes = [], closed = new Set();
	const parents = new Set(w.rows.map(r => r.parent));
	const above = i => { for (let p = w.rows[i].parent; p !== null; p = w.rows[p].parent) if (closed.has(p)) return true; return false; };
	const show = () => nodes.forEach((n, i) => { n.hidden = above(i); n.style.display = n.hidden ? 'none' : ''; });
	box.append(el('div', 'wf-row axis', el('span', 'label'), ticks(total), el('span', 'num')));
	w.rows.forEach((r, i) => {
		const same = r.parent !== null && w.rows[r.parent].service === r.service;
		const label = el('span', 'label' + (r.error ? ' error' : ''));
		label.style.paddingLeft = Math.min(r.depth, 10) * 10 + 'px';
		if (parents.has(i)) {
			const b = button('▾', () => {
				if (!closed.delete(i)) closed.add(i);
				b.textContent = closed.has(i) ? '▸' : '▾';
				show();
			});
			b.setAttribute('aria-label', 'collapse');
			label.append(b);
		} else {
			label.append(el('i', ''));
		}
		label.append(el('span', 'what', same && r.name ? null : el('span', r.name ? 'soft' : '', r.service + ' '), r.name));
		const sight = seen && seen.get(seenKey(r));
		if (sight) label.append(el('span', 'tag seen ' + sight.seen, seenTag(sight)));
		const row = el('div', 'wf-row', label, bar(r, total), el('span', 'num', r.path_ns ? ns(r.path_ns) : ''));
		nodes.push(tips(row, () => [(r.service + ' ' + r.name).trim(), 'from ' + ns(r.begin_ns) + ' to ' + ns(r.end_ns) +
			' (' + ns(r.end_ns - r.begin_ns) + ')', r.path_ns ? ns(r.path_ns) + ' of the critical path, ' +
			percent(r.path_ns / total) : 'not on the critical path', r.error ? 'failed' : '', sight ? seenWords(sight) : ''].filter(Boolean).join('\n')));
	});
	some(box, nodes, ROWS_AT_ONCE, 'rows');
	const key = (cls, text) => {
		const i = el('i', '');
		i.style.background = cls;
		return el('span', '', i, text);
	};
	box.append(el('div', 'legend', key('var(--bad)', 'critical path'), key('var(--line)', 'open, path elsewhere'),
		w.omitted ? el('span', '', plural(w.omitted, w.rows_are.replace(/s$/, '')) + ' not drawn') : null));
	return box;
}

const sure = c => c.in !== 'both' || c.mean_changed || c.edges_changed || c.spread_changed;

/* ---- edges and keys ---- */

const again = e => e.occurrence === 65535 ? ' (all)' : e.occurrence ? ' #' + (e.occurrence + 1) : '';
const edgeName = e => {
	if (!e.from || !e.to) return el('span', 'path', e.words || 'other');
	const end = p => (p.service + ' ' + p.name).trim() + (p.kind === 'end' ? ' end' : '');
	if (e.from.kind === 'begin' && e.to.kind === 'end' && e.from.name === e.to.name && e.from.service === e.to.service)
		return el('span', 'path', 'in ' + (e.from.service + ' ' + e.from.name).trim() + again(e));
	return el('span', 'path', end(e.from), ' ', el('span', 'to', end(e.to)), again(e));
};

/* The share of variance as a bar from zero, with its bounds as a whisker. */
function shareBar(share, low, high, lo, hi) {
	const x = v => (Math.max(lo, Math.min(hi, v)) - lo) / (hi - lo) * X;
	const svg = shape('svg', { viewBox: `0 0 ${X} 18`, preserveAspectRatio: 'none', role: 'img', 'aria-label': percent(share) });
	svg.append(shape('rect', { x: 0, y: 3, width: X, height: 12, class: 'back' }),
		shape('rect', { x: Math.min(x(0), x(share)), y: 3, width: Math.max(2, Math.abs(x(share) - x(0))), height: 12,
			class: share < 0 ? 'var less' : 'var' }));
	if (low !== null && high !== null)
		svg.append(shape('rect', { x: x(low), y: 8, width: Math.max(2, x(high) - x(low)), height: 2, class: 'ci' }));
	svg.append(shape('line', { x1: x(0), x2: x(0), y1: 1, y2: 17, class: 'zero' }));
	return svg;
}

const edgeWords = e => {
	const end = p => (p.service + ' ' + p.name).trim() + (p.kind === 'end' ? ' end' : '');
	return !e.from || !e.to ? 'other' : e.from.kind === 'begin' && e.to.kind === 'end' && e.from.name === e.to.name &&
		e.from.service === e.to.service ? 'in ' + (e.from.service + ' ' + e.from.name).trim() : end(e.from) + ' → ' + end(e.to);
};

function edges(g) {
	const box = el('div', ''), list = g.edges;
	const lo = Math.min(0, ...list.map(e => e.variance_share)), hi = Math.max(0.01, ...list.map(e =>
		Math.min(1, Math.max(e.variance_share, e.variance_share_high || 0))));
	box.append(el('div', 'edge-row head', el('span', 'path', 'Between'), el('span', '', 'share of the variance'),
		el('span', 'num', 'of the time'), el('span', 'num', 'mean')));
	some(box, list.map(e => tips(el('div', 'edge-row', edgeName(e),
		el('div', '', shareBar(e.variance_share, e.variance_share_low, e.variance_share_high, lo, hi),
			el('span', 'small', percent(e.variance_share),
				e.variance_share_low === null ? '' : el('span', 'soft', ' (' + percent(e.variance_share_low) + ' to ' +
					percent(e.variance_share_high) + ')'))),
		el('span', 'num', percent(e.time_share)), el('span', 'num', ns(e.latency.mean_ns))), () => [edgeWords(e),
		'p50 ' + ns(e.latency.p50_ns) + ', p95 ' + ns(e.latency.p95_ns) + ', p99 ' + ns(e.latency.p99_ns) +
			', max ' + ns(e.latency.max_ns),
		'in ' + count(e.present) + ' requests',
		e.trimmed_share === null ? '' : percent(e.trimmed_share) + ' of the variance without the slowest 1 %',
		e.tail_share === null ? '' : percent(e.tail_share) + ' of what the slowest 5 % take longer',
		e.excess_ns === null ? '' : ns(e.excess_ns) + ' more than on the type’s other paths'].filter(Boolean).join('\n'))),
	EDGES_AT_ONCE, 'edges');
	if (g.edge_cnt > list.length)
		box.append(el('p', 'small soft', plural(g.edge_cnt - list.length, 'more edge') + ' with less of the variance: see --json'));
	return box;
}

function barBox(part) {
	const b = el('b', '');
	b.style.width = Math.max(0, Math.min(100, part * 100)) + '%';
	return el('div', 'bar-box', b);
}
function values(k) {
	const top = Math.max(...k.values.map(x => x.mean_ns));
	return el('div', 'levels', k.values.map(x => [
		el('span', 'break', x.high === null ? x.low : x.low === x.high ? String(x.low) : x.low + ' to ' + x.high),
		barBox(x.mean_ns / top), el('span', 'soft', ns(x.mean_ns) + ', ' + plural(x.requests, 'request'))]));
}
function keys(g, title) {
	return g.keys.length ? [el('h3', '', title), g.keys.map(k => el('div', '',
		el('p', 'small break', el('b', '', k.key), k.tracepoint ? ' of ' + k.tracepoint : '',
			k.edge < 0 ? ' with the whole time' : [' with ', edgeName(g.key_edges.find(e => e.index === k.edge))], ': ' + k.words,
			k.aliases ? ', the same as ' + plural(k.aliases, 'more key') : ''), values(k)))] : [];
}

/* ---- a group, a type ---- */

function latencyText(l) {
	return 'p50 ' + ns(l.p50_ns) + ', p95 ' + ns(l.p95_ns) + ', p99 ' + ns(l.p99_ns) + ', CV ' + l.cv.toFixed(2);
}

const failedText = x => x.failed ? ', ' + count(x.failed) + ' failed' : '';

function waterfalls(g) {
	const all = [['slow', 'Slow'], ['typical', 'Typical'], ['fast', 'Fast']].filter(([k]) => g[k].drawn);
	if (!all.length) return [];
	const body = el('div', ''), tabs = el('div', 'tabs');
	const choose = key => {
		body.replaceChildren(el('p', 'small soft break', 'request ', el('span', 'mono', g[key].trace), ', ' + ns(g[key].total_ns) +
			', longer than ' + g[key].percentile.toFixed(0) + ' % on this path'), waterfall(g[key].waterfall()));
		[...tabs.children].forEach((b, i) => b.setAttribute('aria-pressed', String(all[i][0] === key)));
	};
	for (const [key, word] of all) tabs.append(button(word + ' ' + ns(g[key].total_ns), () => choose(key), false));
	choose(all[0][0]);
	return [tabs, body];
}

function owners(g) {
	if (g.edge_cnt < 16 || !g.owners.length) return [];
	return [el('h3', '', 'Running meanwhile: all edges of a tracepoint together'), some(el('div', ''), g.owners.map(o =>
		el('div', 'edge-row', el('span', 'path', o.tracepoint || 'other', el('span', 'soft', ', ' + plural(o.edges, 'edge'))),
			el('div', '', shareBar(o.variance_share, o.variance_share_low, o.variance_share_high,
				Math.min(0, ...g.owners.map(x => x.variance_share)), Math.max(0.01, ...g.owners.map(x => x.variance_share))),
				el('span', 'small', percent(o.variance_share))),
			el('span', 'num', percent(o.time_share)), el('span', 'num', ns(o.mean_ns)))), 5, 'tracepoints')];
}

function groupBody(g) {
	return [el('h3', '', 'Where the time and the variance are'), edges(g), owners(g), keys(g, 'Explained by'), waterfalls(g)];
}

const tagOf = { variance: ['bad', 'variable'], slow: ['bad', 'steadily slow'], paths: ['doubt', 'paths differ'] };

function group(t, g, i, problems) {
	const box = el('details', 'group');
	box.append(el('summary', '', el('b', '', 'Path ' + (i + 1)), el('span', '', plural(g.latency.requests, 'request') + ' (' +
		percent(g.type_share) + ')' + failedText(g)), el('span', 'soft', latencyText(g.latency)),
	g.bins.map(b => el('span', 'tag', b)),
	g.rules.map(r => el('span', 'tag', (r.holds || r.times > 1 ? 'through ' : 'not through ') + (r.tracepoint || 'other') +
		(r.times < 2 ? '' : r.holds ? ' ' + r.times + ' times or more' : ' at most ' + (r.times - 1) + ' times'))),
	problems.map(p => el('span', 'tag ' + tagOf[p.kind][0], tagOf[p.kind][1])),
	g.decided ? null : el('span', 'tag', 'too few to say'),
	g.paths > 1 ? el('span', 'tag', plural(g.paths, 'exact path')) : null,
	g.variance_share ? el('span', 'soft small', percent(g.variance_share) + ' of the variance') : null));
	box.addEventListener('toggle', () => {
		if (box.open && !box.dataset.full) {
			box.dataset.full = '1';
			add(box, groupBody(g));
		}
	});
	box.dataset.words = g.edges.map(edgeWords).concat(g.keys.map(k => k.key), [g.hash, g.slow.trace, g.typical.trace,
		g.fast.trace]).join('\n').toLowerCase();
	return box;
}

function levels(t) {
	const list = t.levels.filter((l, i) => l.groups > 1 && (!i || l.groups !== t.levels[i - 1].groups));
	return list.length ? [el('h3', '', 'How alike paths must be, and the variance between them'), el('div', 'levels', list.map(l => [
		el('span', '', l.level), barBox(l.between_share),
		el('span', 'soft', plural(l.groups, 'path') + (l.merged ? ' or more' : '') + ', ' + percent(l.between_share))]))] : [];
}

function type(t, i) {
	const problems = D.problems.filter(p => p.type === i);
	const box = el('details', 'type'), list = el('div', '');
	box.append(el('summary', '', el('h2', '', t.name), problems.length ? el('span', 'tag bad', plural(problems.length, 'problem')) : null,
		el('span', 'soft small', plural(t.requests, 'request') + failedText(t) +
			(t.begun_by_messages ? ', ' + count(t.begun_by_messages) + ' begun by messages' : '') + ', ' + latencyText(t.latency))));
	const fill = () => {
		if (box.dataset.full) return;
		box.dataset.full = '1';
		add(box, [el('p', 'small soft', percent(t.between_share) + ' of the variance is between paths, ' +
			percent(t.within_share) + ' within them.'), levels(t), keys(t, 'Explained over all paths by'), el('h3', '', 'Paths')]);
		const groups = t.groups.map((g, n) => group(t, g, n, problems.filter(p => p.group === n)));
		const first = problems.find(p => p.group !== null);
		some(list, groups, GROUPS_AT_ONCE, 'paths');
		box.append(list);
		if (groups.length) groups[first && first.group < GROUPS_AT_ONCE ? first.group : 0].open = true;
	};
	box.addEventListener('toggle', () => { if (box.open) fill(); });
	page.append(el('section', '', box));
	return { box, fill, words: t.name.toLowerCase(), list };
}

/* ---- the page ---- */

/* The words of a problem, and a click away what they are about. */
function jump(p) {
	const a = el('a', 'link', p.words);
	a.href = '#';
	a.addEventListener('click', ev => {
		const t = types[p.type];
		ev.preventDefault();
		t.fill();
		t.box.open = true;
		const groups = t.list.querySelectorAll('details.group');
		const to = p.group !== null && groups[p.group] ? groups[p.group] : t.box;
		to.open = true;
		to.scrollIntoView({ block: 'start' });
	});
	return a;
}

function blame() {
	if (!D.edges_to_blame.length || (D.types.reduce((n, t) => n + t.groups.length, 0) < 2 && !D.diff)) return;
	const box = el('div', ''), told = D.edges_to_blame.filter(e => e.score >= 0.01 * D.edges_to_blame[0].score &&
		e.more_low_ns >= 0.01 * e.usual_ns);
	if (!told.length) return;
	page.append(el('section', '', el('h2', '', 'Edges to blame, over all request types'), el('p', 'soft small', D.diff ?
		'Against the good requests.' : 'Against what is usual for each.'), some(box, told.map(e =>
		el('div', 'edge-row', edgeName(e), el('span', 'small', plural(e.visits, 'visit') + ', service × ' +
			e.service_ratio.toFixed(1)), el('span', 'num', ns(e.mean_ns)), el('span', 'num soft', ns(e.usual_ns)))),
	EDGES_AT_ONCE, 'edges')));
	box.prepend(el('div', 'edge-row head', el('span', 'path', 'Between'), el('span', ''), el('span', 'num', 'takes'),
		el('span', 'num', 'usually')));
}

function calls() {
	if (!D.called_more.length) return;
	const box = el('div', '');
	page.append(el('section', '', el('h2', '', 'Called more often'), el('p', 'soft small',
		'How often in one request, against the good requests.'), some(box, D.called_more.map(c =>
		el('div', 'edge-row', el('span', 'path', c.tracepoint), el('span', 'small', c.good_times.toFixed(1) + ' → ' +
			c.bad_times.toFixed(1) + ', in ' + c.type), el('span', 'num', '+' + ns(c.delta_ns)), el('span', ''))),
	EDGES_AT_ONCE, 'tracepoints')));
	box.prepend(el('div', 'edge-row head', el('span', 'path', 'While it runs'), el('span', ''), el('span', 'num', 'takes more'),
		el('span', '')));
}

function structure() {
	if (!D.structure_changed.length) return;
	page.append(el('section', '', el('h2', '', 'Calls left out, and new ones'), el('p', 'soft small', 'Against the good requests.'),
		some(el('div', ''), D.structure_changed.map(s => el('p', 'break', s.words)), EDGES_AT_ONCE, 'calls')));
}

function splits() {
	if (!D.structure_varies.length) return;
	page.append(el('section', '', el('h2', '', 'Calls that differ'), el('p', 'soft small', 'Between slow requests and quick ones.'),
		some(el('div', ''), D.structure_varies.map(s => el('p', 'break', s.words)), EDGES_AT_ONCE, 'calls')));
}

/* Of the request asked for: how long, and where most of what it took longer. */
function oneWords(x) {
	const e = x.edges[x.by_excess[0]], where = e ? edgeWords(e) : '';
	return (x.type || '') + ' took ' + ns(x.total_ns) + (x.type_percentile === null ? '' : ', longer than ' +
		x.type_percentile.toFixed(0) + ' % of its type') + (e && e.excess_ns > 0 ? ': ' + ns(e.excess_ns) +
		' more than usual ' + (where.startsWith('in ') ? '' : 'between ') + where : '');
}

function hero() {
	const first = D.problems[0], facts = el('dl', 'facts');
	const fact = (name, value) => { if (value) facts.append(el('div', '', el('dt', '', name), el('dd', '', value))); };
	fact('requests', count(D.input.requests));
	fact('spans', count(D.input.spans));
	fact('request types', String(D.types.length));
	fact('format', [...new Set(D.input.files.map(f => f.format).filter(f => f))].join(', '));
	if (D.trace) {
		page.append(el('section', 'hero ' + (D.trace.type_percentile >= 95 ? 'bad' : ''), el('h1', '', 'One request'),
			el('p', 'summary', oneWords(D.trace)), facts));
		return;
	}
	const few = !D.types.some(t => t.groups.some(g => g.decided));
	page.append(el('section', 'hero ' + (first ? 'bad' : few ? 'doubt' : 'good'),
		el('h1', '', D.diff ? 'What changed' : first ? 'Held up' : few ? 'Too few requests to say' : 'Nothing stands out'),
		D.service_to_blame ? el('p', 'summary', el('b', '', 'Service to blame: '), D.service_to_blame.words) : null,
		D.problems.length && !D.diff ? [el('p', 'summary', jump(first)), el('ul', 'small', D.problems.slice(1, 6).map(p =>
			el('li', '', jump(p)))), D.problems.length > 6 ? el('p', 'soft small', plural(D.problems.length - 6, 'more problem') +
			' below') : null] :
			el('p', 'summary', D.diff ? changeWords(D.diff.find(c => c.edges.length && sure(c))) :
				few ? 'No path was taken by as many as it takes to say whether it is variable or slow (--min-requests).' :
					'No path is variable or slow beyond the thresholds, or too few requests took it to say so.'),
		facts));
}

function changeWords(c) {
	if (!c) return 'No request type has surely changed.';
	if (!c.mean_changed) return c.type + ': the mean has not surely changed' + (c.spread_changed ? ', how much they vary has' :
		', edges have that add up to nothing');
	if (byOwner(c)) return c.type + ': the mean changed by ' + (c.delta_ns > 0 ? '+' : '') + ns(c.delta_ns) + ', of which ' +
		percent(c.owners[0].share) + ' while ' + c.owners[0].tracepoint + ' runs';
	return c.type + ': the mean changed by ' + (c.delta_ns > 0 ? '+' : '') + ns(c.delta_ns) + ', of which ' + percent(c.edges[0].share) +
		' is ' + (c.edges[0].words.startsWith('in ') ? '' : 'between ') + c.edges[0].words;
}

function deltas(rows, first, second) {
	const box = el('div', ''), lo = Math.min(0, ...rows.map(r => r.share)), hi = Math.max(0.01, ...rows.map(r => r.share));
	box.append(el('div', 'edge-row head', el('span', 'path', 'Between'), el('span', '', 'share of the difference'),
		el('span', 'num', first), el('span', 'num', second)));
	return some(box, rows.map(r => el('div', 'edge-row', r.edge ? edgeName(r.edge) : el('span', 'path', r.name), el('div', '', shareBar(r.share, null, null, lo, hi),
		el('span', 'small', (r.more > 0 ? '+' : '') + ns(r.more) + (r.share ? ', ' + percent(r.share) : ''))),
	el('span', 'num', r.first), el('span', 'num', r.second))), EDGES_AT_ONCE, 'edges');
}

/* ---- one request, and its way through a search */

const seenTag = p => p.seen === 'on' ? 'on in ' + p.round : p.seen === 'off' ? 'off again in ' + p.round :
	p.seen === 'always' ? 'always on' : 'off';
const seenWords = p => 'in the search: ' + p.seen_words + (p.round === null ? '' : ' in round ' + p.round) +
	(p.because ? ', since ' + p.because : '');

function way(nodes, points) {
	const asked = points.filter(p => p.seen === 'on' || p.seen === 'off').length;
	return [el('h2', '', 'Its way through the search'),
		el('p', 'small soft', 'Of its ' + plural(points.length, 'tracepoint') + ' ' + points.filter(p => p.seen === 'always').length +
			' always on, ' + asked + ' switched on, the others never asked for.'),
		el('ol', 'way', nodes.map((n, i) => el('li', '', el('b', '', i ? (n.present ? 'with ' : 'without ') + n.tracepoint : 'all requests'),
			el('span', 'soft', ' ' + plural(n.requests, 'request') + (n.requests ? ', mean ' + ns(n.mean_ns) + ', CV ' + n.cv.toFixed(2) : '')),
			' ', el('span', 'tag' + (n.status === 'localised' ? ' bad' : ''), n.status_words),
			n.decided.length ? el('ul', 'small', n.decided.map(d => el('li', '', 'round ' + d.round + ': ',
				el('b', '', d.words + (d.what ? ' ' + d.what : '')), d.because ? ', since ' + d.because : ''))) : null))),
		el('h3', '', 'What its tracepoints were on by'), some(el('div', ''), points.map(p => el('div', 'seen-row',
			el('span', 'break' + (p.on_path ? '' : ' soft'), (p.service + ' ' + p.name).trim()), el('span', '', el('span',
				'tag seen ' + p.seen, seenTag(p))), el('span', 'small soft break', p.because || ''))), ROWS_AT_ONCE, 'tracepoints')];
}

function oneTrace() {
	const x = D.trace, seen = x.search_points ? new Map(x.search_points.map(p => [seenKey(p), p])) : null;
	page.append(el('section', '', el('h2', '', 'Request ', el('span', 'mono', x.id)),
		el('p', '', (x.type || '') + ' took ' + ns(x.total_ns) + (x.type_percentile === null ? '' : ': longer than ' +
			x.type_percentile.toFixed(0) + ' % of its type') + (x.group === null ? '' : ', and than ' +
			x.percentile.toFixed(0) + ' % on its path (path ' + (x.group + 1) + ')')),
		x.others_ns === null ? null : el('p', '', 'On its path requests usually take ' + ns(x.usual_ns) + ', on the others ' +
			ns(x.others_ns) + '.'),
		deltas(x.by_excess.map(i => x.edges[i]).map(e => ({ edge: e, share: e.excess_share || 0, more: e.excess_ns || 0,
			first: ns(e.took_ns), second: e.edge === null ? '–' : ns(e.took_ns - e.excess_ns) })), 'took', 'usually'),
		keyWords(x.keys.map(k => ({ key: k.key, tracepoint: k.tracepoint, words: k.value + '; with it ' + ns(k.mean_ns) +
			' on average, ' + ns(k.excess_ns) + ' more than all' })), 'Has what slow requests have'),
		x.waterfall ? waterfall(x.waterfall, seen) : null));
	if (x.search) page.append(el('section', '', way(x.search, x.search_points)));
}

/* What is called more often changed no edge by much. */
function byOwner(c) {
	return c.owners.length && Math.abs(c.owners[0].delta_ns) > 1.5 * Math.abs(c.edges[0].delta_ns);
}

function ownerDeltas(c) {
	if (!byOwner(c)) return null;
	return [el('h3', '', 'Running meanwhile: all edges of a tracepoint together'), deltas(c.owners.map(o => ({ name: o.tracepoint +
		(Math.abs(o.bad_times - o.good_times) < 0.05 ? '' : ', ' + o.good_times.toFixed(1) + ' → ' + o.bad_times.toFixed(1) + ' times'),
	share: o.share, more: o.delta_ns, first: ns(o.good_ns), second: ns(o.bad_ns) })), 'good', 'bad')];
}

function keyWords(list, title) {
	return list.length ? [el('h3', '', title), el('ul', 'small', list.map(k => el('li', 'break', el('b', '', k.key), ' of ' +
		k.tracepoint + ': ' + k.words)))] : null;
}

function differences() {
	const changed = D.diff.filter(sure), same = D.diff.length - changed.length;
	if (D.against) page.append(el('section', '', el('p', 'small soft break', 'Against ' + D.against),
		same ? el('p', 'small', plural(same, 'request type') + (same === 1 ? ' has' : ' have') + ' not surely changed.') : null));
	for (const c of D.diff.length > 2 ? changed : D.diff)
		page.append(el('section', '', el('h2', '', c.type, ' ', c.in === 'both' ? null : el('span', 'tag', c.in === 'bad' ? 'new' : 'gone')),
			c.in === 'both' ? [el('p', '', 'The mean is ' + (c.delta_ns > 0 ? '+' : '') + ns(c.delta_ns) + ' (' + ns(c.low_ns) +
				' to ' + ns(c.high_ns) + ').'), ownerDeltas(c), deltas(c.edges.map(e => ({ edge: e, share: e.share, more: e.delta_ns,
				first: ns(e.good_ns), second: ns(e.bad_ns) })), 'good', 'bad'),
			keyWords(c.keys, 'Explained by')] : null));
}

function foot() {
	const files = D.input.files;
	page.append(el('section', '', el('h2', '', 'What was read'),
		table([['file', 'wide'], ['format', ''], ['spans', 'num'], ['not understood', 'num']],
			files.map(f => [f.path, (f.format || 'not readable') + (f.packed ? ', ' + f.packed : ''), count(f.spans), count(f.bad)])),
		D.input.notes.length ? el('ul', 'small', D.input.notes.map(n => el('li', '', count(n.count) + ' ' + n.words))) : null,
		files.some(f => f.first_bad.length) ? el('ul', 'small', files.flatMap(f => f.first_bad.map(b => el('li', 'break',
			f.path + ', offset ' + b.offset + ': ' + b.why)))) : null,
		(D.input.clocks || []).length ? [el('h3', '', 'Corrected clocks'), el('ul', 'small', D.input.clocks.map(c => el('li', 'break',
			c.words)))] : null,
		(D.input.unsettled_clocks || []).length ? [el('h3', '', 'Clocks that cannot be corrected'),
			el('ul', 'small', D.input.unsettled_clocks.map(c => el('li', 'break', c.words)))] : null,
		D.input.stopped ? el('p', '', 'The reading was stopped: this is a part of what there is.') : null));
}

function search(types) {
	const input = el('input', '');
	input.type = 'search';
	input.placeholder = 'type, tracepoint, key or trace id';
	input.setAttribute('aria-label', 'Search');
	input.addEventListener('input', () => {
		const want = input.value.trim().toLowerCase();
		for (const t of types) {
			if (want) t.fill();
			const own = t.words.includes(want);
			let any = false;
			t.list.querySelectorAll('.more').forEach(b => { if (want) b.click(); });
			for (const g of t.list.querySelectorAll('details.group')) {
				const hit = own || g.dataset.words.includes(want);
				g.style.display = hit ? '' : 'none';
				any = any || hit;
			}
			t.box.parentNode.style.display = own || any ? '' : 'none';
			if (want && any && !own) t.box.open = true;
		}
	});
	page.append(el('section', 'bar', input, button('Open all types', () => types.forEach(t => { t.box.open = true; })),
		button('Close all', () => types.forEach(t => { t.box.open = false; }))));
}

const types = [];
hero();
if (D.trace) oneTrace();
if (D.diff) differences();
{
	const cost = list => list.length ? list[0].cost_ns : 0, edge = D.edges_to_blame[0];
	[[edge ? edge.more_low_ns * edge.visits : 0, blame], [cost(D.called_more), calls], [cost(D.structure_changed), structure],
		[cost(D.structure_varies), splits]].sort((a, b) => b[0] - a[0]).forEach(part => part[1]());
}
if (D.types.length > 1) search(types);
D.types.forEach((t, i) => types.push(type(t, i)));
if (types.length) types[D.problems.length ? D.problems[0].type : 0].box.open = true;
foot();
document.documentElement.dataset.drawn = '1';
}());
