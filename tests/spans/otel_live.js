// SPDX-License-Identifier: Apache-2.0
// usage: node otel_live.js HTTP_PORT GRPC_PORT: the official SDK sends requests of two services in
// each encoding, with and without gzip; prints how many spans it made as JSON.
'use strict';
const api = require('@opentelemetry/api');
const { BasicTracerProvider, BatchSpanProcessor } = require('@opentelemetry/sdk-trace-base');
const { resourceFromAttributes } = require('@opentelemetry/resources');

const [, , http, grpc] = process.argv;
const url = `http://127.0.0.1:${http}/v1/traces`;
const exporters = [
	['http', url], ['proto', url], ['grpc', `http://127.0.0.1:${grpc}`],
];
const REQUESTS = 50;

function provider(exporter, name) {
	return new BasicTracerProvider({
		resource: resourceFromAttributes({ 'service.name': name, 'host.name': 'h' }),
		spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 60000 })],
	});
}

async function send(encoding, to, compression) {
	const { OTLPTraceExporter } = require(`@opentelemetry/exporter-trace-otlp-${encoding}`);
	const shop = provider(new OTLPTraceExporter({ url: to, compression }), 'shop');
	const db = provider(new OTLPTraceExporter({ url: to, compression }), 'db');
	const begin = Date.now();

	for (let i = 0; i < REQUESTS; i++) {
		const root = shop.getTracer('t').startSpan(`GET /cart/${1000 + i}`,
			{ kind: api.SpanKind.SERVER, root: true, startTime: begin,
				attributes: { user: `user ${i}` } });
		const context = api.trace.setSpan(api.ROOT_CONTEXT, root);
		const query = db.getTracer('t').startSpan('SELECT',
			{ kind: api.SpanKind.SERVER, startTime: begin + 2 }, context);

		query.end(begin + 8 + i);
		if (i % 10 === 0)
			root.setStatus({ code: api.SpanStatusCode.ERROR });
		root.end(begin + 10 + i);
	}
	await shop.forceFlush();
	await db.forceFlush();
}

async function main() {
	api.diag.setLogger({ error: (e) => { console.error(e); process.exitCode = 1; },
		warn: console.error, info() {}, debug() {}, verbose() {} });
	for (const [encoding, to] of exporters)
		for (const compression of ['none', 'gzip'])
			await send(encoding, to, compression);
	console.log(JSON.stringify({ spans: exporters.length * 2 * REQUESTS * 2 }));
}

main().then(() => process.exit(), (e) => { console.error(e); process.exit(1); });
