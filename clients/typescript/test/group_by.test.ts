import assert from "node:assert/strict";
import { test } from "node:test";

import { CostLimitError } from "../src/errors.js";
import type { GroupColumn } from "../src/group_by.js";
import { FakeClient, all, estimate, page, serve, text } from "./fake.js";

test("pages, streams and estimates ask for the same groups, as they were when the query was made", async (t) => {
  const end = '{"$end":{"rowsReturned":1,"nextCursor":null,"creditsCharged":1}}\n';
  const fake = await serve(t, page([{ c: "x", n: 2 }], "c1"), page([{ c: "y", n: 1 }], null),
    text(['{"c":"x","n":2}\n', end], { "X-Dataset-Version": "1.0.0" }, true), estimate(2));
  const columns: GroupColumn[] = ["c", { column: "at", by: "month", as: "month" }, { column: "x", width: 0.5 }];
  const groups = new FakeClient(fake.url).dataset("sales").groupBy(...columns);
  Object.assign(columns[1] as object, { by: "year" });
  const having = { n_min: 1 };
  const aggregates = { n: { op: "count" as const }, high: { op: "quantile" as const, column: "x", q: 0.95 } };
  const query = groups.aggregate(aggregates, {
    filters: { d: [1] }, having, sortBy: "n", descending: true, version: "1.0.0", offset: 3, pageSize: 1,
  });
  having.n_min = 2;
  aggregates.n = { op: "count" as const, column: "z" } as never;
  assert.equal(fake.seen.length, 0);
  assert.deepEqual(await all(query), [{ c: "x", n: 2 }, { c: "y", n: 1 }]);
  assert.deepEqual(await all(query.stream()), [{ c: "x", n: 2 }]);
  await query.cost();
  const question = {
    groupBy: ["c", { column: "at", by: "month", as: "month" }, { column: "x", width: 0.5 }],
    aggregates: { n: { op: "count" }, high: { op: "quantile", column: "x", q: 0.95 } }, having: { n_min: 1 },
    filters: { d: [1] }, sortBy: "n", sortDirection: "desc", version: "1.0.0",
  };
  const { having: _, ...estimated } = question;
  assert.deepEqual(fake.seen.map(({ body }) => body), [
    { ...question, offset: 3, limit: 1 }, { ...question, cursor: "c1", limit: 1 }, { ...question, offset: 3, limit: 1_000_000 },
    { ...estimated, offset: 3, limit: 10_000 },
  ]);
});

test("columns alone are distinct combinations, aggregates alone one row", async (t) => {
  const fake = await serve(t, page([], null), page([{ n: 0 }], null));
  const sales = new FakeClient(fake.url).dataset("sales");
  await all(sales.groupBy("c", "d").aggregate());
  assert.deepEqual(await all(sales.groupBy().aggregate({ n: { op: "count" } })), [{ n: 0 }]);
  assert.deepEqual(fake.seen.map(({ body }) => body), [
    { groupBy: ["c", "d"], limit: 1_000 }, { aggregates: { n: { op: "count" } }, limit: 1_000 },
  ]);
});

test("refuses what would be another question before anything is sent", () => {
  const sales = new FakeClient("http://127.0.0.1:9").dataset("sales");
  assert.throws(() => sales.groupBy().aggregate(), TypeError);
  assert.throws(() => sales.groupBy().aggregate({}, { having: { n: 1 } }), TypeError);
  assert.throws(() => sales.groupBy("c").aggregate({}, { having: { n: undefined as never } }), TypeError);
  assert.throws(() => sales.groupBy({ column: "c", width: NaN }), TypeError);
  assert.throws(() => sales.groupBy("c").aggregate({}, { pageSize: 0 }), RangeError);
});

test("a price beside having is a bound", async (t) => {
  const fake = await serve(t, estimate(25), estimate(25), estimate(25), estimate(0));
  const groups = new FakeClient(fake.url).dataset("sales").groupBy("c");
  const query = groups.aggregate({ n: { op: "count" } }, { having: { n_min: 2 }, maxCredits: 24 });
  const { rows, rowsAtLeast } = await query.cost();
  assert.deepEqual({ rows, rowsAtLeast }, { rows: 25, rowsAtLeast: 0 });
  await assert.rejects(query.count(), RangeError);
  await assert.rejects(all(query), CostLimitError);
  assert.equal(await query.count(), 0);
  assert.equal(fake.seen.length, 4);
});
