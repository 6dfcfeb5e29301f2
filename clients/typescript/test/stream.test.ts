import assert from "node:assert/strict";
import { test } from "node:test";

import { ConnectionError, CostLimitError, IntegrityError } from "../src/errors.js";
import { linesOf } from "../src/lines.js";
import { FakeClient, all, cut, estimate, refusal, serve, text } from "./fake.js";
import type { Reply } from "./fake.js";

const VERSION = { "X-Dataset-Version": "1.0.0" };

function end(rowsReturned: number, nextCursor: string | null = null): string {
  return `${JSON.stringify({ $end: { rowsReturned, nextCursor, creditsCharged: rowsReturned } })}\n`;
}

function rows(...numbers: number[]): string {
  return numbers.map((a) => `${JSON.stringify({ a })}\n`).join("");
}

/** An answer to its end. */
function whole(numbers: number[], nextCursor: string | null = null): Reply {
  return text([rows(...numbers), end(numbers.length, nextCursor)], VERSION, true);
}

test("delivers rows, values of any size, and its summary", async (t) => {
  const fake = await serve(t, text(['{"a":9007199254740993,"b":"\\n$end"}\n', end(1, "next")], VERSION, true));
  const stream = new FakeClient(fake.url).dataset("sales").stream({ filters: { b: "x" }, limit: 1 });
  assert.equal(stream.summary, null);
  assert.deepEqual(await all(stream), [{ a: 9007199254740993n, b: "\n$end" }]);
  assert.deepEqual(stream.summary, { rowsReturned: 1, nextCursor: "next", version: "1.0.0", resumptions: 0 });
  const [seen] = fake.seen;
  assert.deepEqual(seen?.body, { filters: { b: "x" }, limit: 1 });
  assert.equal(seen?.headers.accept, "application/x-ndjson");
  assert.equal(seen?.query.get("summary"), "1");
  assert.equal(seen?.query.get("afterRows"), null);
});

test("goes on behind its last row, under the same key and in the same bytes", async (t) => {
  const fake = await serve(
    t, cut, text([`${rows(1, 2)}{"a":`], VERSION, false), text([rows(3)], VERSION, false), cut, text([rows(4), end(1)], VERSION, true),
  );
  const client = new FakeClient(fake.url);
  const stream = client.dataset("sales").stream({ limit: 4 });
  assert.deepEqual(await all(stream), [1, 2, 3, 4].map((a) => ({ a })));
  assert.deepEqual(fake.seen.map(({ query }) => query.get("afterRows")), [null, null, "2", "3", "3"]);
  assert.equal(new Set(fake.seen.map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.equal(new Set(fake.seen.map(({ text: body }) => body)).size, 1);
  assert.equal(stream.summary?.rowsReturned, 4);
  assert.equal(stream.summary?.resumptions, 2);
});

test("an answer that ends properly without its last line is not whole", async (t) => {
  const fake = await serve(t, text([rows(1)], VERSION, true), text([rows(2), end(1)], VERSION, true));
  assert.deepEqual(await all(new FakeClient(fake.url).dataset("sales").stream()), [{ a: 1 }, { a: 2 }]);
});

test("a cut behind the last line does no harm", async (t) => {
  const fake = await serve(t, text([rows(1), end(1)], VERSION, false));
  assert.deepEqual(await all(new FakeClient(fake.url).dataset("sales").stream()), [{ a: 1 }]);
  assert.equal(fake.seen.length, 1);
});

test("waits until the server notices the cut", async (t) => {
  const inUse = refusal(409, "CONFLICT", { reason: "IDEMPOTENCY_KEY_IN_USE" }, { "Retry-After": "1" });
  const fake = await serve(t, text([rows(1)], VERSION, false), inUse, text([rows(2), end(1)], VERSION, true));
  const client = new FakeClient(fake.url);
  assert.deepEqual(await all(client.dataset("sales").stream()), [{ a: 1 }, { a: 2 }]);
  assert.deepEqual(client.waits, [250, 1_000]);
});

test("begins anew where nothing was charged, and delivers no row twice", async (t) => {
  const nothing = refusal(422, "UNPROCESSABLE", { reason: "NOTHING_TO_RESUME" });
  const fake = await serve(t, text([rows(1, 2)], VERSION, false), nothing, text([rows(1, 2, 3)], VERSION, false), text([rows(4), end(1)], VERSION, true));
  const stream = new FakeClient(fake.url).dataset("sales").stream({ limit: 4 });
  assert.deepEqual(await all(stream), [1, 2, 3, 4].map((a) => ({ a })));
  const keys = fake.seen.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(keys[0], keys[1]);
  assert.notEqual(keys[1], keys[2]);
  assert.equal(keys[2], keys[3]);
  assert.deepEqual(fake.seen[2]?.body, { limit: 4, version: "1.0.0" }, "the version of the rows that were delivered");
  assert.deepEqual(fake.seen.map(({ query }) => query.get("afterRows")), [null, "2", null, "3"]);
});

test("gives up after repetitions without a row, not after many cuts", async (t) => {
  const moving = Array.from({ length: 6 }, (_, index) => text([rows(index + 1)], VERSION, false));
  const fake = await serve(t, ...moving, cut, cut, cut);
  const found: unknown[] = [];
  const client = new FakeClient(fake.url, { retry: { retries: 1 } });
  const walk = async () => {
    for await (const row of client.dataset("sales").stream()) found.push(row);
  };
  await assert.rejects(walk(), ConnectionError);
  assert.equal(found.length, 6);
  assert.ok(fake.seen.length <= 9, `${fake.seen.length} requests`);
});

test("without a limit it goes on behind the longest answer", async (t) => {
  const fake = await serve(t, whole([1, 2], "c1"), whole([3]));
  const stream = new FakeClient(fake.url).dataset("sales").stream({ sortBy: "a", offset: 1, idempotencyKey: "mine" });
  assert.deepEqual(await all(stream), [{ a: 1 }, { a: 2 }, { a: 3 }]);
  assert.deepEqual(fake.seen.map(({ body }) => body), [
    { sortBy: "a", offset: 1, limit: 1_000_000 },
    { sortBy: "a", cursor: "c1", limit: 1_000_000 },
  ]);
  assert.deepEqual(fake.seen.map(({ headers }) => headers["idempotency-key"]), ["mine.part-1", "mine.part-2"]);
  assert.deepEqual(stream.summary, { rowsReturned: 3, nextCursor: null, version: "1.0.0", resumptions: 0 });
});

test("refuses rows of another version and a wrong count", async (t) => {
  const fake = await serve(
    t, text([rows(1)], VERSION, false), text([rows(2), end(1)], { "X-Dataset-Version": "2.0.0" }, true), text([rows(1), end(2)], VERSION, true),
  );
  const dataset = new FakeClient(fake.url).dataset("sales");
  await assert.rejects(all(dataset.stream()), IntegrityError);
  await assert.rejects(all(dataset.stream()), IntegrityError);
});

test("is read once", async (t) => {
  const fake = await serve(t, whole([1]));
  const stream = new FakeClient(fake.url).dataset("sales").stream();
  await all(stream);
  await assert.rejects(all(stream), TypeError);
  assert.equal(fake.seen.length, 1);
});

test("a reader that leaves ends the connection", async (t) => {
  let isClosed: (() => void) | undefined;
  const closed = new Promise<void>((resolve) => (isClosed = resolve));
  const endless: Reply = (response) => {
    response.writeHead(200, VERSION);
    const timer = setInterval(() => response.write(rows(1)), 1);
    response.on("close", () => {
      clearInterval(timer);
      isClosed?.();
    });
  };
  const fake = await serve(t, endless);
  for await (const row of new FakeClient(fake.url).dataset("sales").stream()) {
    assert.deepEqual(row, { a: 1 });
    break;
  }
  await closed;
});

test("maxCredits bounds the rows that are asked for", async (t) => {
  const fake = await serve(t, estimate(3), whole([1, 2, 3], "more"), estimate(4));
  const dataset = new FakeClient(fake.url).dataset("sales");
  await assert.rejects(all(dataset.stream({ maxCredits: 3 })), CostLimitError, "rows that came after the estimate");
  assert.equal(fake.seen[1]?.body["limit"], 3);
  await assert.rejects(all(dataset.stream({ maxCredits: 3 })), CostLimitError);
  assert.equal(fake.seen.length, 3, "the second one was not sent");
});

test("finds lines in pieces of one byte", async () => {
  const bytes = new TextEncoder().encode("città\n\n😀 x\nrest");
  const pieces = async function* () {
    for (const byte of bytes) yield Uint8Array.of(byte);
  };
  assert.deepEqual((await all(linesOf(pieces()))).flat(), ["città", "", "😀 x"]);
});
