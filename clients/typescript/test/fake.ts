/** A server of HTTP that answers what a test says, and a client without patience. */

import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

import { BaseClient } from "../src/base_client.js";
import { nodePlatform } from "../src/node_platform.js";
import type { Platform } from "../src/platform.js";
import type { ClientOptions } from "../src/transport.js";

export const KEY = "mk_0123456789abcdefghijABCDEFGHIJ99";

/** A request as it arrived. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON. */
  readonly body: Record<string, unknown>;
}

export type Reply = (response: ServerResponse, seen: Seen) => void;

export interface Fake {
  readonly url: string;
  readonly seen: Seen[];
}

/** Answers each request with the next reply, and what is beyond the last one with 418. */
export async function serve(t: TestContext, ...replies: Reply[]): Promise<Fake> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const url = new URL(request.url ?? "", "http://fake");
      const text = Buffer.concat(pieces).toString();
      const body = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
      const one = { method: request.method ?? "", path: url.pathname, query: url.searchParams, headers: request.headers, text, body };
      seen.push(one);
      const reply = replies[seen.length - 1] ?? ((unexpected: ServerResponse) => unexpected.writeHead(418).end());
      reply(response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** A client whose waits end at once and are written down. */
export class FakeClient extends BaseClient {
  constructor(
    url: string,
    options: ClientOptions = {},
    readonly waits: number[] = [],
    platform: Partial<Platform> = {},
  ) {
    const sleep = async (milliseconds: number) => void waits.push(milliseconds);
    super(url, { apiKey: KEY, ...options }, { ...nodePlatform, random: () => 0, sleep, ...platform });
  }
}

const META = { requestId: "6f0c1c7e-3a52-4c55-9a1c-0d6f3f1f2b11", timestamp: "2026-11-21T02:31:37.123Z", durationMs: 1 };

/** A success. */
export function data(value: unknown, headers: Record<string, string> = {}, meta: object = {}): Reply {
  return (response) => {
    response.writeHead(200, { "Content-Type": "application/json", ...headers });
    response.end(JSON.stringify({ success: true, data: value, meta: { ...META, ...meta } }));
  };
}

/** A page of rows, of which each costs a credit. */
export function page(results: readonly object[], nextCursor: string | null, version = "1.0.0"): Reply {
  const value = { results, rowsReturned: results.length, nextCursor, paginationMode: "cursor", totalRows: null };
  return data(value, { "X-Dataset-Version": version }, { credits: { charged: results.length, remaining: 1_000 } });
}

/** An estimate. */
export function estimate(rows: number, creditsRequired = rows, affordable = true): Reply {
  return data({ rows, creditsRequired, creditsAvailable: 1_000_000, affordable });
}

/** A refusal. */
export function refusal(status: number, code: string, details: object | null, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { "Content-Type": "application/json", "X-Request-Id": META.requestId, ...headers });
    response.end(JSON.stringify({ success: false, data: null, error: { code, message: `refused with ${status}`, details }, meta: META }));
  };
}

/** A connection that ends without an answer. */
export const cut: Reply = (response) => void response.socket?.destroy();

/** Text that is cut behind its last piece, or ends properly. */
export function text(pieces: readonly string[], headers: Record<string, string>, isWhole: boolean, status = 200): Reply {
  return (response) => {
    response.writeHead(status, headers);
    response.flushHeaders();
    const send = (index: number): void => {
      const piece = pieces[index];
      if (piece !== undefined) response.write(piece, () => setTimeout(send, 2, index + 1));
      else if (isWhole) response.end();
      else response.socket?.destroy();
    };
    send(0);
  };
}

/** Gathers an iteration. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
