// SPDX-License-Identifier: Apache-2.0
// usage: node otel_sdk.js DIR: the same spans by the official SDK in each encoding of
// OTLP, with and without gzip; what arrives goes to DIR/NAME and what was made to DIR/made.json.
'use strict';
const fs = require('fs');
const http = require('http');
const http2 = require('http2');
const path = require('path');
const api = require('@opentelemetry/api');
const { BasicTracerProvider, SimpleSpanProcessor, InMemorySpanExporter } =
	require('@opentelemetry/sdk-trace-base');
const { resourceFromAttributes } = require('@opentelemetry/resources');

const exporters = {
	json: require('@opentelemetry/exporter-trace-otlp-http').OTLPTraceExporter,
	proto: require('@opentelemetry/exporter-trace-otlp-proto').OTLPTraceExporter,
	grpc: require('@opentelemetry/exporter-trace-otlp-grpc').OTLPTraceExporter,
};
const dir = process.argv[2];

function makeSpans(tracer) {
	const context = (span) => api.trace.setSpan(api.ROOT_CONTEXT, span);
	const root = tracer.startSpan('GET /größe/{id} 😀', {
		kind: api.SpanKind.SERVER, root: true,
		attributes: { 'text': 'tab\t"quoted" \\ ü 😀', 'text.number': '42', 'int': -7,
			'big': 9007199254740991, 'double': 0.1, 'yes': true, 'no': false,
			'list': ['a', 'b'], 'long': 'x'.repeat(65), 'fits': 'y'.repeat(64), 'empty': '' },
	});
	const other = tracer.startSpan('elsewhere', { root: true });
	const child = tracer.startSpan('SELECT', {
		kind: api.SpanKind.CLIENT, links: [{ context: other.spanContext(), attributes: { a: 1 } }],
	}, context(root));
	child.addEvent('cache miss', { key: 'k', n: 3 });
	child.addEvent('row 17 of 20');
	child.recordException(new Error('no such table'));
	child.setStatus({ code: api.SpanStatusCode.ERROR, message: 'no such table' });
	child.end();
	const sent = tracer.startSpan('send', { kind: api.SpanKind.PRODUCER }, context(root));
	sent.setStatus({ code: api.SpanStatusCode.OK });
	sent.end();
	tracer.startSpan('work', { kind: api.SpanKind.CONSUMER }, context(sent)).end();
	other.end();
	root.end();
}

function made(span) {
	const ns = (time) => String(BigInt(time[0]) * 1000000000n + BigInt(time[1]));
	const id = span.spanContext();
	return {
		trace: id.traceId, id: id.spanId, parent: span.parentSpanContext?.spanId ?? '',
		name: span.name, kind: span.kind, begin: ns(span.startTime), end: ns(span.endTime),
		error: span.status.code === 2, attrs: span.attributes,
		events: span.events.map((e) => ({ name: e.name, at: ns(e.time) })),
		links: span.links.map((l) => ({ trace: l.context.traceId, id: l.context.spanId })),
	};
}

function body(stream, done) {
	const parts = [];
	stream.on('data', (part) => parts.push(part));
	stream.on('end', () => done(Buffer.concat(parts)));
}

function listen(server) {
	return new Promise((ok) => server.listen(0, '127.0.0.1', () => ok(server.address().port)));
}

async function main() {
	let name;
	const take = (data) => fs.writeFileSync(path.join(dir, name), data);
	const plain = http.createServer((req, res) => body(req, (data) => {
		take(data);
		res.writeHead(200, { 'content-type': 'application/json' });
		res.end('{}');
	}));
	const grpc = http2.createServer();
	grpc.on('stream', (stream) => body(stream, (data) => {
		take(data);
		stream.respond({ ':status': 200, 'content-type': 'application/grpc' },
			{ waitForTrailers: true });
		stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
		stream.end(Buffer.from([0, 0, 0, 0, 0]));
	}));
	const ports = { json: await listen(plain), grpc: await listen(grpc) };
	ports.proto = ports.json;

	const memory = new InMemorySpanExporter();
	const provider = new BasicTracerProvider({
		resource: resourceFromAttributes({ 'service.name': 'shop', 'host.name': 'node-1',
			'service.version': '1.2.3', 'process.pid': 17 }),
		spanProcessors: [new SimpleSpanProcessor(memory)],
	});
	makeSpans(provider.getTracer('test', '1.0'));
	await provider.forceFlush();
	const spans = memory.getFinishedSpans();
	fs.writeFileSync(path.join(dir, 'made.json'), JSON.stringify(spans.map(made)));
	for (const [encoding, Exporter] of Object.entries(exporters))
		for (const compression of ['none', 'gzip']) {
			name = `${encoding}.${compression}`;
			const exporter = new Exporter({ compression,
				url: `http://127.0.0.1:${ports[encoding]}/v1/traces` });
			const result = await new Promise((ok) => exporter.export(spans, ok));
			if (result.code !== 0)
				throw result.error ?? new Error(`${name}: not exported`);
			await exporter.shutdown();
		}
}

main().then(() => process.exit(0), (e) => { console.error(e); process.exit(1); });
