/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the page from the data element.  Everything from the data goes
 * through text nodes or canvas, never through markup: names in it come from
 * the watched processes.
 */
(function () {
'use strict';

const D = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const { clean, three, ns, el, shape, showTip, hideTip } = parts;

/* ---- words and numbers ---- */

function scaled(v, base, units) {
	let i = 0;
	if (v < base) return String(v) + units[0];
	for (; v >= base - 0.5 && i + 1 < units.length; i++) v /= base;
	return three(v) + units[i];
}
const count = v => scaled(v, 1000, ['', ' k', ' M', ' G', ' T']);
const bytes = v => scaled(v, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']);
const percent = v => {
	const p = v * 100;
	return (p === 0 ? '0' : p < 10 ? p.toFixed(1) : p.toFixed(0)) + ' %';
};
const dash = (v, f) => v ? f(v) : '–';
function who(p) {
	if (!p || (!p.pid && !p.comm)) return '';
	return clean(p.comm) + (p.pid ? ' ' + p.pid : '') + (p.tid && p.tid !== p.pid ? '/' + p.tid : '');
}

/* ---- elements ---- */

function section(title, ...kids) {
	const node = el('section', '', title ? el('h2', '', title) : null, ...kids);
	page.append(node);
	return node;
}
/* ---- verdict ---- */

const mood = { healthy: 'good', clients: 'good', unknown: 'doubt' }[D.verdict.class] || 'bad';
const demand = D.verdict.of === 'tail' ? 'of the slow requests’ time' :
	D.window.demand === 'requests' ? 'of the requests’ time' : 'of the threads’ time';

function hero() {
	const v = D.verdict, facts = el('dl', 'facts');
	const fact = (name, value) => {
		if (value) facts.append(el('div', '', el('dt', '', name), el('dd', '', value)));
	};
	fact('resource', v.resource.name);
	fact('held up by', who(v.culprit));
	fact(demand, v.share > 0 ? percent(v.share) : '');
	fact('confidence', v.confidence);
	const doubts = v.confidence_reasons.join('; ');
	const r = D.window;
	fact('watched', (r.length_ns / 1e9).toFixed(1) + ' s');
	if (r.requests)
		fact('requests', count(r.requests) + ', p50 ' + ns(r.p50_ns) + ', p99 ' + ns(r.p99_ns) +
			', max ' + ns(r.max_ns));
	page.append(el('section', 'hero ' + mood,
		el('h1', '', v.title.charAt(0).toUpperCase() + v.title.slice(1)),
		el('p', 'summary', v.summary),
		el('p', 'break', el('b', '', 'Next step: '), v.next_step),
		doubts ? el('p', 'small break', 'Confidence is ' + v.confidence + ': ' + doubts + '.') : null,
		el('p', 'soft small break', D.subject, D.window.host ? ' on ' + D.window.host : '',
			D.window.begin ? ', ' + D.window.begin.replace('T', ' ').replace('Z', ' UTC') : ''),
		facts));
}

function list(title, items) {
	return items.length ? [el('h3', '', title), el('ul', '', items.map(s => el('li', '', s)))] : [];
}
function reasons(f) {
	return [list('Evidence', f.evidence), list('Rule out first', f.refute)].flat();
}

/* ---- chain ---- */

let ruler = null;
function cut(text, width, font) {
	ruler = ruler || document.createElement('canvas').getContext('2d');
	ruler.font = font + ' system-ui, sans-serif';
	text = clean(text);
	if (ruler.measureText(text).width <= width) return text;
	let lo = 0, hi = text.length;
	while (lo < hi) {
		const mid = (lo + hi + 1) >> 1;
		if (ruler.measureText(text.slice(0, mid) + '…').width <= width) lo = mid; else hi = mid - 1;
	}
	return text.slice(0, lo) + '…';
}

/* Waiters that the chain stands for but does not draw: grouped by process and name, the
 * crumbs left out. */
function sideWaiters(chain) {
	const inChain = new Set(chain.map(s => s.tid).filter(Boolean));
	const groups = new Map();
	for (const e of D.edges) {
		if (!e.from || inChain.has(e.from.tid)) continue;
		const at = chain.findIndex(s => (e.to && s.tid === e.to.tid) ||
			(e.resource && s.resource && s.resource === e.resource.name));
		if (at < 0) continue;
		const comm = e.from.comm.replace(/\d+/g, '#'), key = at + '\n' + e.from.pid + '\n' + comm;
		const g = groups.get(key) || { at, pid: e.from.pid, comm, tids: new Set(),
			ns: 0, res: e.resource ? e.resource.name : e.state };
		if (g.tids.size === 0) g.one = e.from.comm;
		g.tids.add(e.from.tid);
		g.ns += e.ns;
		groups.set(key, g);
	}
	const all = [...groups.values()].sort((a, b) => b.ns - a.ns);
	return all.filter(g => g.ns * 100 >= all[0].ns);
}

/* Where in the program a step is. */
const fnLines = s => s.functions.map(f => (f.what === 'ended' ? 'ended ' + (f.comm ? 'by ' + f.comm + ' ' : '') : '') +
	'in ' + f.frames.map(x => x.name).join(' ← ') + ' (' + percent(f.share) + ')');

function stepFunctions() {
	const steps = D.chain.filter(s => s.functions.length);
	return steps.length ? el('div', 'small', el('h3', '', 'In which functions'), ...steps.map(s => el('div', 'break',
		el('b', '', who(s) || s.role), ' ', s.step, el('ul', '', fnLines(s).map(t => el('li', '', t)))))) : null;
}

function drawStep(svg, s, box, last) {
	const { x, y, w, h } = box, pad = 12;
	const numbers = [s.share > 0 ? percent(s.share) : '', s.per_request_ns ? ns(s.per_request_ns) : ''];
	const textWidth = w - 2 * pad - (numbers[0] || numbers[1] ? 70 : 0);
	const name = who(s) || s.role || 'outside';
	const sub = [who(s) ? s.role : '', s.alike > 1 ? s.alike + ' alike' : ''].filter(Boolean).join(', ');
	svg.append(shape('rect', { x, y, width: w, height: h, rx: 7, class: 'node' +
		(last ? ' end ' + mood : '') + (s.pid ? '' : ' out') }));
	svg.append(shape('text', { x: x + pad, y: y + 21, class: 't-name' }, cut(name, textWidth, '600 13px')));
	svg.append(shape('text', { x: x + pad, y: y + 38, class: 't-soft' }, cut(sub, textWidth, '12px')));
	svg.append(shape('text', { x: x + pad, y: y + 56 }, cut(s.step || 'runs', w - 2 * pad, '13px')));
	svg.append(shape('text', { x: x + w - pad, y: y + 21, 'text-anchor': 'end', class: 't-num' }, numbers[0]));
	svg.append(shape('text', { x: x + w - pad, y: y + 38, 'text-anchor': 'end', class: 't-soft' },
		numbers[1] ? numbers[1] + ' / req' : ''));
	svg.append(shape('title', {}, [name, sub, s.step, s.resource,
		s.count ? count(s.count) + ' waits' : '', ...fnLines(s)].filter(Boolean).join('\n')));
}

function drawEdge(svg, s, x, y0, y1, width) {
	const thick = 1.5 + 6 * Math.min(1, s.share || 0);
	const label = s.resource;
	svg.append(shape('path', { d: `M${x} ${y0}V${y1 - 7}`, class: 'edge', 'stroke-width': thick }));
	svg.append(shape('path', { d: `M${x - 7} ${y1 - 8}h14l-7 8z`, class: 'arrow' }));
	if (!label) return;
	const text = cut(label, width - 40, '12px');
	const w = ruler.measureText(text).width + 22, mid = (y0 + y1) / 2 - 3;
	svg.append(shape('g', {},
		shape('rect', { x: x - w / 2, y: mid - 11, width: w, height: 22, rx: 11, class: 'pill' }),
		shape('text', { x, y: mid + 4, 'text-anchor': 'middle', class: 't-soft' }, text),
		shape('title', {}, label)));
}

function drawSides(svg, sides, boxes, x, w) {
	let free = 0;
	for (const g of sides) {
		const target = boxes[g.at], h = 46;
		const y = Math.max(free, target.y + target.h / 2 - h / 2);
		const from = target.x + target.w, mid = target.y + target.h / 2;
		free = y + h + 8;
		const n = g.tids.size, name = clean(n > 1 ? g.comm : g.one);
		svg.append(shape('path', { class: 'edge side', 'stroke-width': 1.5,
			d: `M${x} ${y + h / 2}C${x - 26} ${y + h / 2} ${from + 34} ${mid} ${from + 8} ${mid}` }));
		svg.append(shape('path', { d: `M${from + 9} ${mid - 5}v10l-9 -5z`, class: 'arrow side' }));
		svg.append(shape('g', {},
			shape('rect', { x, y, width: w, height: h, rx: 7, class: 'node' }),
			shape('text', { x: x + 10, y: y + 19, class: 't-name' },
				cut((n > 1 ? n + ' × ' : '') + name + ' ' + g.pid, w - 20, '600 13px')),
			shape('text', { x: x + 10, y: y + 36, class: 't-soft' },
				cut('waited ' + ns(g.ns) + ' · ' + clean(g.res), w - 20, '12px')),
			shape('title', {}, `${name} ${g.pid}: ${n} waited ${ns(g.ns)} on ${clean(g.res)}`)));
	}
	return free;
}

function graph(holder, chain) {
	const all = sideWaiters(chain), boxH = 68, gap = 48;
	function draw() {
		const width = Math.max(260, holder.clientWidth);
		const wide = width > 560 && all.length > 0;
		const sideW = wide ? Math.min(230, width * 0.36) : 0;
		const w = Math.min(430, width - (wide ? sideW + 60 : 2));
		const x = wide ? 1 : (width - w) / 2;
		const svg = shape('svg', { width, role: 'img', 'aria-label': 'chain of waiting' });
		const boxes = chain.map((s, i) => ({ x, y: 1 + i * (boxH + gap), w, h: boxH }));
		chain.forEach((s, i) => {
			const g = shape('g', {});
			if (i + 1 < chain.length)
				drawEdge(svg, s, x + w / 2, boxes[i].y + boxH, boxes[i + 1].y, w);
			drawStep(g, s, boxes[i], i + 1 === chain.length);
			svg.append(g);
		});
		let height = chain.length * (boxH + gap) - gap + 2;
		const shown = Math.max(1, Math.floor(height / 54));
		if (wide) height = Math.max(height, drawSides(svg, all.slice(0, shown).sort((a, b) => a.at - b.at),
			boxes, width - sideW - 1, sideW));
		svg.setAttribute('height', height);
		const hidden = wide ? all.length - Math.min(all.length, shown) : 0;
		holder.replaceChildren(svg);
		if (hidden) holder.append(el('p', 'soft small', hidden + ' more groups of waiters not drawn'));
	}
	let last = 0;
	new ResizeObserver(() => {
		if (holder.clientWidth !== last) { last = holder.clientWidth; draw(); }
	}).observe(holder);
	addEventListener('beforeprint', draw);
}

function chainAndReasons() {
	const left = el('section', '', el('h2', '', D.window.demand === 'requests' ? 'Chain, from the client on' : 'Chain'));
	const right = el('section', '', el('h2', '', 'Why'), ...reasons(D), list('Not covered', D.unseen).flat());
	if (!D.chain.length && !D.candidates.length) {
		page.append(right);
		return;
	}
	if (D.chain.length) {
		const holder = el('div', '');
		left.append(holder);
		const fns = stepFunctions();
		if (fns) left.append(fns);
		page.append(el('div', 'two', left, right));
		graph(holder, D.chain);
	} else {
		page.append(right);
	}
}

function candidates() {
	D.candidates.forEach((f, i) => section('Candidate ' + 'AB'.charAt(i) + ': ' + f.title +
		(f.share > 0 ? ' (' + percent(f.share) + ')' : ''), el('p', 'break', f.summary), ...reasons(f)));
}

function otherFindings() {
	if (D.findings.length > 1)
		section('Also seen', ...D.findings.slice(1).map(f => el('div', '',
			el('h3', '', f.title + (f.share > 0 ? ', ' + percent(f.share) : '') + ', ' +
				f.confidence + ' confidence'),
			el('p', 'break', f.summary))));
	if (D.compared) {
		const val = (c, v) => c.unit === 'ns' ? ns(Math.round(v)) : c.unit === 'share' ? percent(v) :
			c.unit === 'bytes' ? bytes(Math.round(v)) : Number(v).toPrecision(3) + (c.unit ? ' ' + c.unit : '');
		section('Against the baseline', !D.changes.length
			? el('p', '', 'the same: requests, waits and functions as they were')
			: el('ul', '', D.changes.map(c =>
				el('li', '', c.what + ': ' + val(c, c.is) + ', was ' + val(c, c.was)))));
	}
}

/* ---- tail ---- */

const stalls = D.tail ? D.tail.stalls : [];

function tail() {
	if (!stalls.length) return;
	const T = D.tail;
	section('Tail: what holds up the slow requests',
		el('p', 'soft small', count(T.slow_cnt) + ' of ' + count(T.requests) + ' requests took ' +
			ns(T.slow_ns) + ' or more; p50 ' + ns(T.p50_ns) + ', p99 ' + ns(T.p99_ns) +
			', p99.9 ' + ns(T.p999_ns)),
		...stalls.map(s => el('div', '', el('h3', '', s.title + ', ' + percent(s.share) + ', ' +
			s.confidence + ' confidence'), el('p', 'break', s.summary), ...reasons(s))));
}

/* Over the lanes of those who are to blame: when they held requests up. */
function drawStalls(ctx, thread, T, height) {
	ctx.fillStyle = '#e03131';
	for (const s of stalls) {
		if (s.culprit.pid !== thread.pid || (s.culprit.tid && s.culprit.tid !== thread.tid)) continue;
		for (const a of s.at) {
			const x = a.begin_ns / D.window.length_ns * T.columns;
			ctx.fillRect(x, height - 3, Math.max(a.length_ns / D.window.length_ns * T.columns, 1), 3);
		}
	}
}

/* ---- functions to blame ---- */

function functions() {
	const F = D.functions;
	if (!F) return;
	const title = !F.top.length || F.not_told.some(n => n.name === 'no-deviation') ? 'Functions' :
		mood === 'good' ? 'Functions that stand out' : 'Functions to blame';
	table(title, F.top, [num('rank', r => r.rank, String), ['function', r => r.name, r => r.name, 'wide'],
		['file', r => r.module], num('of the harm', r => r.harm_share, percent),
		['why', r => r.why, r => r.why, 'wide']], 0);
	const last = F.top.length ? page.lastElementChild : section(title);
	const lines = [F.outside, ...F.not_told.map(n => n.words),
		count(F.calls) + ' system calls, ' + ns(F.harm_ns) + ' more than usual. All of it: ' + F.more];
	last.append(...lines.filter(Boolean).map(t => el('p', 'soft small break', t)));
}

/* ---- timeline ---- */

const COLOURS = {
	run: '#2f9e58', runq: '#f08c00', futex: '#d6336c', klock: '#a61e4d', flock: '#c2255c', sysv: '#b33a7a',
	pipe: '#0c8599', socket: '#1c7ed6', epoll: '#b6c6d8', poll: '#a6bbd0', timer: '#868e96', child: '#5c7cfa',
	file: '#845ef7', fsync: '#6b3fd4', dirty: '#9c36b5', fault: '#e8590c', reclaim: '#d9480f',
	throttle: '#e6b800', iouring: '#4c6ef5', aio: '#7048e8', signal: '#74808c', stopped: '#343a40',
	event: '#66a5ad', kidle: '#d5dae0', other: '#8a7f70',
};
const colour = st => COLOURS[st] || '#8a7f70';
const threadName = t => clean(t.comm) + ' ' + (t.pid === t.tid ? t.pid : t.pid + '/' + t.tid);

function drawLane(canvas, runs, T, thread) {
	const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = 14;
	const ctx = canvas.getContext('2d');
	canvas.width = Math.max(1, Math.round(width * ratio));
	canvas.height = height * ratio;
	ctx.scale(canvas.width / T.columns, ratio);
	let col = 0;
	for (const run of runs) {
		let y = 0;
		for (let k = 1; k < run.length; k += 2) {
			const h = run[k + 1] / T.parts * height;
			ctx.fillStyle = colour(T.states[run[k]]);
			ctx.fillRect(col, y, run[0] + 0.05, k + 2 >= run.length && y + h > height - 1.5 ? height - y : h);
			y += h;
		}
		col += run[0];
	}
	drawStalls(ctx, thread, T, height);
}

function laneTip(ev, canvas, thread, runs, T) {
	const box = canvas.getBoundingClientRect();
	let at = Math.floor((ev.clientX - box.left) / box.width * T.columns), col = 0;
	const t = (at + 0.5) / T.columns * D.window.length_ns;
	for (const run of runs) {
		col += run[0];
		if (at >= col) continue;
		const parts = [];
		for (let k = 1; k < run.length; k += 2)
			parts.push([T.states[run[k]], run[k + 1] / T.parts]);
		parts.sort((a, b) => b[1] - a[1]);
		showTip(ev, threadName(thread) + ', at ' + ns(Math.round(t)) + '\n' +
			(parts.map(p => p[0] + ' ' + percent(p[1])).join(', ') || 'not alive or not seen'));
		return;
	}
}

function lane(row, T) {
	const thread = D.threads[row[0]], canvas = el('canvas', '');
	canvas.setAttribute('role', 'img');
	canvas.setAttribute('aria-label', threadName(thread) + ': ' + mixText(thread));
	const label = el('span', '', threadName(thread) + (thread.role ? ' · ' + thread.role : ''));
	label.title = label.textContent;
	const node = el('div', 'lane', label, canvas);
	canvas.addEventListener('mousemove', ev => laneTip(ev, canvas, thread, row[1], T));
	canvas.addEventListener('mouseleave', hideTip);
	return { node, canvas, thread, runs: row[1] };
}

function redDot() {
	const dot = el('i', '');
	dot.style.background = '#e03131';
	return dot;
}

function legend(T) {
	const used = new Set();
	for (const row of T.rows)
		for (const run of row[1])
			for (let k = 1; k < run.length; k += 2) used.add(T.states[run[k]]);
	const words = { run: 'running', runq: 'waiting for a CPU', throttle: 'held back by quota', kidle: 'idle (kernel)' };
	return el('div', 'legend', T.states.filter(s => used.has(s)).map(s => {
		const dot = el('i', '');
		dot.style.background = colour(s);
		return el('span', '', dot, words[s] || s);
	}), stalls.length ? el('span', '', redDot(), 'holds requests up (a stall)') : null);
}

function axis() {
	const ticks = el('div', 'ticks');
	for (let i = 0; i <= 4; i++) {
		const b = el('b', '', i ? ns(Math.round(D.window.length_ns * i / 4)) : '0');
		b.style.left = i * 25 + '%';
		ticks.append(b);
	}
	return el('div', 'lane axis', el('span', ''), ticks);
}

function timeline() {
	const T = D.timeline, STEP = 30;
	if (!T.rows.length) return;
	const box = el('div', ''), note = el('span', 'soft small'), filter = el('input', '');
	const more = el('button', 'more', 'Show more');
	let limit = STEP, lanes = [];
	filter.type = 'search';
	filter.placeholder = 'thread, tid or role';
	filter.setAttribute('aria-label', 'filter the threads of the timeline');
	function redraw() { for (const l of lanes) drawLane(l.canvas, l.runs, T, l.thread); }
	function update() {
		const want = filter.value.trim().toLowerCase();
		const rows = T.rows.filter(r => !want ||
			(threadName(D.threads[r[0]]) + ' ' + D.threads[r[0]].role).toLowerCase().includes(want));
		lanes = rows.slice(0, limit).map(r => lane(r, T));
		box.replaceChildren(axis(), ...lanes.map(l => l.node));
		const hidden = rows.length - lanes.length;
		note.textContent = 'busiest first: ' + lanes.length + ' of ' + (T.rows.length + T.hidden) + ' threads' +
			(hidden ? ', ' + hidden + ' more match' : '') +
			(T.hidden ? ', ' + T.hidden + ' quieter ones are in the table only' : '');
		more.hidden = !hidden;
		redraw();
	}
	filter.addEventListener('input', () => { limit = STEP; update(); });
	more.addEventListener('click', () => { limit += 100; update(); });
	section('States of the threads over time', el('div', 'bar', T.rows.length > 8 ? filter : null, note), legend(T), box, more);
	update();
	new ResizeObserver(redraw).observe(box);
	addEventListener('beforeprint', redraw);
}

/* ---- tables ---- */

function mixOf(thread) {
	const all = Object.entries(thread.states_ns).sort((a, b) => b[1] - a[1]);
	const sum = all.reduce((s, e) => s + e[1], 0) || 1;
	return all.map(e => [e[0], e[1] / sum]);
}
const mixText = thread => mixOf(thread).filter(e => e[1] >= 0.0005)
	.map(e => e[0] + ' ' + (e[1] * 100).toFixed(1) + ' %').join(', ');

function mixCell(thread) {
	const bar = el('div', 'mix');
	for (const [state, part] of mixOf(thread)) {
		const seg = el('div', '');
		seg.style.width = part * 100 + '%';
		seg.style.background = colour(state);
		bar.append(seg);
	}
	return bar;
}

/* columns: [head, value for sorting, text or node (optional), class (optional)] */
function table(title, rows, columns, omitted, open) {
	if (!rows.length) return;
	const STEP = 50, body = el('tbody', ''), head = el('tr', ''), note = el('span', 'soft small');
	const filter = el('input', ''), more = el('button', 'more', 'Show more');
	let limit = open || STEP, order = rows, sorted = -1, up = false;
	const cellText = (c, r) => c[2] ? c[2](r) : c[1](r);
	const flat = r => columns.map(c => { const t = cellText(c, r); return t instanceof Node ? c[1](r) : t; })
		.join(' ').toLowerCase();
	filter.type = 'search';
	filter.placeholder = 'filter';
	filter.setAttribute('aria-label', 'filter ' + title);
	function update() {
		const want = filter.value.trim().toLowerCase();
		const match = want ? order.filter(r => flat(r).includes(want)) : order;
		body.replaceChildren(...match.slice(0, limit).map(r => el('tr', '',
			columns.map(c => el('td', c[3] || '', cellText(c, r))))));
		const hidden = Math.max(0, match.length - limit);
		more.hidden = !hidden;
		note.textContent = (want ? match.length + ' match' : hidden ? limit + ' of ' + rows.length : '') +
			(omitted ? (want || hidden ? '; ' : '') + omitted + ' more rows are not in this page: see --json' : '');
	}
	function sort(i) {
		up = sorted === i ? !up : typeof columns[i][1](rows[0]) === 'string';
		sorted = i;
		order = [...rows].sort((a, b) => {
			const x = columns[i][1](a), y = columns[i][1](b);
			return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
		});
		[...head.children].forEach((th, k) => {
			if (k === i) th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
			else th.removeAttribute('aria-sort');
			th.firstChild.textContent = columns[k][0] + (k === i ? up ? ' ▲' : ' ▼' : '');
		});
		update();
	}
	columns.forEach((c, i) => {
		const button = el('button', '', c[0]);
		button.addEventListener('click', () => sort(i));
		head.append(el('th', c[3] === 'num' ? 'num' : '', button));
	});
	filter.addEventListener('input', update);
	more.addEventListener('click', () => { limit += 200; update(); });
	section(title, rows.length > 8 || omitted ? el('div', 'bar', filter, note) : null,
		el('div', 'scroll', el('table', '', el('thead', '', head), body)), more);
	update();
}

const num = (name, value, format) => [name, value, r => dash(value(r), format), 'num'];
const proc = r => (r.comm || '') + (r.pid ? ' ' + r.pid : '');
const peer = r => r.peer_pid ? (r.peer_comm || '') + ' ' + r.peer_pid : '';
const resName = r => r.resource ? r.resource.name : '';

function tables() {
	const cut = D.omitted;
	table('Requests', D.requests, [['process', proc], num('answered', r => r.turns, count),
		num('per second', r => r.per_second, v => v.toFixed(1)), num('p50', r => r.p50_ns, ns),
		num('p99', r => r.p99_ns, ns), num('longest', r => r.answer_max_ns, ns),
		num('unread for', r => r.queue_ns, ns), num('open, mean', r => r.open_mean, v => v.toFixed(2)),
		num('open at end', r => r.open_at_end, count), num('oldest', r => r.open_oldest_ns, ns),
		num('connections', r => r.connections, count)], 0);
	table('Threads', D.threads, [['process', r => r.pid], ['tid', r => r.tid], ['name', r => r.comm],
		['role', r => r.role], ['states', mixText, mixCell], ['shares of its time', mixText, mixText, 'wide'],
		num('idle', r => r.idle_ns, ns), num('blocked', r => r.blocked_ns, ns),
		num('waits', r => r.waits, count)], cut.threads, 25);
	table('Locks', D.locks, [['lock', resName, resName, 'wide'], ['class', r => r.class],
		num('waited', r => r.wait_ns, ns), num('waits', r => r.waits, count), num('longest', r => r.max_ns, ns),
		num('waiters', r => r.waiters, count), num('held each time', r => r.hold_ns, ns),
		num('holders', r => r.holders, count), ['held longest by', r => who(r.holder)]], cut.locks, 25);
	table('Resources', D.resources, [['kind', r => r.kind], ['resource', r => r.name, r => r.name, 'wide'],
		['other end', peer], num('waited', r => r.wait_ns, ns), num('waits', r => r.waits, count),
		num('wake-ups', r => r.wakes, count), num('waiters', r => r.waiters, count),
		num('wakers', r => r.wakers, count)], cut.resources, 25);
	table('Who waited for whom', D.edges, [['waiter', r => who(r.from)], ['state', r => r.state],
		['resource', resName, resName, 'wide'], ['woken by', r => who(r.to) || r.waker],
		num('time', r => r.ns, ns), num('longest', r => r.max_ns, ns), num('times', r => r.count, count)],
		cut.edges, 25);
	table('Where the demand ends', D.causes, [['cause', r => r.cause], ['thread', r => who(r.thread)],
		['resource', resName, resName, 'wide'], num('time', r => r.ns, ns),
		num('longest', r => r.max_ns, ns), num('intervals', r => r.count, count),
		num('hops', r => r.hops, String)], cut.causes, 15);
	table('Conversations', D.conversations, [['process', proc], ['side', r => r.role],
		['with', r => r.name, r => r.name, 'wide'], ['other end', peer], num('turns', r => r.turns, count),
		num('p50', r => r.p50_ns, ns), num('p99', r => r.p99_ns, ns),
		num('longest', r => r.answer_max_ns, ns), num('unread for', r => r.queue_ns, ns),
		num('connections', r => r.connections, count), num('in', r => r.rx_bytes, bytes),
		num('out', r => r.tx_bytes, bytes)], cut.conversations, 25);
	const devs = new Map(D.devices.map(d => [d.dev, d.name]));
	table('Disks', D.devices, [['disk', r => r.name],
		num('busy', r => r.busy_ns / D.window.length_ns, percent),
		num('in flight, mean', r => r.inflight_ns / D.window.length_ns, v => v.toFixed(2))], 0);
	table('Who used the disks', D.disk_users, [['disk', r => devs.get(r.dev) || '?'], ['process', proc],
		['operation', r => r.op], num('requests', r => r.ios, count), num('bytes', r => r.bytes, bytes),
		num('time each', r => r.ios ? r.latency_ns / r.ios : 0, v => ns(Math.round(v))),
		num('longest', r => r.latency_max_ns, ns)], 0, 25);
	table('Who ran while a thread waited for a CPU', D.cpu_takers, [['held back', r => r.victim_pid],
		['by', r => r.pid ? proc(r) : 'nobody: the CPU was free'], num('for', r => r.ns, ns),
		num('times', r => r.count, count)], cut.cpu_takers, 15);
	table('Control groups', D.cgroups, [['cgroup', r => r.path, r => r.path, 'wide'],
		['quota', r => r.quota_ns, r => r.quota_ns ? (r.quota_ns / r.period_ns).toFixed(2) + ' CPUs' : 'none'],
		num('throttled', r => r.throttled, count), num('for', r => r.throttled_ns, ns),
		num('memory', r => r.memory_bytes, bytes), num('limit', r => r.memory_limit_bytes, bytes)], 0);
}

function foot() {
	const s = D.self, w = D.window;
	const lost = Object.entries(s.losses).filter(e => e[1]).map(e => count(e[1]) + ' ' + e[0]);
	section('How this was seen',
		el('p', 'break', 'Cost: ' + count(s.events) + ' events, ' + ns(s.start_cpu_ns) +
			' of CPU to start, then ' + ns(s.cpu_ns - s.start_cpu_ns) + ' (' +
			percent(s.cpu_cores) + ' of a core), in the kernel ' + ns(s.bpf_ns) + ' (' +
			percent(s.bpf_cores) + '), ' + bytes(s.rss_max_bytes || s.rss_bytes) + ' of memory.'),
		el('p', '', 'Lost: ' + (lost.join(', ') || 'nothing') + (s.waits_summed_only ? '; ' +
			count(s.waits_summed_only) + ' waits kept as sums only' : '') + (s.cascades_cut ? '; ' +
			count(s.cascades_cut) + ' cascades cut' : '') + '.'),
		el('p', 'soft small break', w.command + ' · ' + w.selection + ' · Linux ' + w.kernel + ', ' + w.cpus + ' CPUs'),
		D.notes.length ? el('ul', 'small', D.notes.map(n => el('li', '', n.text))) : null);
}

hero();
candidates();
chainAndReasons();
tail();
functions();
otherFindings();
if (D.flame && D.flame.modes.some(m => m.depth.length))
	flame(section('Flame graph: where the threads ran and waited'), D.flame);
timeline();
tables();
foot();
}());
