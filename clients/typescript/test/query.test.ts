import assert from "node:assert/strict";
import { test } from "node:test";

import { CostLimitError, IntegrityError, NotAcceptableError, PaymentRequiredError, RateLimitedError } from "../src/errors.js";
import { FakeClient, all, cut, data, estimate, page, refusal, serve, text } from "./fake.js";

const FILTERS = { city: ["Roma", "Milano"], price: { gte: 1.5 } };

test("sends nothing before it is read", async (t) => {
  const fake = await serve(t);
  new FakeClient(fake.url).dataset("sales").query({ filters: FILTERS });
  assert.equal(fake.seen.length, 0);
});

test("page 2 asks what page 1 asked, behind its cursor", async (t) => {
  const fake = await serve(t, page([{ a: 1 }, { a: 2 }], "c1"), page([{ a: 3 }, { a: 4 }], "c2"), page([{ a: 5 }], null));
  const filters = structuredClone(FILTERS);
  const columns = ["a", "b"];
  const query = new FakeClient(fake.url).dataset("sales").query({
    filters, columns, sortBy: "a", descending: true, offset: 7, version: "1.0.0", pageSize: 2,
  });
  const rows = [];
  for await (const row of query) {
    rows.push(row);
    // What the caller changes later is another question.
    filters.city.push("Napoli");
    columns.pop();
  }
  assert.deepEqual(rows, [1, 2, 3, 4, 5].map((a) => ({ a })));
  const [first, second, third] = fake.seen.map(({ body }) => body);
  const question = { filters: FILTERS, columns: ["a", "b"], sortBy: "a", sortDirection: "desc", version: "1.0.0" };
  assert.deepEqual(first, { ...question, offset: 7, limit: 2 });
  assert.deepEqual(second, { ...question, cursor: "c1", limit: 2 });
  assert.deepEqual(third, { ...question, cursor: "c2", limit: 2 });
  assert.equal(new Set(fake.seen.map(({ headers }) => headers["idempotency-key"])).size, 3, "each page is a purchase of its own");
});

test("asks for no row beyond the limit", async (t) => {
  const fake = await serve(t, page([{ a: 1 }, { a: 2 }], "c1"), page([{ a: 3 }], "c2"));
  const rows = await all(new FakeClient(fake.url).dataset("sales").query({ limit: 3, pageSize: 2 }));
  assert.equal(rows.length, 3);
  assert.deepEqual(fake.seen.map(({ body }) => body["limit"]), [2, 1]);
});

test("repeats a page in the same bytes under the same key", async (t) => {
  const busy = refusal(503, "UNAVAILABLE", { reason: "BUSY" }, { "Retry-After": "1" });
  const limited = refusal(429, "RATE_LIMITED", { reason: "MINUTE_RATE_EXCEEDED" }, { "Retry-After": "7" });
  const fake = await serve(t, cut, busy, limited, page([{ a: 1 }], null));
  const client = new FakeClient(fake.url);
  assert.deepEqual(await all(client.dataset("sales").query({ filters: FILTERS })), [{ a: 1 }]);
  assert.equal(new Set(fake.seen.map(({ text }) => text)).size, 1);
  assert.equal(new Set(fake.seen.map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.deepEqual(client.waits, [250, 1_000, 7_000]);
});

test("repeats a page whose body is cut", async (t) => {
  const fake = await serve(t, (response) => {
    response.writeHead(200, { "Content-Length": "1000" });
    response.write('{"success":true,', () => response.socket?.destroy());
  }, page([{ a: 1 }], null));
  assert.deepEqual(await all(new FakeClient(fake.url).dataset("sales").query()), [{ a: 1 }]);
  assert.equal(fake.seen[0]?.headers["idempotency-key"], fake.seen[1]?.headers["idempotency-key"]);
});

test("fails at once where the server asks for more patience than the policy has", async (t) => {
  const fake = await serve(t, refusal(429, "RATE_LIMITED", { reason: "DAILY_QUOTA_EXCEEDED", limit: 5_000, scope: "key" }, { "Retry-After": "36000" }));
  const failing = all(new FakeClient(fake.url).dataset("sales").query());
  await assert.rejects(failing, (error) => error instanceof RateLimitedError && error.retryAfterMs === 36_000_000 && error.details?.limit === 5_000);
  assert.equal(fake.seen.length, 1);
});

test("a key of the caller is numbered by page", async (t) => {
  const fake = await serve(t, page([{ a: 1 }], "c1"), page([{ a: 2 }], null));
  await all(new FakeClient(fake.url).dataset("sales").query({ idempotencyKey: "export-7", pageSize: 1 }));
  assert.deepEqual(fake.seen.map(({ headers }) => headers["idempotency-key"]), ["export-7.page-1", "export-7.page-2"]);
});

test("stays on the version of its first page", async (t) => {
  const fake = await serve(t, page([{ a: 1 }], "c1"), page([{ a: 2 }], null, "2.0.0"));
  await assert.rejects(all(new FakeClient(fake.url).dataset("sales").query()), IntegrityError);
});

test("parallel reads of one iterator share a page", async (t) => {
  const fake = await serve(t, page([{ a: 1 }, { a: 2 }], null));
  const rows = new FakeClient(fake.url).dataset("sales").query()[Symbol.asyncIterator]();
  const both = await Promise.all([rows.next(), rows.next(), rows.next()]);
  assert.deepEqual(both.map(({ value }) => value), [{ a: 1 }, { a: 2 }, undefined]);
  assert.equal(fake.seen.length, 1);
});

test("a page says its facts, also with numbers as text", async (t) => {
  const envelope = '{"success":true,"data":{"results":[{"a":9007199254740993,"b":901.00,"c":"9"}],"rowsReturned":1,"nextCursor":null,'
    + '"paginationMode":"offset","totalRows":1},"meta":{"requestId":"r","timestamp":"t","durationMs":1,"credits":{"charged":1,"remaining":9},"warnings":["w"]}}';
  const reply = (response: import("node:http").ServerResponse) => {
    response.writeHead(200, { "X-Dataset-Version": "1.0.0", "Idempotent-Replayed": "true" }).end(envelope);
  };
  const fake = await serve(t, reply, reply);
  const heard: string[] = [];
  const dataset = new FakeClient(fake.url, { onWarning: (warning) => heard.push(warning) }).dataset("sales");
  const facts = {
    nextCursor: null, totalRows: 1, totalRowsAtLeast: undefined, paginationMode: "offset", version: "1.0.0", credits: { charged: 1, remaining: 9 }, warnings: ["w"],
    requestId: "r", isReplayed: true,
  };
  assert.deepEqual(await all(dataset.query().pages()), [{ rows: [{ a: 9007199254740993n, b: 901, c: "9" }], ...facts }]);
  assert.deepEqual(await all(dataset.query({ numbers: "text" }).pages()), [{ rows: [{ a: "9007199254740993", b: "901.00", c: "9" }], ...facts }]);
  assert.deepEqual(heard, ["w", "w"]);
});

test("toArray needs a limit and asks for no row beyond it", async (t) => {
  const fake = await serve(t, page([{ a: 1 }, { a: 2 }], "c1"), page([{ a: 3 }], "c2"));
  const dataset = new FakeClient(fake.url).dataset("sales");
  await assert.rejects(dataset.query().toArray(), TypeError);
  assert.deepEqual(await dataset.query().toArray({ limit: 0 }), []);
  assert.deepEqual(await dataset.query({ limit: 100, pageSize: 2 }).toArray({ limit: 3 }), [{ a: 1 }, { a: 2 }, { a: 3 }]);
  assert.deepEqual(fake.seen.map(({ body }) => body["limit"]), [2, 1]);
});

test("maxCredits refuses the whole before its first row", async (t) => {
  const fake = await serve(t, estimate(500));
  const failing = all(new FakeClient(fake.url).dataset("sales").query({ filters: FILTERS, maxCredits: 499 }));
  await assert.rejects(failing, (error) => error instanceof CostLimitError && error.creditsRequired === 500 && error.maxCredits === 499);
  assert.deepEqual(fake.seen.map(({ path }) => path), ["/api/v1/datasets/sales/query/estimate"]);
  assert.deepEqual(fake.seen[0]?.body, { filters: FILTERS, limit: 10_000 });
});

test("maxCredits holds even where the estimate was of another version", async (t) => {
  const fake = await serve(t, estimate(2), page([{ a: 1 }, { a: 2 }], "c1"));
  const rows: unknown[] = [];
  const walk = async () => {
    for await (const row of new FakeClient(fake.url).dataset("sales").query({ maxCredits: 2 })) rows.push(row);
  };
  await assert.rejects(walk(), CostLimitError);
  assert.equal(rows.length, 2);
  assert.equal(fake.seen[1]?.body["limit"], 2, "no request can cost more than is left");
});

test("maxCredits does not bind the free plan", async (t) => {
  const fake = await serve(t, estimate(3, 0), page([{ a: 1 }, { a: 2 }, { a: 3 }], null));
  assert.equal((await all(new FakeClient(fake.url).dataset("sales").query({ maxCredits: 0 }))).length, 3);
});

test("counts beyond one estimate, for nothing", async (t) => {
  const fake = await serve(t, estimate(10_000), estimate(1_000_000), estimate(234_567));
  const cost = await new FakeClient(fake.url).dataset("sales").query({ offset: 5, pageSize: 10_000 }).cost();
  assert.equal(cost.rows, 1_244_567);
  assert.equal(cost.creditsRequired, 1_244_567);
  assert.equal(cost.requests, 125);
  assert.equal(cost.affordable, false, "more than the credits of the account");
  assert.deepEqual(fake.seen.map(({ body }) => body), [
    { offset: 5, limit: 10_000 },
    { offset: 10_005, limit: 1_000_000, for: "stream" },
    { offset: 1_010_005, limit: 1_000_000, for: "stream" },
  ]);
});

test("counts behind a cursor once, and says where it cannot", async (t) => {
  const fake = await serve(t, estimate(10_000), estimate(20_000), estimate(10_000), estimate(1_000_000));
  const dataset = new FakeClient(fake.url).dataset("sales");
  assert.equal(await dataset.query({ cursor: "c" }).count(), 20_000);
  await assert.rejects(dataset.query({ cursor: "c" }).count(), RangeError);
});

test("says what a walk takes of the free queries", async (t) => {
  const account = data({ freeQueriesRemaining: 24, freeRowsPerQuery: 100 });
  const poor = (rows: number) => data({ rows, creditsRequired: rows, creditsAvailable: 0, affordable: false });
  const fake = await serve(t, poor(2_401), account, poor(2_400), account, poor(900), account);
  const query = (options = {}) => new FakeClient(fake.url).dataset("sales").query(options);
  assert.deepEqual(await query().cost(), { rows: 2_401, creditsRequired: 2_401, creditsAvailable: 0, affordable: false, requests: 3 });
  assert.deepEqual(await query().cost(), { rows: 2_400, creditsRequired: 0, creditsAvailable: 0, affordable: true, requests: 24 });
  assert.equal((await query({ limit: 900, pageSize: 30 }).cost()).affordable, false, "30 queries of 24");
  assert.equal(fake.seen.length, 6);
});

test("asks for pages of the free plan where there are no credits", async (t) => {
  const refused = refusal(402, "NO_CREDITS", { reason: "FREE_PLAN_ROWS", required: 1_000, allowed: 2 });
  const fake = await serve(t, refused, page([{ a: 1 }, { a: 2 }], "c1"), page([{ a: 3 }], null), refusal(402, "NO_CREDITS", { reason: "FREE_PLAN_EXHAUSTED" }));
  const sales = new FakeClient(fake.url).dataset("sales");
  assert.equal((await all(sales.query())).length, 3);
  assert.deepEqual(fake.seen.map(({ body }) => body["limit"]), [1_000, 2, 2]);
  await assert.rejects(all(sales.query()), (error) => error instanceof PaymentRequiredError && error.reason === "FREE_PLAN_EXHAUSTED");
});

test("gives Arrow as it came, and says where the server has none", async (t) => {
  const arrow = Uint8Array.from([1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
  const allowed = ["text/event-stream"];
  const fake = await serve(
    t,
    text(["half"], {}, false), (response) => void response.writeHead(200).end(arrow),
    (response) => void response.writeHead(200).end(arrow.subarray(0, 8)),
    refusal(406, "NOT_ACCEPTABLE", { reason: "NOT_ACCEPTABLE", allowed }),
    estimate(10_000), estimate(1_000_000), estimate(1),
  );
  const query = new FakeClient(fake.url).dataset("sales").query({ filters: FILTERS, limit: 3 });
  assert.deepEqual(await query.arrow(), arrow, "a cut answer is asked for again");
  assert.equal(fake.seen[1]?.headers.accept, "application/vnd.apache.arrow.stream");
  assert.deepEqual(fake.seen[1]?.body, { filters: FILTERS, limit: 3 });
  assert.equal(fake.seen[0]?.headers["idempotency-key"], fake.seen[1]?.headers["idempotency-key"]);
  await assert.rejects(query.arrow(), IntegrityError);
  await assert.rejects(query.arrow(), (error) => error instanceof NotAcceptableError && /does not offer Arrow/.test(error.message) && Array.isArray(error.details?.allowed) && error.details.allowed[0] === allowed[0]);
  await assert.rejects(new FakeClient(fake.url).dataset("sales").query().arrow(), RangeError);
  assert.equal(fake.seen.length, 7, "more rows than one answer has are not asked for");
});

test("takes integers of any size, dates and nested conditions in filters", async (t) => {
  const fake = await serve(t, page([], null));
  const when = new Date("2026-11-23T10:00:00Z");
  const filters = { a: 2n ** 64n, b: { gte: when, lt: 5 }, $or: [{ c: null }, { $not: { c: ["x", "y"] } }], d_min: 1 };
  await all(new FakeClient(fake.url).dataset("sales").query({ filters, columns: null }));
  assert.deepEqual(fake.seen[0]?.body, {
    filters: { a: "18446744073709551616", b: { gte: "2026-11-23T10:00:00.000Z", lt: 5 }, $or: [{ c: null }, { $not: { c: ["x", "y"] } }], d_min: 1 },
    limit: 1_000,
  });
});

test("refuses wrong numbers before anything is sent", () => {
  const dataset = new FakeClient("http://127.0.0.1:9").dataset("sales");
  for (const limit of [0, -1, 1.5, NaN]) assert.throws(() => dataset.query({ limit }), RangeError);
  for (const pageSize of [0, 10_001, 2.5]) assert.throws(() => dataset.query({ pageSize }), RangeError);
  assert.throws(() => dataset.query({ maxCredits: -1 }), RangeError);
  assert.throws(() => dataset.query({ offset: 0.5 }), RangeError);
  assert.throws(() => dataset.query({ filters: { a: undefined as never } }), TypeError);
  assert.throws(() => dataset.query({ idempotencyKey: "a\nb" }), TypeError);
});

test("a count that is only bounded is not told as a number", async (t) => {
  const bounded = () => data({ rows: 20_000, rowsAtLeast: 10_000, creditsRequired: 20_000, creditsAvailable: 1_000_000, affordable: true });
  const fake = await serve(t, estimate(10_000), bounded(), estimate(10_000), bounded());
  const query = new FakeClient(fake.url).dataset("sales").query({ filters: FILTERS });
  const { rows, rowsAtLeast } = await query.cost();
  assert.deepEqual({ rows, rowsAtLeast }, { rows: 30_000, rowsAtLeast: 20_000 });
  await assert.rejects(query.count(), RangeError);
});
