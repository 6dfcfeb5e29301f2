import assert from "node:assert/strict";
import { test } from "node:test";

import { DEFAULT_RETRY, parseRetryAfter, retryDelayMs } from "../src/retry.js";
import type { Failure } from "../src/retry.js";

const POLICY = { retries: 4, baseMs: 500, maxMs: 8_000, retryAfterMaxMs: 60_000 };

function status(code: number, retryAfterMs: number | null = null, reason: string | null = null): Failure {
  return { kind: "status", status: code, reason, retryAfterMs };
}

test("repeats what can succeed and nothing else", () => {
  const table: ReadonlyArray<readonly [string, Failure, boolean]> = [
    ["no connection", { kind: "connection" }, true],
    ["silence", { kind: "timeout" }, true],
    ["a wrong argument", { kind: "final" }, false],
    ["200", status(200), false],
    ["400", status(400), false],
    ["401", status(401), false],
    ["402", status(402), false],
    ["404", status(404), false],
    ["406", status(406), false],
    ["408", status(408), true],
    ["409 of a key in use", status(409, 1_000, "IDEMPOTENCY_KEY_IN_USE"), true],
    ["409 for another reason", status(409, 1_000, "STATE"), false],
    ["412", status(412), false],
    ["416", status(416), false],
    ["422", status(422), false],
    ["429", status(429, 2_000), true],
    ["429 without Retry-After", status(429), true],
    ["500", status(500), true],
    ["501", status(501), false],
    ["502", status(502), true],
    ["503", status(503, 1_000), true],
    ["503 for too much work", status(503, null, "QUERY_TOO_EXPENSIVE"), false],
    ["504", status(504), true],
    ["505", status(505), false],
  ];
  for (const [name, failure, repeats] of table) assert.equal(retryDelayMs(POLICY, 0, failure, 0.5) !== null, repeats, name);
});

test("waits longer each time, with jitter between half and all of it", () => {
  const table = [
    [0, 0, 250], [0, 1, 500], [1, 0, 500], [1, 1, 1_000], [2, 0.5, 1_500], [3, 0, 2_000], [3, 1, 4_000],
  ] as const;
  for (const [made, random, delay] of table) assert.equal(retryDelayMs(POLICY, made, { kind: "connection" }, random), delay);
  assert.equal(retryDelayMs({ ...POLICY, retries: 100 }, 60, { kind: "connection" }, 1), 8_000, "the cap");
});

test("gives up after the last repetition", () => {
  assert.equal(retryDelayMs(POLICY, 4, { kind: "connection" }, 0), null);
  assert.equal(retryDelayMs({ ...POLICY, retries: 0 }, 0, status(503, 1_000), 0), null);
});

test("obeys Retry-After up to its cap", () => {
  assert.equal(retryDelayMs(POLICY, 0, status(429, 30_000), 0), 30_000);
  assert.equal(retryDelayMs(POLICY, 0, status(429, 30_000), 1), 30_500, "jitter comes on top");
  assert.equal(retryDelayMs(POLICY, 0, status(429, 60_000), 0), 60_000);
  assert.equal(retryDelayMs(POLICY, 0, status(429, 60_001), 0), null, "a day's quota is not waited for");
  assert.equal(retryDelayMs(POLICY, 0, status(503, 0), 0), 250, "at once is not a wait");
  assert.equal(DEFAULT_RETRY.retryAfterMaxMs, 60_000);
});

test("reads Retry-After as seconds and as a date", () => {
  const now = Date.parse("2026-11-23T10:00:00Z");
  const table = [
    [null, null], ["7", 7_000], [" 0 ", 0], ["-1", null], ["soon", null], ["", null], ["99999999999999999999", null],
    ["Mon, 23 Nov 2026 10:00:05 GMT", 5_000], ["Mon, 23 Nov 2026 09:00:00 GMT", 0],
  ] as const;
  for (const [text, milliseconds] of table) assert.equal(parseRetryAfter(text, now), milliseconds, String(text));
});
