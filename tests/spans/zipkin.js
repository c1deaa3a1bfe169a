// SPDX-License-Identifier: Apache-2.0
// usage: node zipkin.js DIR: a request through two services, as Zipkin's own library
// (DIR/zipkin.json, lines in DIR/zipkin.lines) and the exporter of OpenTelemetry's SDK
// (DIR/otel.json) send it; what was made goes to DIR/made.json.
'use strict';
const fs = require('fs');
const http = require('http');
const path = require('path');
const zipkin = require('zipkin');
const api = require('@opentelemetry/api');
const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } =
	require('@opentelemetry/sdk-trace-base');
const { resourceFromAttributes } = require('@opentelemetry/resources');
const { ZipkinExporter } = require('@opentelemetry/exporter-zipkin');

const dir = process.argv[2];
const { Annotation, Instrumentation, option } = zipkin;

// The caller and the callee each record their half of the call, under one id.
function zipkinSpans() {
	const encoded = [], made = [];
	const tracerOf = (name) => new zipkin.Tracer({
		localServiceName: name, supportsJoin: true, ctxImpl: new zipkin.ExplicitContext(),
		recorder: new zipkin.BatchRecorder({ logger: { logSpan: (span) => {
			encoded.push(zipkin.jsonEncoder.JSON_V2.encode(span));
			made.push({ trace: span.traceId, id: span.id, parent: span.parentId ?? '',
				name: span.name, service: span.localEndpoint.serviceName, kind: span.kind,
				shared: !!span.shared, begin: span.timestamp, duration: span.duration,
				tags: span.tags, points: span.annotations });
		} } }),
	});
	const front = tracerOf('front'), back = tracerOf('back');
	front.scoped(() => {
		front.local('plan größe', () => front.scoped(() => {
			const call = new Instrumentation.HttpClient({ tracer: front,
				remoteServiceName: 'back' });
			const headers = call.recordRequest({ headers: {} }, 'http://back/x?a=1', 'GET')
				.headers;
			const callId = front.id;
			back.scoped(() => {
				const served = new Instrumentation.HttpServer({ tracer: back, port: 1 });
				const get = (name) => new option.Some(headers[name]);
				const id = served.recordRequest('GET', '/x', (name) =>
					headers[name] === undefined ? option.None : get(name));
				back.letId(id, () => {
					back.recordAnnotation(new Annotation.Message('queue 17 deep'));
					back.recordBinary('waiters', '3');
					served.recordResponse(id, '500', new Error('no room'));
				});
			});
			call.recordResponse(callId, '500');
		}));
	});
	return { encoded, made };
}

async function otelSpans() {
	const memory = new InMemorySpanExporter();
	const provider = new BasicTracerProvider({
		resource: resourceFromAttributes({ 'service.name': 'shop' }),
		spanProcessors: [new SimpleSpanProcessor(memory)],
	});
	const tracer = provider.getTracer('test');
	const root = tracer.startSpan('GET /größe 😀', { kind: api.SpanKind.SERVER,
		attributes: { 'n': 7, 'text': 'tab\t"q"' } });
	const child = tracer.startSpan('SELECT', { kind: api.SpanKind.CLIENT,
		attributes: { 'peer.service': 'db' } }, api.trace.setSpan(api.ROOT_CONTEXT, root));
	child.addEvent('cache miss');
	child.setStatus({ code: api.SpanStatusCode.ERROR, message: 'no such table' });
	child.end();
	root.end();
	const body = new Promise((ok) => {
		const server = http.createServer((req, res) => {
			const parts = [];
			req.on('data', (part) => parts.push(part));
			req.on('end', () => { res.writeHead(202); res.end(); ok(Buffer.concat(parts)); });
		});
		server.listen(0, '127.0.0.1', () => {
			const exporter = new ZipkinExporter({
				url: `http://127.0.0.1:${server.address().port}/api/v2/spans` });
			exporter.export(memory.getFinishedSpans(), () => {});
		});
	});
	fs.writeFileSync(path.join(dir, 'otel.json'), await body);
	const us = (time) => Math.round(time[0] * 1e6 + time[1] / 1e3);
	return memory.getFinishedSpans().map((s) => ({ trace: s.spanContext().traceId,
		id: s.spanContext().spanId, parent: s.parentSpanContext?.spanId ?? '', name: s.name,
		kind: s.kind + 1, begin: us(s.startTime), duration: us(s.duration),
		error: s.status.code === 2, attrs: s.attributes,
		points: s.events.map((e) => ({ timestamp: us(e.time), value: e.name })) }));
}

async function main() {
	const { encoded, made } = zipkinSpans();
	fs.writeFileSync(path.join(dir, 'zipkin.json'), `[${encoded.join(',')}]`);
	fs.writeFileSync(path.join(dir, 'zipkin.lines'), encoded.join('\n'));
	fs.writeFileSync(path.join(dir, 'made.json'),
		JSON.stringify({ zipkin: made, otel: await otelSpans() }));
}

main().then(() => process.exit(0), (e) => { console.error(e); process.exit(1); });
