/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `heldup forest`: the trees, which open and close, and beside
 * them what the chosen node showed.  Names go through text nodes only.
 */
(function () {
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const { clean, three, el, shape, showTip, hideTip } = parts;

const time = v => v < 1000 ? Math.round(v) + ' ns' : v < 999500 ? three(v / 1e3) + ' µs'
	: v < 999500000 ? three(v / 1e6) + ' ms' : three(v / 1e9) + ' s';
const share = v => (100 * v).toFixed(Math.abs(v) < 0.0995 ? 1 : 0) + ' %';
const count = v => v < 10000 ? String(v) : v < 999500 ? three(v / 1e3) + ' k' : three(v / 1e6) + ' M';
const point = p => p ? p.service + (p.service && p.name ? ' ' : '') + p.name : '?';
const event = e => point(e.point) + (e.kind === 'exit' ? ' end' : '');
const same = (a, b) => a.service === b.service && a.name === b.name;
const edge = (from, to) => same(from.point, to.point) && from.kind === 'entry' && to.kind === 'exit'
	? 'in ' + point(from.point) : event(from) + ' → ' + event(to);
const sided = p => (p.sides === 'begin' ? 'begin of ' : p.sides === 'end' ? 'end of ' : '') + point(p.point);
const STATUS = {open: 'more requests needed', explored: 'explored', calm: 'calm', localised: 'localised',
	useless: 'explained nothing', stopped: 'bound reached'};
const DECISION = {on: 'switch on', off: 'switch off', localised: 'found', calm: 'leave', wait: 'wait', stop: 'stop'};
const what = d => d.point ? sided(d) : d.from && d.to ? edge(d.from, d.to) : '';

function hint(node, text) {
	node.addEventListener('pointermove', e => showTip(e, clean(text)));
	node.addEventListener('pointerleave', hideTip);
	return node;
}
/* A head that begins with # is of numbers, one with ~ of texts that may wrap. */
function table(cls, head, rows) {
	const kinds = head.map(h => h[0] === '#' ? 'num' : h[0] === '~' ? 'wrap' : h[0] === '=' ? 'draw' : '');
	const cells = (tag, items) => el('tr', '', items.map((c, i) => el(tag, kinds[i], c)));
	return el('div', 'scroll', el('table', cls, el('thead', '', cells('th', head.map(h => h.replace(/^[#~=]/, '')))),
		el('tbody', '', rows.map(r => cells('td', r)))));
}

/* ---- a distribution: bucket b begins at 2^(b/2) µs */

const bucketNs = b => b ? 1e3 * Math.pow(2, b / 2) : 0;
function distribution(t, marks) {
	const first = Math.max(0, t.first_bucket - 1), last = t.first_bucket + t.buckets.length + 1, wide = 600 / (last - first);
	const most = Math.max(1, ...t.buckets), root = shape('svg', {class: 'dist', viewBox: '0 0 600 92', preserveAspectRatio: 'none'});
	const at = ns => Math.max(0, Math.min(600, ns > 0 ? (2 * Math.log2(ns / 1e3) - first) * wide : 0));
	root.append(shape('line', {class: 'axis', x1: 0, x2: 600, y1: 70, y2: 70}));
	t.buckets.forEach((n, i) => {
		if (!n) return;
		const b = t.first_bucket + i, high = Math.max(1.5, 66 * n / most);
		root.append(hint(shape('rect', {class: 'bar1', x: (b - first) * wide + 1, width: Math.max(1, wide - 2), y: 70 - high,
			height: high}), time(bucketNs(b)) + ' to ' + time(bucketNs(b + 1)) + ': ' + count(n) + ' requests'));
	});
	for (const m of marks)
		root.append(hint(shape('line', {class: 'mark', x1: at(m.ns), x2: at(m.ns), y1: 0, y2: 70}), m.what + ' ' + time(m.ns)));
	const axis = el('div', 'ticks'), step = Math.max(1, Math.ceil((last - first) / 8));
	for (let b = first; b <= last; b += step) {
		const tick = el('b', '', time(bucketNs(b)));
		tick.style.left = 100 * (b - first) / (last - first) + '%';
		axis.append(tick);
	}
	root.setAttribute('viewBox', '0 0 600 72');
	return el('div', '', root, axis);
}

/* Variance (red, with its interval) above time (blue); the middle is 0 where a share is negative. */
function shares(e, low) {
	const x = v => 100 * (Math.max(low, Math.min(1, v)) - low) / (1 - low), root = shape('svg', {viewBox: '0 0 100 18', preserveAspectRatio: 'none'});
	const bar = (cls, v, y) => shape('rect', {class: cls, x: Math.min(x(0), x(v)), width: Math.abs(x(v) - x(0)), y: y, height: 7});
	root.append(bar('v', e.share_variance, 1), bar('t', e.share_time, 10));
	if (e.share_low !== null && e.share_high !== null)
		root.append(shape('line', {x1: x(e.share_low), x2: x(e.share_high), y1: 4.5, y2: 4.5, 'vector-effect': 'non-scaling-stroke'}));
	return hint(root, share(e.share_variance) + ' of the variance' + (e.share_low !== null && e.share_high !== null
		? ' (' + share(e.share_low) + ' to ' + share(e.share_high) + ')' : '') + '\n' + share(e.share_time) + ' of the time');
}

const EDGES = 12;
function groupView(g) {
	const order = g.edges.map((e, i) => i).sort((a, b) => Math.abs(g.edges[b].share_variance) + g.edges[b].share_time -
		Math.abs(g.edges[a].share_variance) - g.edges[a].share_time || a - b);
	const low = Math.min(0, ...g.edges.map(e => Math.max(-1, e.share_variance))), rows = list => list.map(i => {
		const e = g.edges[i];
		return [edge(e.from, e.to), shares(e, low), share(e.share_variance), share(e.share_time), time(e.times.mean_ns),
			e.usual_ns === null ? '' : time(e.usual_ns), e.hidden_points || ''];
	});
	const head = ['~edge', '=variance, time', '#variance', '#time', '#takes', '#usually', '#off in it'];
	const cls = [g.variable ? 'varies' : null, g.slow ? 'slow' : null].filter(Boolean).join(', ');
	const box = el('div', 'group', el('p', '', el('b', '', count(g.times.count) + ' requests'), ' of path ', el('span', 'mono', g.path.slice(0, 8)),
		', ' + time(g.times.mean_ns) + ' ± ' + time(g.times.sd_ns) + (cls ? ', ' + cls : '')),
		distribution(g.times, D.walked && D.walked.total_ns ? [{ns: D.walked.total_ns, what: 'this request'}] : []));
	const list = el('div', '', table('shares', head, rows(order.slice(0, EDGES))));
	box.append(list);
	if (order.length > EDGES) {
		const more = el('button', 'more', 'all ' + order.length + ' edges, in order of the path');
		more.addEventListener('click', () => { list.replaceChildren(table('shares', head, rows(g.edges.map((e, i) => i)))); more.remove(); });
		box.append(more);
	}
	const ids = [['typical', g.representative], ['fastest', g.fastest], ['slowest', g.slowest]].filter(x => x[1]);
	if (ids.length) box.append(el('p', 'small soft', ids.map((x, i) => [i ? ', ' : '', x[0] + ' ', el('span', 'mono break', x[1])])));
	return box;
}

const GROUPS = 4;
function nodeView(t, n) {
	const out = [el('h2', '', n.parent === null ? 'All ' + point(t.point) : (n.present ? 'With ' : 'Without ') + sided(n))];
	const facts = [['requests', count(n.requests)], ['mean', time(n.mean_ns)], ['CV', n.cv.toFixed(2)],
		['explained by its paths', share(n.explained)], ['status', STATUS[n.status] || n.status]];
	if (n.parent !== null) facts.push(['with against without explains', share(n.split)], ['tried in round', n.round]);
	if (n.requests_not_grouped) facts.push(['on paths over the bound', count(n.requests_not_grouped)]);
	if (n.requests_left_out) facts.push(['left out: no edge, or over 13 days', count(n.requests_left_out)]);
	if (n.edges_over_bound) facts.push(['edges over the bound on kinds', count(n.edges_over_bound)]);
	out.push(el('dl', 'facts', facts.map(f => el('div', '', el('dt', '', f[0]), el('dd', '', f[1])))));
	const decided = D.decisions.filter(d => d.tree === t.tree && d.node === n.node);
	if (decided.length)
		out.push(el('h3', '', 'Decided here'), el('ul', '', decided.map(d => el('li', '', el('b', '', DECISION[d.decision] || d.decision),
			what(d) ? ' ' + what(d) : '', ' in round ' + d.round + (d.because ? ': ' + d.because : '')))));
	if (n.keys.length)
		out.push(el('h3', '', 'Keys whose values go with the time'), table('', ['~key', '~at', '#strength', '#chance', '#requests'],
			n.keys.map(k => [k.key, point(k.point), (k.numeric ? 'r = ' : 'η² = ') + k.strength.toFixed(2),
				k.q === null ? '' : k.q.toPrecision(1), count(k.requests)])));
	if (n.groups.length) out.push(el('h3', '', n.groups.length + (n.groups.length === 1 ? ' path' : ' paths')));
	const box = el('div', '', n.groups.slice(0, GROUPS).map(groupView));
	out.push(box);
	if (n.groups.length > GROUPS) {
		const more = el('button', 'more', (n.groups.length - GROUPS) + ' more paths');
		more.addEventListener('click', () => { box.append(...n.groups.slice(GROUPS, 200).map(groupView)); more.remove(); });
		out.push(more);
	}
	return out;
}

/* ---- the trees */

const side = el('section', 'side'), items = new Map();
side.setAttribute('aria-live', 'polite');
let chosen = null;
function choose(item, focus) {
	if (chosen) { chosen.setAttribute('aria-selected', 'false'); chosen.tabIndex = -1; }
	chosen = item;
	item.setAttribute('aria-selected', 'true');
	item.tabIndex = 0;
	if (focus) item.focus();
	const x = items.get(item);
	side.replaceChildren(...nodeView(x.tree, x.node));
	side.scrollTop = 0;
	document.documentElement.dataset.node = x.tree.tree + '.' + x.node.node;
}
function fold(item, open) {
	if (!item.querySelector(':scope > ul')) return;
	item.setAttribute('aria-expanded', String(open));
	item.querySelector(':scope > .hyp > .fold').textContent = open ? '▾' : '▸';
}
function nodeItem(t, n, kids) {
	const below = kids.get(n.node) || [];
	const name = el('span', 'name', n.parent === null ? el('b', '', point(t.point))
		: [el('span', 'sign', n.present ? 'with ' : 'without '), sided(n)]);
	const label = el('div', 'hyp', el('span', 'fold', below.length ? '▾' : '·'), name,
		n.requests ? el('span', 'tag ' + n.status, STATUS[n.status] || n.status) : el('span', 'tag', 'none came this way'),
		el('span', 'nums', n.requests ? count(n.requests) + ' requests · ' + time(n.mean_ns) + ' · CV ' + n.cv.toFixed(2) +
			(n.parent === null ? ' · ' + share(t.explained) + ' explained' : n.present ? ' · splits ' + share(n.split) : '') : ''));
	const item = el('li', n.walked ? 'walked' : '', label);
	item.setAttribute('role', 'treeitem');
	item.setAttribute('aria-selected', 'false');
	item.tabIndex = -1;
	items.set(item, {tree: t, node: n});
	if (below.length) {
		const list = el('ul', '', below.map(k => nodeItem(t, k, kids)));
		list.setAttribute('role', 'group');
		item.append(list);
		item.setAttribute('aria-expanded', 'true');
		label.firstChild.addEventListener('click', e => {
			fold(item, item.getAttribute('aria-expanded') !== 'true');
			e.stopPropagation();
		});
	}
	label.addEventListener('click', () => choose(item, true));
	return item;
}
function treeView(t) {
	const kids = new Map();
	for (const n of t.nodes) {
		if (!kids.has(n.parent)) kids.set(n.parent, []);
		kids.get(n.parent).push(n);
	}
	const list = el('ul', 'tree', nodeItem(t, kids.get(null)[0], kids));
	list.setAttribute('role', 'tree');
	return list;
}
function shown() {
	return [...items.keys()].filter(i => i.offsetParent !== null);
}
document.addEventListener('keydown', e => {
	if (!chosen || !(e.target.closest && e.target.closest('[role=tree]'))) return;
	const all = shown(), at = all.indexOf(chosen), open = chosen.getAttribute('aria-expanded');
	let next = null;
	if (e.key === 'ArrowDown') next = all[at + 1];
	else if (e.key === 'ArrowUp') next = all[at - 1];
	else if (e.key === 'Home') next = all[0];
	else if (e.key === 'End') next = all[all.length - 1];
	else if (e.key === 'ArrowRight') { if (open === 'false') fold(chosen, true); else if (open) next = all[at + 1]; }
	else if (e.key === 'ArrowLeft') { if (open === 'true') fold(chosen, false); else next = chosen.parentElement.closest('[role=treeitem]'); }
	else return;
	e.preventDefault();
	if (next) choose(next, true);
});

/* ---- the page */

const tried = D.trees.reduce((n, t) => n + t.nodes.filter(x => x.parent !== null && x.present).length, 0);
const found = D.trees.flatMap(t => t.nodes.filter(n => n.status === 'localised').map(n => [t, n]));
const hero = el('section', 'hero ' + (found.length ? 'bad' : ''), el('h1', '', 'Hypothesis forest'),
	el('p', 'summary', D.trees.length + (D.trees.length === 1 ? ' request type, ' : ' request types, ') + tried +
		(tried === 1 ? ' hypothesis' : ' hypotheses') + ' in ' + D.rounds + (D.rounds === 1 ? ' round' : ' rounds') +
		(D.walked ? '. Request ' + D.walked.trace + ' took ' + time(D.walked.total_ns) +
			(D.walked.tree === null ? '; there is no tree of its type.' : '; it comes through the nodes with a bar.') : '.')));
if (D.decisions.some(d => d.decision === 'localised'))
	hero.append(el('ul', '', D.decisions.filter(d => d.decision === 'localised' && d.from && d.to).slice(0, 8).map(d => {
		const t = D.trees.find(x => x.tree === d.tree), a = el('button', '', edge(d.from, d.to));
		a.addEventListener('click', () => { for (const [item, x] of items) if (x.tree === t && x.node.node === d.node) choose(item, true); });
		return el('li', '', a, ' ' + share(d.share_variance) + ' of the variance, ' + share(d.share_time) + ' of the time of ' +
			(t ? point(t.point) : '?'));
	})));
const find = el('input');
find.type = 'search';
find.placeholder = 'request type or tracepoint';
find.setAttribute('aria-label', 'show only trees with this in them');
const views = D.trees.map(t => ({tree: t, view: treeView(t),
	text: (point(t.point) + ' ' + t.nodes.map(n => point(n.point)).join(' ')).toLowerCase()}));
find.addEventListener('input', () => {
	for (const x of views) x.view.hidden = !x.text.includes(find.value.toLowerCase());
});
const all = open => () => { for (const item of items.keys()) fold(item, open); };
const opener = el('button', '', 'open all'), closer = el('button', '', 'close all');
opener.addEventListener('click', all(true));
closer.addEventListener('click', all(false));
const left = el('section', '', el('div', 'bar', find, opener, closer), views.map(x => x.view));
page.append(hero, el('div', 'walk', left, side));
/* What the tracepoints of the request looked up were on by. */
const seen = p => p.seen_words + (p.round === null ? '' : ' in round ' + p.round);
if (D.walked && D.walked.points.length)
	page.append(el('section', '', el('h2', '', 'Tracepoints of request ', el('span', 'mono', D.walked.trace)),
		el('p', 'small soft', D.walked.points.filter(p => p.seen === 'always').length + ' always on, ' +
			D.walked.points.filter(p => p.seen === 'on' || p.seen === 'off').length + ' switched on, ' +
			D.walked.points.filter(p => p.seen === 'not').length + ' never asked for.'),
		table('', ['~tracepoint', 'critical path', 'was', '~because'], D.walked.points.slice(0, 500).map(p => {
			const of = p.node === null ? null : [...items].find(([, x]) => x.node.node === p.node && x.tree.tree === p.tree);
			const link = of ? el('button', '', seen(p)) : seen(p);
			if (of) link.addEventListener('click', () => { choose(of[0], true); of[0].scrollIntoView({ block: 'center' }); });
			return [sided({point: p, sides: p.sides}), p.on_path ? 'on it' : '', link, p.because || ''];
		}))));
const off = [...new Set(D.decisions.filter(d => d.decision === 'off' && d.point).map(sided))];
if (off.length) page.append(el('section', '', el('h2', '', 'Switched off again, having explained nothing or no more'), el('ul', '', off.map(x => el('li', '', x)))));
if (D.decisions.length)
	page.append(el('section', '', el('h2', '', 'All decisions'), table('', ['#round', 'decision', '~what', '#requests', '~because'],
		D.decisions.slice(0, 2000).map(d => [d.round, DECISION[d.decision] || d.decision, what(d), d.requests || '', d.because]))));
const begin = [...items].find(([, x]) => D.walked && D.walked.nodes.length && x.node.node === D.walked.nodes[D.walked.nodes.length - 1] &&
	x.tree.tree === D.walked.tree) || [...items].find(([, x]) => x.node.status === 'localised') || [...items][0];
if (begin) choose(begin[0], false);
document.documentElement.dataset.drawn = '1';
}());
