// SPDX-License-Identifier: Apache-2.0
'use strict';
// A shop of one process, instrumented by the official packages alone: its front asks its cart over
// HTTP, and the cart's query takes longer the more rows the tenant has.
const api = require('@opentelemetry/api');
const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
const { W3CTraceContextPropagator } = require('@opentelemetry/core');
const { registerInstrumentations } = require('@opentelemetry/instrumentation');
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http');
const heldup = require(process.env.HELDUP_NODE);

api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
const role = process.argv[2];
heldup.install({ service: role });
registerInstrumentations({ instrumentations: [new HttpInstrumentation()] });

const http = require('http');
const tracer = api.trace.getTracer('app');
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// A step of the work, with a span as a database's or template's instrumentation makes it.
function step(name, ms, attributes = {}) {
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    await sleep(ms);
    span.end();
  });
}

function get(port, path) {
  return new Promise((resolve, reject) => {
    http.get({ port, path, host: '127.0.0.1' }, (res) => {
      let text = '';
      res.on('data', (piece) => { text += piece; });
      res.on('end', () => resolve(text));
    }).on('error', reject);
  });
}

const handlers = {
  async front(tenant, number) {
    for (const name of ['session read', 'token verify', 'rules load', 'route match']) {
      await step(name, 1);
    }
    const total = await get(Number(process.argv[4]), `/cart?tenant=${tenant}&n=${number}`);
    for (const name of ['tax add', 'stock check', 'template render', 'page compress', 'log write']) {
      await step(name, 1);
    }
    return `total ${total}`;
  },
  async cart(tenant, number) {
    for (const name of ['cart lock', 'cart read', 'cart decode', 'prices read']) await step(name, 1);
    const rows = tenant === '7' ? 100 + number % 400 : 10;
    await step('rows select', rows / 10, { tenant, rows });
    for (const name of ['discounts read', 'sum', 'cart encode', 'cart unlock']) await step(name, 1);
    return String(number * 3 + Number(tenant));
  },
};

http.createServer(async (req, res) => {
  const url = new URL(req.url, 'http://x');
  res.end(await handlers[role](url.searchParams.get('tenant'), Number(url.searchParams.get('n'))));
}).listen(Number(process.argv[3]), '127.0.0.1', () => console.log('ready'));
