// SPDX-License-Identifier: Apache-2.0
import type { Tracer, TracerOptions, TracerProvider } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter, SpanProcessor, TracerConfig } from '@opentelemetry/sdk-trace-base';

export interface InstallOptions {
  /** $OTEL_SERVICE_NAME, else "node". */
  service?: string;
  /** Distinguishes processes of one service; the process id. */
  instance?: string;
  /** $HELDUP_ENDPOINT, else http://127.0.0.1:4318. */
  endpoint?: string;
  /** OTLP over HTTP to the endpoint. */
  exporter?: SpanExporter;
  /** For the provider behind the switch. */
  providerOptions?: TracerConfig;
}

/** Makes a provider with the switch in front and registers it globally. */
export function install(options?: InstallOptions): SwitchedTracerProvider;

export interface SwitchedOptions {
  service: string;
  instance?: string;
  endpoint: string;
  processor: QueueProcessor;
}

export class SwitchedTracerProvider implements TracerProvider {
  constructor(provider: TracerProvider & { shutdown(): Promise<void> }, options: SwitchedOptions);
  getTracer(name: string, version?: string, options?: TracerOptions): Tracer;
  shutdown(): Promise<void>;
}

/** The span processor of the provider behind the switch: a bounded queue. */
export class QueueProcessor implements SpanProcessor {
  constructor(exporter: SpanExporter);
  readonly occupancy: number;
  onStart(): void;
  onEnd(span: ReadableSpan): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}
