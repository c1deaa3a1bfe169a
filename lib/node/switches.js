// SPDX-License-Identifier: Apache-2.0
'use strict';
// Asks heldup which tracepoints are on and keeps the lease: docs/explore-protocol.md.
const http = require('http');
const { context, ROOT_CONTEXT } = require('@opentelemetry/api');

const WAIT_MS = 2000;   // heldup answers by then
const SLACK_MS = 1000;
const AGAIN_MS = 500;   // nobody there
const STATES = 4;       // the present one and those that requests in flight began with

function textHash(text) { // FNV-1a, 64 bits
  let h = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) {
    h = BigInt.asUintN(64, (h ^ BigInt(byte)) * 0x100000001b3n);
  }
  return h.toString(16).padStart(16, '0');
}

class Switches {
  // report() gives what the protocol's question has beside these.
  constructor({ service, instance, endpoint, report }) {
    Object.assign(this, { service, instance, report });
    this.url = new URL('/heldup/v1/switches', endpoint);
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    this.states = [];   // the present one first; empty: all is off
    this.ended = false;
    this.ask();
  }

  get epoch() { return this.states.length ? this.states[0].epoch : 0; }

  // The type's state of that epoch, else the present one; undefined: it is not traced.
  ofHash(hash, epoch) {
    const state = this.states.find((s) => s.epoch === epoch) || this.states[0];
    const type = state && state.types.find((t) => t.hash === hash);
    return type && { type, epoch: epoch ? Math.min(epoch, state.epoch) : state.epoch };
  }

  ofNames(names) {
    const state = this.states[0];
    const type = state && state.types.find((t) => names.includes(t.name));
    return type && { type, epoch: state.epoch };
  }

  set(answer) {
    const state = {
      epoch: answer.epoch,
      types: answer.types.map((t) => ({
        name: t.type, hash: textHash(t.type), share: t.share ?? 1, all: t.all === true,
        on: new Set(t.on || []),
      })),
    };
    if (!state.types.length) this.states = [state];
    else if (state.epoch === this.epoch) this.states[0] = state;
    else this.states = [state, ...this.states].slice(0, STATES);
  }

  off() {
    this.states = [];
    this.lease = undefined;
  }

  renew(ms) {
    clearTimeout(this.lease);
    this.lease = setTimeout(() => this.off(), ms);
    this.lease.unref();
  }

  question() {
    const url = new URL(this.url);
    const has = {
      service: this.service, instance: this.instance, epoch: this.epoch, wait_ms: WAIT_MS,
      ...this.report(this.states[0]),
    };
    for (const [key, value] of Object.entries(has)) url.searchParams.set(key, value);
    return url;
  }

  // Its own request belongs to no other, and is no tracepoint.
  ask() {
    if (this.ended) return;
    const again = (ms) => {
      if (this.ended) return;
      this.timer = setTimeout(() => this.ask(), ms);
      this.timer.unref();
    };
    context.with(ROOT_CONTEXT, () => {
      let done = false;
      const once = (ms) => { if (!done) { done = true; again(ms); } };
      const req = http.get(this.question(), { agent: this.agent, timeout: WAIT_MS + SLACK_MS },
        (res) => {
          let text = '';
          res.setEncoding('utf8');
          res.on('data', (piece) => { text += piece; });
          res.on('error', () => once(AGAIN_MS));
          res.on('end', () => once(this.take(res.statusCode, text) ?? AGAIN_MS));
        });
      req.on('socket', (socket) => socket.unref());
      req.on('timeout', () => req.destroy());
      req.on('error', () => once(AGAIN_MS));
    });
  }

  // ms until it is to be asked again; undefined: it was no answer.
  take(status, text) {
    let answer;
    try {
      answer = JSON.parse(text);
    } catch {
      return undefined;
    }
    if (status !== 200 || answer.version !== 1 || !Number.isInteger(answer.epoch) ||
        !Array.isArray(answer.types) || !(answer.lease_ms >= 1 && answer.lease_ms <= 60000)) {
      return undefined;
    }
    this.renew(answer.lease_ms);
    this.set(answer);
    return Math.min(answer.again_ms || 0, answer.lease_ms / 2);
  }

  stop() {
    this.ended = true;
    clearTimeout(this.timer);
    clearTimeout(this.lease);
    this.agent.destroy();
    this.off();
  }
}

module.exports = { Switches };
