/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the page as a person would and leaves what it saw in an element. */
setTimeout(() => {
	const saw = {};
	const section = title => [...document.querySelectorAll('section')].find(node =>
		node.querySelector('h2') && node.querySelector('h2').textContent === title);
	const type = (node, text) => {
		const input = node.querySelector('input');
		input.value = text;
		input.dispatchEvent(new Event('input'));
	};
	const threads = section('Threads'), lanes = section('States of the threads over time');
	const tids = () => [...threads.querySelectorAll('tbody tr')].map(tr => Number(tr.children[1].textContent));

	saw.rows = tids().length;
	type(threads, 'housekeeper');
	saw.filtered = tids().length;
	type(threads, '');
	threads.querySelectorAll('th button')[1].click();
	saw.descending = tids();
	threads.querySelectorAll('th button')[1].click();
	saw.ascending = tids();
	saw.lanes = lanes.querySelectorAll('canvas').length;
	lanes.querySelector('button').click();
	saw.more_lanes = lanes.querySelectorAll('canvas').length;
	type(lanes, 'housekeeper');
	saw.one_lane = lanes.querySelectorAll('canvas').length;
	const canvas = lanes.querySelector('canvas'), box = canvas.getBoundingClientRect();
	canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: box.left + box.width / 2, clientY: box.top + 3 }));
	saw.tip = document.getElementById('tip').textContent;
	saw.steps = document.querySelectorAll('svg .node').length;
	saw.wider_than_screen = document.documentElement.scrollWidth > innerWidth;
	const pre = document.createElement('pre');
	pre.id = 'saw';
	pre.textContent = JSON.stringify(saw);
	document.body.append(pre);
}, 200);
