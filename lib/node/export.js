// SPDX-License-Identifier: Apache-2.0
'use strict';
// A span processor with a bounded queue whose occupancy and losses are known.

const QUEUE = 4096;
const BATCH = 512;
const EACH_MS = 450;    // the protocol allows 500; most of the cost is by export, not by span

class QueueProcessor {
  constructor(exporter) {
    this.exporter = exporter;
    this.queue = [];
    this.recorded = this.exported = this.dropped = this.ownNs = 0;
    this.timer = setInterval(() => this.flush(), EACH_MS);
    this.timer.unref();
    this.onSpan = () => {};
  }

  onStart() {}

  onEnd(span) {
    this.onSpan(span);
    this.recorded++;
    if (this.queue.length < QUEUE) this.queue.push(span);
    else this.dropped++;
  }

  flush() {
    const batch = this.queue.splice(0, BATCH);
    if (!batch.length) return Promise.resolve();
    const began = process.cpuUsage();
    const done = new Promise((resolve) => {
      this.exporter.export(batch, (result) => {
        if (result.code === 0) this.exported += batch.length;
        else this.dropped += batch.length;
        resolve();
      });
    });
    const took = process.cpuUsage(began);
    this.ownNs += (took.user + took.system) * 1000;
    return done;
  }

  async forceFlush() {
    while (this.queue.length) await this.flush();
  }

  async shutdown() {
    clearInterval(this.timer);
    await this.forceFlush();
    await this.exporter.shutdown();
  }

  get occupancy() { return this.queue.length / QUEUE; }
}

module.exports = { QueueProcessor };
