// SPDX-License-Identifier: Apache-2.0
'use strict';
// The switch in front of an OpenTelemetry TracerProvider.  A span whose tracepoint is off is its
// parent's context passed on: what it would have enclosed belongs to the nearest span that is on.
const api = require('@opentelemetry/api');
const { Switches } = require('./switches');
const { QueueProcessor } = require('./export');

const { trace, context, SpanKind, createTraceState, INVALID_SPAN_CONTEXT } = api;
const KEY = 'heldup';
const COST_SPANS = 1000;  // as many before are not measured: the code is compiled by then

// The SDK's times are whole milliseconds where a span begins: then spans one after the other
// overlap, and look as if they had run side by side.
function now() {
  const ms = performance.timeOrigin + performance.now();
  const s = Math.floor(ms / 1000);
  return [s, Math.min(999999999, Math.round((ms - s * 1000) * 1e6))];
}

function precise(tracer, name, options, ctx) {
  if (options.startTime !== undefined) return tracer.startSpan(name, options, ctx);
  const span = tracer.startSpan(name, { ...options, startTime: now() }, ctx);
  const { end } = span;
  span.end = (at) => end.call(span, at === undefined ? now() : at);
  return span;
}

// A request: which tracepoints are on, from its begin to its end.
class Request {
  constructor({ type, epoch }) {
    this.type = type;
    this.epoch = epoch;
  }

  get header() { return `${this.epoch.toString(16).padStart(16, '0')}-${this.type.hash}`; }
}

const HEADER = /^([0-9a-f]{16})-([0-9a-f]{16})$/;

function namesOf(name, attributes = {}) {
  const method = attributes['http.request.method'] || attributes['http.method'];
  const path = attributes['url.path'] || attributes['http.target'];
  return method && path ? [name, `${method} ${String(path).split('?')[0]}`] : [name];
}

class SwitchedTracer {
  constructor(tracer, owner) {
    this.tracer = tracer;
    this.owner = owner;
  }

  startSpan(name, options = {}, ctx = context.active()) {
    return this.owner.start(this.tracer, name, options, ctx);
  }

  startActiveSpan(name, ...rest) {
    const fn = rest[rest.length - 1];
    const options = rest.length > 1 ? rest[0] : {};
    const ctx = (rest.length > 2 ? rest[1] : undefined) || context.active();
    const span = this.startSpan(name, options, ctx);
    return context.with(trace.setSpan(ctx, span), fn, undefined, span);
  }
}

class SwitchedTracerProvider {
  constructor(provider, { service, instance = String(process.pid), endpoint, processor }) {
    this.provider = provider;
    this.processor = processor;
    this.requests = new WeakMap();  // by span
    this.points = new Set();
    this.finals = new Map();        // name at the begin: names at the end
    this.begun = new WeakMap();     // span: its name at the begin
    this.requestCnt = this.tracedCnt = 0;
    this.spanNs = this.measure();
    processor.onSpan = (span) => this.ended(span);
    this.switches = new Switches({ service, instance, endpoint, report: (s) => this.report(s) });
  }

  getTracer(...args) {
    return new SwitchedTracer(this.provider.getTracer(...args), this);
  }

  // What a span costs, with the processor's part: nobody gets these.
  measure() {
    const tracer = this.provider.getTracer('heldup');
    const { queue } = this.processor;
    const some = () => {
      for (let i = 0; i < COST_SPANS; i++) {
        precise(tracer, 'cost', { root: true }, context.active()).setAttribute('n', i).end();
      }
      queue.length = 0;
    };
    some();
    const began = process.cpuUsage();
    some();
    const took = process.cpuUsage(began);
    this.processor.recorded = 0;
    return Math.max(1000, (took.user + took.system) * 1000 / COST_SPANS);
  }

  report(state) {
    const cpu = process.cpuUsage();
    const on = state ? state.types.reduce((n, t) => n + (t.all ? this.points.size : t.on.size), 0)
      : 0;
    const p = this.processor;
    return {
      on, points: this.points.size, queue: p.occupancy.toFixed(3), recorded: p.recorded,
      exported: p.exported, dropped: p.dropped, requests: this.requestCnt,
      traced: this.tracedCnt, span_ns: Math.round(this.spanNs), own_ns: Math.round(p.ownNs),
      cpu_ns: (cpu.user + cpu.system) * 1000,
    };
  }

  // Instrumentations name some spans better when they end; heldup knows them by that.
  ended(span) {
    const begin = this.begun.get(span);
    if (begin !== undefined && begin !== span.name) {
      const finals = this.finals.get(begin) || new Set();
      if (finals.size < 64) finals.add(span.name);
      this.finals.set(begin, finals);
    }
    if (this.points.size < 1024) this.points.add(span.name);
  }

  isOn(request, name) {
    const { all, on } = request.type;
    if (all || on.has(name)) return true;
    for (const final of this.finals.get(name) || []) if (on.has(final)) return true;
    return false;
  }

  // The request that a new span begins or belongs to; undefined: it is not traced.
  requestOf(name, options, ctx, parent) {
    const span = options.root ? undefined : trace.getSpan(ctx);
    const known = span && this.requests.get(span);
    if (known || (parent && !parent.isRemote)) return known;
    if (parent) {
      const m = HEADER.exec((parent.traceState && parent.traceState.get(KEY)) || '');
      const found = m && this.switches.ofHash(m[2], parseInt(m[1], 16));
      return found ? new Request(found) : undefined;
    }
    // what a process asks of others by itself is no request of anybody
    if (options.kind === SpanKind.CLIENT || options.kind === SpanKind.PRODUCER) return undefined;
    const found = this.switches.ofNames(namesOf(name, options.attributes));
    if (!found) return undefined;
    this.requestCnt++;
    if (Math.random() >= found.type.share) return undefined;
    this.tracedCnt++;
    return new Request(found);
  }

  start(tracer, name, options, ctx) {
    let parent = options.root ? undefined : trace.getSpanContext(ctx);
    if (parent && !api.isSpanContextValid(parent)) parent = undefined;
    const request = this.requestOf(name, options, ctx, parent);
    if (!request || (parent && !this.isOn(request, name))) {
      const passed = trace.wrapSpanContext(parent || INVALID_SPAN_CONTEXT);
      if (request) this.requests.set(passed, request);
      return passed;
    }
    const span = precise(tracer, name, options, ctx);
    const own = span.spanContext();
    own.traceState = (own.traceState || createTraceState()).set(KEY, request.header);
    span.setAttribute('heldup.epoch', request.epoch);
    this.requests.set(span, request);
    this.begun.set(span, name);
    return span;
  }

  async shutdown() {
    this.switches.stop();
    await this.provider.shutdown();
  }
}

function install({ service, endpoint, instance, exporter, providerOptions = {} } = {}) {
  const { BasicTracerProvider } = require('@opentelemetry/sdk-trace-base');
  const name = service || process.env.OTEL_SERVICE_NAME || 'node';
  const url = endpoint || process.env.HELDUP_ENDPOINT || 'http://127.0.0.1:4318';
  if (!exporter) {
    const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-http');
    exporter = new OTLPTraceExporter({ url: new URL('/v1/traces', url).href });
  }
  const { resourceFromAttributes } = require('@opentelemetry/resources');
  const processor = new QueueProcessor(exporter);
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': name }),
    ...providerOptions,
    spanProcessors: [processor, ...(providerOptions.spanProcessors || [])],
  });
  const switched = new SwitchedTracerProvider(provider, {
    service: name, instance, endpoint: url, processor,
  });
  trace.setGlobalTracerProvider(switched);
  return switched;
}

module.exports = { install, SwitchedTracerProvider, QueueProcessor };
