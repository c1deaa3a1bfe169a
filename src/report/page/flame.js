/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph: flame(holder, data) draws it and all that works it.  The
 * outermost is at the top.  A tree comes as columns, in the order of a walk
 * from the outside in: depth, function and time of each node.  Only what is
 * in view and wider than a hair is drawn, so that 100,000 nodes stay fluent.
 * Names reach the page only as canvas text and text nodes.
 */
const flame = (function () {
'use strict';

const ROW = 19, HAIR = 0.4, TEXT_FROM = 26, TABLE_ROWS = 15;
const STATE = {
	run: '#2f9e58', runq: '#f08c00', futex: '#d6336c', klock: '#a61e4d', flock: '#c2255c', sysv: '#b33a7a',
	pipe: '#0c8599', socket: '#1c7ed6', epoll: '#7f97b2', poll: '#7f97b2', timer: '#868e96', child: '#5c7cfa',
	file: '#845ef7', fsync: '#6b3fd4', dirty: '#9c36b5', fault: '#e8590c', reclaim: '#d9480f',
	throttle: '#c9a000', iouring: '#4c6ef5', aio: '#7048e8', signal: '#74808c', stopped: '#5c6369',
	event: '#4f949c', kidle: '#9aa3ab', other: '#8a7f70',
};
const STATE_WORDS = { /* where the short name is no word */
	run: 'running', runq: 'waiting for a CPU', klock: 'kernel lock', flock: 'file lock', sysv: 'System V semaphore',
	fault: 'page fault', dirty: 'held back as a writer', throttle: 'out of CPU quota', iouring: 'io_uring',
	aio: 'asynchronous I/O', kidle: 'idle in the kernel', child: 'child process',
};
const stateText = s => STATE_WORDS[s] || s;
const MODES = { 'on-cpu': 'On the CPU', 'off-cpu': 'Off the CPU', waker: 'Who ended the waits' };
const KINDS = ['#d9763a', '#3f7fbf', '#5aa469', '#4a5560', '#5b6875', '#8a5ba6', '#a02c2c', '#77808a', '#77808a'];
const KIND_NAMES = ['program', 'kernel', 'JIT', 'process', 'thread', 'resource', 'woken by', 'no stack', 'not whole'];
const RES = 5, WOKEN = 6;

const clean = s => String(s).replace(
	/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
	c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
const three = v => v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : v.toFixed(0);
function time(v) {
	if (!v) return '0';
	if (v < 1000) return Math.round(v) + ' ns';
	if (v < 999500) return three(v / 1e3) + ' µs';
	if (v < 999500000) return three(v / 1e6) + ' ms';
	return three(v / 1e9) + ' s';
}
function percent(p) {
	p *= 100;
	return (p === 0 ? '0' : p < 10 ? p.toFixed(1) : p.toFixed(0)) + ' %';
}
function el(tag, cls, ...kids) {
	const node = document.createElement(tag);
	if (cls) node.className = cls;
	node.append(...kids.map(k => k instanceof Node ? k : clean(k)));
	return node;
}
function hashColour(text) {
	let h = 7;
	for (let i = 0; i < text.length; i++) h = h * 31 + text.charCodeAt(i) >>> 0;
	return `hsl(${h % 360} 45% ${42 + h % 13}%)`;
}

/* Where each node begins and where its part of the walk ends, from depths and times. */
function lay(tree) {
	const n = tree.depth.length;
	tree.begin = new Float64Array(n);
	tree.end = new Int32Array(n);
	tree.self = new Float64Array(n);
	tree.parent = new Int32Array(n);
	const open = [], used = [0];
	tree.total = tree.deepest = 0;
	for (let i = 0; i < n; i++) {
		const d = tree.depth[i];
		while (open.length > d) tree.end[open.pop()] = i;
		const up = d ? open[d - 1] : -1, w = weight(tree, i);
		tree.begin[i] = d ? tree.begin[up] + used[d] : tree.total;
		tree.parent[i] = up;
		tree.self[i] = w;
		if (d) { used[d] += w; tree.self[up] -= w; } else tree.total += w;
		used[d + 1] = 0;
		open.push(i);
		tree.deepest = Math.max(tree.deepest, d);
	}
	while (open.length) tree.end[open.pop()] = n;
	return tree;
}
/* With two recordings a node is as wide as the wider of the two would be. */
const weight = (tree, i) => tree.ns[i] + (tree.was ? tree.was[i] : 0);

/*
 * The same without its outermost levels, merged by function: with skip 2, process and thread.
 * Waits for work are left out, or not.
 */
function regroup(tree, skip, idle) {
	const kids = [new Map()], fn = [0], ns = [0], was = [0], states = [new Map()], path = [0];
	const all = lay({ ...tree, ns: idle && tree.idle ? tree.ns.map((v, i) => v + tree.idle[i]) : tree.ns });
	for (let i = 0; i < all.depth.length; i++) {
		const d = all.depth[i] - skip + 1;
		if (d < 1 || !weight(all, i)) continue;
		path.length = d;
		const up = kids[path[d - 1]];
		let at = up.get(all.fn[i]);
		if (at === undefined) {
			at = fn.length;
			up.set(all.fn[i], at);
			kids.push(new Map());
			fn.push(all.fn[i]); ns.push(0); was.push(0); states.push(new Map());
		}
		ns[at] += all.ns[i];
		was[at] += all.was ? all.was[i] : 0;
		path.push(at);
		/* each place's own time counts for its state in all that it lies in */
		for (let k = 1; k < path.length && all.self[i] > 0; k++)
			states[path[k]].set(all.st[i], (states[path[k]].get(all.st[i]) || 0) + all.self[i]);
	}
	const most = of => [...of].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0];
	const out = { mode: tree.mode, depth: [], fn: [], ns: [], st: [], was: tree.was ? [] : null };
	const ahead = [[0, -1]];
	while (ahead.length) {
		const [at, d] = ahead.pop();
		if (at) {
			out.depth.push(d); out.fn.push(fn[at]); out.ns.push(ns[at]); out.st.push((most(states[at]) || [0])[0]);
			if (out.was) out.was.push(was[at]);
		}
		const next = [...kids[at].values()].sort((a, b) => ns[a] + was[a] - ns[b] - was[b]);
		for (const kid of next) ahead.push([kid, d + 1]);
	}
	return out;
}

return function (holder, F) {
	const bar = el('div', 'bar flame-bar'), crumbs = el('div', 'soft small flame-crumbs');
	const view = el('div', 'flame-view'), space = el('div', 'flame-space'), canvas = el('canvas', '');
	const legend = el('div', 'legend'), found = el('span', 'soft small'), side = el('div', 'scroll');
	const search = el('input', ''), tip = el('div', 'flame-tip');
	const colourBy = el('select', ''), threads = el('input', ''), sleepers = el('input', '');
	const state = { mode: 0, zoom: -1, hover: -1, want: null, hits: null };
	const merged = [];
	const ctx = canvas.getContext('2d');
	let tree, box = { width: 0, height: 0 }, pending = false, chosen = false;

	function fnColour(i) {
		const f = F.fns[tree.fn[i]], how = colourBy.value;
		if (how === 'change' && tree.was) {
			const is = tree.ns[i] / F.seconds[0], was = tree.was[i] / F.seconds[1];
			const part = is + was ? (is - was) / (is + was) : 0, s = Math.round(Math.abs(part) * 75);
			return `hsl(${part > 0 ? 5 : 215} ${s}% ${62 - Math.round(Math.abs(part) * 18)}%)`;
		}
		if (how === 'module') return f[2] > 2 ? KINDS[f[2]] : hashColour(f[1] || KIND_NAMES[f[2]]);
		if (how === 'resource' && (f[2] <= 2 || f[2] >= RES)) return STATE[F.states[tree.st[i]]] || STATE.other;
		return KINDS[f[2]];
	}
	function span() {
		const z = state.zoom;
		return z < 0 ? [0, tree.total || 1] : [tree.begin[z], weight(tree, z) || 1];
	}
	function nodeText(i) {
		const f = F.fns[tree.fn[i]];
		return clean(f[0]) + (f[1] && !f[0].startsWith(f[1]) ? ' [' + clean(f[1]) + ']' : f[2] === 1 ? ' [kernel]' : '');
	}
	function drawNode(i, x, w, y) {
		const dimmed = state.hits && !state.hits.has(tree.fn[i]);
		ctx.globalAlpha = dimmed ? 0.28 : 1;
		ctx.fillStyle = fnColour(i);
		ctx.fillRect(x, y, Math.max(w - 0.6, HAIR), ROW - 1);
		if (w > TEXT_FROM) {
			const room = Math.floor((w - 7) / 6.7), text = nodeText(i);
			ctx.fillStyle = '#fff';
			ctx.fillText(text.length > room ? text.slice(0, Math.max(0, room - 1)) + '…' : text, x + 4, y + 13.5);
		}
		if (i === state.hover) {
			ctx.globalAlpha = 1;
			ctx.strokeStyle = getComputedStyle(holder).color;
			ctx.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - 1.5), ROW - 2);
		}
	}
	function draw() {
		pending = false;
		const ratio = devicePixelRatio || 1, [from, len] = span(), scale = box.width / len;
		const top = view.scrollTop, first = Math.floor(top / ROW) - 1, last = (top + box.height) / ROW;
		canvas.style.transform = `translateY(${top}px)`;
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.clearRect(0, 0, box.width, box.height);
		ctx.font = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
		for (let i = 0; i < tree.depth.length;) {
			const x = (tree.begin[i] - from) * scale, w = weight(tree, i) * scale;
			if (x + w <= 0 || x >= box.width || w < HAIR || tree.depth[i] > last) {
				i = tree.end[i];
				continue;
			}
			const left = Math.max(0, x), right = Math.min(box.width, x + w);
			if (tree.depth[i] >= first) drawNode(i, left, right - left, tree.depth[i] * ROW - top);
			i++;
		}
		ctx.globalAlpha = 1;
	}
	function later() {
		if (!pending) { pending = true; requestAnimationFrame(draw); }
	}
	function nodeAt(x, y) {
		const [from, len] = span(), at = from + x / box.width * len, depth = Math.floor((y + view.scrollTop) / ROW);
		for (let i = 0; i < tree.depth.length;) {
			if (at < tree.begin[i] || at >= tree.begin[i] + weight(tree, i)) i = tree.end[i];
			else if (tree.depth[i] === depth) return i;
			else i++;
		}
		return -1;
	}
	function tell(i) {
		const all = tree.total || 1, lines = [nodeText(i)];
		if (tree.was) {
			lines.push('now ' + time(tree.ns[i] / F.seconds[0]) + ', was ' + time(tree.was[i] / F.seconds[1]) + ' a second');
		} else {
			lines.push(time(tree.ns[i]) + ', ' + percent(tree.ns[i] / all) + ' of all; itself ' + time(tree.self[i]));
			if (state.zoom >= 0) lines.push(percent(tree.ns[i] / weight(tree, state.zoom)) + ' of what is zoomed to');
		}
		if (F.fns[tree.fn[i]][2] <= 2) lines.push('mostly: ' + stateText(F.states[tree.st[i]]));
		return lines.join('\n');
	}
	function zoom(i) {
		state.zoom = i;
		const path = [];
		for (let at = i; at >= 0; at = tree.parent[at]) path.push(at);
		const all = el('button', '', 'all');
		all.addEventListener('click', () => zoom(-1));
		crumbs.replaceChildren(all);
		for (const at of path.reverse().slice(-6)) {
			const b = el('button', '', F.fns[tree.fn[at]][0]);
			b.addEventListener('click', () => zoom(at));
			crumbs.append(' › ', b);
		}
		size();
	}
	function look() {
		const text = search.value.trim();
		state.hits = null;
		found.textContent = '';
		if (text) {
			let match = s => s.toLowerCase().includes(text.toLowerCase());
			try { const re = new RegExp(text, 'i'); match = s => re.test(s); } catch (e) { /* as plain text */ }
			state.hits = new Set();
			F.fns.forEach((f, k) => { if (match(f[0]) || match(f[1])) state.hits.add(k); });
			let sum = 0, cnt = 0;
			for (let i = 0; i < tree.depth.length;) {
				const hit = state.hits.has(tree.fn[i]);
				if (hit) { sum += weight(tree, i); cnt++; }
				i = hit ? tree.end[i] : i + 1;
			}
			found.textContent = percent(sum / (tree.total || 1)) + ' of the time, ' + cnt + ' places';
		}
		later();
	}
	function deepestIn(z) {
		if (z < 0) return tree.deepest;
		let d = tree.depth[z];
		for (let i = z; i < tree.end[z]; i++) d = Math.max(d, tree.depth[i]);
		return d;
	}
	function size() {
		const ratio = devicePixelRatio || 1, rows = deepestIn(state.zoom) + 1;
		space.style.height = rows * ROW + 'px';
		view.style.height = Math.min(rows * ROW + 2, Math.max(260, innerHeight * 0.72)) + 'px';
		box = { width: view.clientWidth, height: view.clientHeight };
		canvas.width = Math.max(1, Math.round(box.width * ratio));
		canvas.height = Math.max(1, Math.round(box.height * ratio));
		canvas.style.width = box.width + 'px';
		canvas.style.height = box.height + 'px';
		draw();
	}
	function showLegend() {
		const used = new Map();
		for (let i = 0; i < tree.depth.length; i++) {
			const f = F.fns[tree.fn[i]], how = colourBy.value;
			if (tree.self[i] <= 0 && how !== 'kind') continue;
			const name = how === 'resource' ? stateText(F.states[tree.st[i]]) : how === 'module' ? f[1] || KIND_NAMES[f[2]] : KIND_NAMES[f[2]];
			const old = used.get(name) || { ns: 0, colour: fnColour(i) };
			old.ns += tree.self[i];
			used.set(name, old);
		}
		if (colourBy.value === 'change') {
			legend.replaceChildren(el('span', '', 'red: more time a second than before; blue: less'));
			return;
		}
		legend.replaceChildren(...[...used].sort((a, b) => b[1].ns - a[1].ns).slice(0, 12).map(([name, v]) => {
			const dot = el('i', '');
			dot.style.background = v.colour;
			return el('span', '', dot, name);
		}));
	}
	/* Where in the program a wait is: outside the kernel and the C library; with a waker, where that is. */
	function siteOf(stack) {
		const path = [...stack], woken = path.findIndex(f => F.fns[f][2] === WOKEN);
		const own = f => (F.fns[f][2] === 0 && !F.fns[f][3]) || F.fns[f][2] === 2;
		return woken < 0 ? path.reverse().find(own) : path.slice(woken).find(own);
	}
	/* By function: the time in it, and in it with what it calls. */
	function showTops() {
		const self = new Map(), all = new Map(), on = new Map(), stack = [];
		for (let i = 0; i < tree.depth.length; i++) {
			while (stack.length > tree.depth[i]) { const f = stack.pop(); on.set(f, on.get(f) - 1); }
			const f = tree.fn[i];
			if (!on.get(f)) all.set(f, (all.get(f) || 0) + weight(tree, i));
			on.set(f, (on.get(f) || 0) + 1);
			stack.push(f);
			const at = tree.self[i] > 0 && tree.mode !== 'on-cpu' ? siteOf(stack) : f;
			if (at !== undefined) self.set(at, (self.get(at) || 0) + tree.self[i]);
		}
		const real = f => F.fns[f][2] <= 2;
		const rows = [...all].filter(e => real(e[0])).sort((a, b) => ((self.get(b[0]) || 0) - (self.get(a[0]) || 0)) || b[1] - a[1]);
		const whole = tree.total || 1, body = el('tbody', '');
		for (const [f, ns] of rows.slice(0, TABLE_ROWS)) {
			const pick = el('button', 'link', F.fns[f][0]);
			pick.addEventListener('click', () => { search.value = '^' + F.fns[f][0].replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '$'; look(); });
			body.append(el('tr', '', el('td', 'num', percent((self.get(f) || 0) / whole)), el('td', 'num', percent(ns / whole)),
				el('td', 'wide', pick), el('td', '', F.fns[f][1] || KIND_NAMES[F.fns[f][2]])));
		}
		side.replaceChildren(el('table', '', el('thead', '', el('tr', '', el('th', 'num', tree.mode === 'on-cpu' ? 'itself' : 'waits there'),
			el('th', 'num', 'with callees'), el('th', '', 'function'), el('th', '', 'module'))), body));
	}
	function show() {
		const source = F.modes[state.mode];
		const idle = sleepers.checked, made = state.mode * 4 + threads.checked * 2 + idle;
		tree = merged[made] = merged[made] || lay(threads.checked && !source.idle ? source
			: regroup(source, threads.checked ? 0 : 2, idle));
		state.hover = -1;
		if (!chosen) colourBy.value = tree.was ? 'change' : tree.mode === 'on-cpu' ? 'kind' : 'resource';
		[...bar.querySelectorAll('button.mode')].forEach((b, k) => b.setAttribute('aria-pressed', k === state.mode));
		note.textContent = tree.was ? '' : (!tree.depth.length ? 'no stack was taken here: ' : '') +
			time(source.total_ns) + ' in all' + (source.total_ns > source.covered_ns ?
			', stacks for ' + percent(source.covered_ns / source.total_ns) + ' of it' : '') +
			(source.idle_ns ? '; ' + time(source.idle_ns) + ' of waiting for work ' +
				(idle && source.idle ? 'beside it' : 'left out') : '') +
			(source.hidden ? '; ' + source.hidden + ' of the lightest places left out' : '');
		zoom(-1);
		look();
		showLegend();
		showTops();
	}
	const note = el('p', 'soft small');

	F.modes.forEach((m, k) => {
		const b = el('button', 'mode', MODES[m.mode] || m.mode);
		b.addEventListener('click', () => { state.mode = k; show(); });
		bar.append(b);
	});
	for (const [value, text] of [['resource', 'colour: what was waited for'], ['kind', 'colour: kernel, program, JIT'],
		['module', 'colour: module'], ...F.modes.some(m => m.was) ? [['change', 'colour: change']] : []]) {
		const o = el('option', '', text);
		o.value = value;
		colourBy.append(o);
	}
	colourBy.setAttribute('aria-label', 'colours');
	colourBy.addEventListener('change', () => { chosen = true; showLegend(); later(); });
	threads.type = 'checkbox';
	threads.checked = true;
	threads.addEventListener('change', show);
	search.type = 'search';
	search.placeholder = 'search functions (regular expression)';
	search.setAttribute('aria-label', 'search functions');
	search.addEventListener('input', look);
	sleepers.type = 'checkbox';
	sleepers.className = 'sleepers';
	sleepers.addEventListener('change', show);
	bar.append(search, found, colourBy, el('label', 'small', threads, ' by thread'));
	if (F.modes.some(m => m.idle)) bar.append(el('label', 'small', sleepers, ' waits for work too'));
	view.tabIndex = 0;
	view.setAttribute('role', 'img');
	view.setAttribute('aria-label', 'flame graph; the table below has the same functions');
	space.append(canvas);
	view.append(space);
	tip.hidden = true;
	view.addEventListener('scroll', later);
	view.addEventListener('keydown', ev => {
		if (ev.key === 'Escape' || ev.key === 'Backspace') zoom(state.zoom < 0 ? -1 : tree.parent[state.zoom]);
	});
	canvas.addEventListener('mousemove', ev => {
		const r = canvas.getBoundingClientRect(), i = nodeAt(ev.clientX - r.left, ev.clientY - r.top);
		if (i !== state.hover) { state.hover = i; later(); }
		tip.hidden = i < 0;
		if (i < 0) return;
		tip.textContent = tell(i);
		const b = tip.getBoundingClientRect();
		tip.style.left = Math.max(4, Math.min(ev.clientX + 14, innerWidth - b.width - 8)) + 'px';
		tip.style.top = (ev.clientY + 20 + b.height > innerHeight ? ev.clientY - b.height - 10 : ev.clientY + 20) + 'px';
	});
	canvas.addEventListener('mouseleave', () => { tip.hidden = true; state.hover = -1; later(); });
	canvas.addEventListener('click', ev => {
		const r = canvas.getBoundingClientRect(), i = nodeAt(ev.clientX - r.left, ev.clientY - r.top);
		if (i >= 0) zoom(i === state.zoom ? tree.parent[i] : i);
	});
	holder.append(bar, note, legend, crumbs, view, side, tip);
	/* Begins where most of what can be shown is; at waits for work where there is nothing else. */
	const drawn = (m, idle) => m.depth.reduce((sum, d, i) =>
		sum + (d ? 0 : m.ns[i] + (m.was ? m.was[i] : 0) + (idle && m.idle ? m.idle[i] : 0)), 0);
	const fullest = idle => F.modes.reduce((best, m, k) => {
		const ns = m.mode === 'waker' ? Math.min(1, drawn(m, idle)) : drawn(m, idle);
		return ns > best[0] ? [ns, k] : best;
	}, [0, -1])[1];
	if (fullest(false) < 0 && fullest(true) >= 0) sleepers.checked = true;
	state.mode = Math.max(0, fullest(sleepers.checked));
	let width = 0;
	show();
	new ResizeObserver(() => {
		if (view.clientWidth !== width) { width = view.clientWidth; size(); }
	}).observe(view);
	addEventListener('beforeprint', size);
};
}());
