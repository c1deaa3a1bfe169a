// SPDX-License-Identifier: Apache-2.0
// app_node.js MODE PORT UPSTREAM_PORT: GET /KIND/ID.
'use strict';
const dns = require('dns');
const fs = require('fs');
const http = require('http');

const [mode, port, upstream] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: mode !== 'dns',
	maxSockets: mode === 'sockets' ? 4 : Infinity });

function call(id, n, done) {
	http.get({ agent, host: '127.0.0.1', port: upstream, path: `/${id}/${n}` }, (answer) => {
		answer.resume();
		answer.on('end', done);
	});
}

function calls(kind, id, done) {
	if (kind === 'two')
		return call(id, 0, () => call(id, 1, done));
	if (kind !== 'par')
		return call(id, 0, done);
	let left = 2;
	const one = () => --left || done();
	call(id, 0, one);
	call(id, 1, one);
}

function pause(done) {
	setTimeout(done, Math.random() * 10);
}

function before(done) {
	if (mode === 'before' || mode === 'both')
		pause(done);
	else if (mode === 'dns')
		dns.lookup('localhost', done);
	else if (mode === 'fs')
		fs.readFile(__filename, done);
	else
		done();
}

function after(id, done) {
	if (mode === 'both')
		pause(done);
	else if (mode === 'fs' && id % 2)
		fs.readFile(__filename, done);
	else
		done();
}

http.createServer((request, reply) => {
	const [, kind, id] = request.url.split('/');
	before(() => calls(kind, id, () => after(id, () => {
		reply.setHeader('Content-Length', 3);
		reply.end('ok\n');
	})));
}).listen(port, '127.0.0.1');
