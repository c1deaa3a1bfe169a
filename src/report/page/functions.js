/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `heldup functions`: the list, and behind each function its units. */
(function () {
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const make = (tag, cls, ...items) => {
	const node = document.createElement(tag);
	if (cls) node.className = cls;
	node.append(...items);
	return node;
};
const time = ns => ns >= 1e9 ? (ns / 1e9).toPrecision(3) + ' s' : ns >= 1e6 ? (ns / 1e6).toPrecision(3) + ' ms'
	: ns >= 1e3 ? (ns / 1e3).toPrecision(3) + ' us' : ns + ' ns';
const share = x => (100 * x).toPrecision(2) + ' %';
const row = (tag, cells) => make('tr', '', ...cells.map(c => make(tag, typeof c === 'number' ? 'num' : '', String(c))));
const table = (head, rows) => make('table', '', make('thead', '', row('th', head)), make('tbody', '', ...rows));

const longest = (d, of) => time(d.max_ns >= 2 * d.mean_ns ? d.max_ns : d.mean_ns) + of +
	(d.max_ns >= 2 * d.mean_ns ? ', ' + time(d.mean_ns) + ' on average' : '') +
	', usually ' + time(d.usual_ns);

function deviation(d) {
	switch (d.kind) {
	case 'more': return d.calls + ' ' + d.call + ' calls, usually ' + Math.round(d.usual_calls);
	case 'slower': return d.call + ' takes ' + longest(d, '');
	case 'never-returned': return d.call + ' did not return for ' + time(d.mean_ns);
	case 'own-time': return longest(d, ' between two calls');
	default: return 'no call for ' + time(d.mean_ns);
	}
}

function unitRow(u) {
	return row('td', [time(u.begin_ns), time(u.harm_ns), u.thread.name + ' ' + u.thread.tid,
		u.deviations.map(deviation).join('; ') + (u.waits_for ? '; waits for ' + u.waits_for.name + ' ' +
			u.waits_for.tid : ''), u.reasons.join(', ')]);
}

const w = D.window;
page.append(make('section', '', make('h1', '', 'Functions of ' + w.selection),
	make('p', 'soft small', [(w.length_ns / 1e9).toFixed(1) + ' s', w.calls + ' calls', w.source, D.sums.units + ' pieces of work',
		D.sums.abnormal_units + ' abnormal', time(D.sums.harm_ns) + ' more than usual'].filter(Boolean).join(' · '))));
if (D.outside.kind !== 'none')
	page.append(make('section', '', make('p', '', 'The cause may lie outside of the program: ' + D.outside.kind + ' ' +
		D.outside.who)));

const list = make('section', '', make('h2', '', 'Functions'));
for (const f of D.functions) {
	const name = f.rank + '. ' + f.name + '  (' + f.module + ')  score ' + f.score.toFixed(2) + ', ' +
		share(f.harm_share) + ' of the harm, ' + share(f.usual_share) + ' of the usual time' +
		(D.sums.held_ns ? ', ' + share(f.held_share) + ' of the requests\' time' : '') +
		(f.tie ? ', same as ' + (f.tie_size - 1) + ' more' : '');
	list.append(make('details', '', make('summary', '', name),
		make('ul', '', ...f.evidence.map(e => make('li', '', e.words + (e.self ? '' : ' (by functions it called)') +
			(e.episode ? ', known by ' + e.episode : '')))),
		table(['at', 'cost', 'thread', 'unlike the others', 'because'], f.units.map(i => unitRow(D.units[i])))));
}
page.append(list);
page.append(make('section', '', make('h2', '', 'Abnormal pieces of work'),
	table(['at', 'cost', 'thread', 'unlike the others', 'because'], D.units.map(unitRow))));
page.append(make('section', '', make('h2', '', 'Kinds of work'),
	table(['units', 'abnormal', 'usually', 'calls'], D.clusters.map(c =>
		row('td', [c.units, c.abnormal_units, time(c.usual_ns), c.calls.join(' ')])))));
for (const t of D.not_told) page.append(make('p', 'soft small', t.words));
document.documentElement.dataset.drawn = '1';
}());
