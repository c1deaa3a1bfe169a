/* SPDX-License-Identifier: Apache-2.0 */
/* What the pages share: text that cannot do harm, numbers, elements, the tip at the pointer. */
const parts = (function () {
'use strict';

const SVG = 'http://www.w3.org/2000/svg';
const tip = document.getElementById('tip');

/* Control and bidi characters are shown, not obeyed. */
const clean = s => String(s === null || s === undefined ? '' : s).replace(
	/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
	c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));

const three = v => v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : v.toFixed(0);
function ns(v) {
	if (v < 0) return '−' + ns(-v);
	if (!v) return '0';
	if (v < 1000) return Math.round(v) + ' ns';
	if (v < 999500) return three(v / 1e3) + ' µs';
	if (v < 999500000) return three(v / 1e6) + ' ms';
	if (v < 120e9) return three(v / 1e9) + ' s';
	return Math.floor(v / 60e9) + ' m ' + Math.floor(v / 1e9 % 60) + ' s';
}

function add(node, kids) {
	for (const kid of kids.flat(Infinity))
		if (kid !== null && kid !== undefined && kid !== '')
			node.append(kid instanceof Node ? kid : clean(kid));
	return node;
}
function el(tag, cls, ...kids) {
	const node = document.createElement(tag);
	if (cls) node.className = cls;
	return add(node, kids);
}
function shape(tag, attrs, ...kids) {
	const node = document.createElementNS(SVG, tag);
	for (const key of Object.keys(attrs)) node.setAttribute(key, attrs[key]);
	return add(node, kids);
}

function showTip(ev, text) {
	tip.textContent = text;
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	tip.style.left = Math.max(4, Math.min(ev.clientX + 14, innerWidth - box.width - 6)) + 'px';
	tip.style.top = (ev.clientY + 18 + box.height > innerHeight ?
		ev.clientY - box.height - 10 : ev.clientY + 18) + 'px';
}
function hideTip() { tip.hidden = true; }

return { clean, three, ns, add, el, shape, showTip, hideTip };
}());
