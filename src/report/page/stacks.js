/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `heldup stacks`: a head and the flame graph. */
(function () {
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const text = (tag, cls, s) => {
	const node = document.createElement(tag);
	if (cls) node.className = cls;
	node.textContent = s;
	return node;
};
const head = document.createElement('section');
const body = document.createElement('section');
const w = D.window;

head.append(text('h1', '', 'Stacks of ' + w.selection),
	text('p', 'soft small break', 'watched ' + (w.length_ns / 1e9).toFixed(1) + ' s' +
		(w.host ? ' on ' + w.host : '') +
		(w.begin ? ', ' + w.begin.replace('T', ' ').replace('Z', ' UTC') : '') + ' · ' + w.command));
if (D.base)
	head.append(text('p', 'soft small break', 'compared with ' + D.base.selection + ', ' +
		(D.base.length_ns / 1e9).toFixed(1) + ' s' + (D.base.begin ? ' from ' + D.base.begin : '')));
for (const s of D.unseen) head.append(text('p', 'soft small', s));
page.append(head, body);
flame(body, D.flame);
document.documentElement.dataset.drawn = '1';
}());
