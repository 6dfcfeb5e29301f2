// The installed package against a real server that admits few requests: a refusal is told, and `Retry-After` is waited for.
//
//     node --test limits.mjs
//
// MERCATO_URL is a server with MERCATO_LIMIT requests a minute, MERCATO_KEY a key of which none was used yet.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, RateLimitedError } from "@mercato/client";

const { MERCATO_URL: url, MERCATO_KEY: apiKey, MERCATO_LIMIT: limit } = process.env;

test("429 is told at once without patience, and waited for with it", async () => {
  const hasty = new Client(url, { apiKey, retry: { retryAfterMaxMs: 0 } });
  for (let number = 0; number < Number(limit); number += 1) await hasty.account();
  const error = await hasty.account().catch((refused) => refused);
  assert.ok(error instanceof RateLimitedError, String(error));
  assert.equal(error.reason, "MINUTE_RATE_EXCEEDED");
  assert.equal(error.details.limit, Number(limit));
  assert.ok(error.retryAfterMs > 0 && error.retryAfterMs <= 60_000);

  const began = Date.now();
  const { id } = await new Client(url, { apiKey }).account();
  assert.equal(typeof id, "string");
  assert.ok(Date.now() - began >= error.retryAfterMs - 2_000, "it waited as long as it was told");
});
