// The installed package against a real server: values, pages, cuts, prices, refusals.
//
//     node --test checks.mjs
//
// MERCATO_URL is the server of the demo's datasets without request limits, MERCATO_KEY and MERCATO_OTHER_KEY are keys of two accounts
// with credits, MERCATO_FREE_KEY is one of an account that never bought any. MERCATO_EXPECTED is a JSON file with the rows of the dataset `exact`, numbers as text, and
// MERCATO_PUBLISH a command that publishes its next version.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";

import * as mercato from "@mercato/client";
import { cuttingProxy } from "./proxy.mjs";

const { MERCATO_URL: url, MERCATO_KEY: apiKey, MERCATO_OTHER_KEY: otherKey, MERCATO_FREE_KEY: freeKey } = process.env;
const { MERCATO_EXPECTED: expected, MERCATO_PUBLISH: publish } = process.env;
const QUICK = { baseMs: 20, maxMs: 200, retries: 8 };
const client = new mercato.Client(url, { apiKey });
const other = new mercato.Client(url, { apiKey: otherKey });
const lineitem = client.dataset("tpch-lineitem");
const ROWS = { columns: ["l_orderkey", "l_linenumber", "l_shipdate", "l_extendedprice"], sortBy: "l_shipdate", descending: true };

async function all(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

/// Credits once no stream holds any.
async function settled() {
  for (let tries = 0; tries < 600; tries += 1) {
    const { credits, reserved } = await client.account();
    if (reserved === 0) return credits;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("a reservation stays open");
}

/// Runs a work and compares its price.
async function costs(credits, work) {
  const before = await settled();
  const outcome = await work();
  assert.equal(before - (await settled()), credits, "credits");
  return outcome;
}

test("reads the catalogue", async () => {
  const datasets = await all(client.datasets({ limit: 7 }));
  assert.ok(datasets.length > 20);
  assert.equal(new Set(datasets.map(({ slug }) => slug)).size, datasets.length);
  const { total, results } = await client.search("orders").page();
  assert.ok(total >= 1 && results[0].score > 0);
  assert.ok((await all(client.tags())).length > 1);
  assert.ok((await client.graph()).nodes.length === datasets.length);
});

test("reads everything about a dataset", async () => {
  const header = await lineitem.header();
  const { columns, version } = await lineitem.schema();
  const { results, rowsReturned } = await lineitem.sample();
  const { columns: statistics } = await lineitem.stats();
  assert.equal(header.columnCount, columns.length);
  assert.equal(version, header.currentVersion);
  assert.deepEqual(Object.keys(results[0]), columns.map(({ name }) => name));
  assert.equal(results.length, rowsReturned);
  assert.equal(statistics.length, columns.length);
  assert.equal(typeof (await lineitem.methodology()).markdown, "string");
  assert.ok(Array.isArray((await lineitem.changelog()).entries));
  assert.ok((await lineitem.related({ limit: 3 })).results.length <= 3);
  assert.equal((await lineitem.croissant()).name !== undefined, true);
});

test("walks over all pages, each row once, and pays each row once", async () => {
  const query = lineitem.query({ ...ROWS, filters: { l_quantity_min: 45 }, pageSize: 700 });
  const count = await query.count();
  assert.ok(count > 3_000);
  const rows = await costs(count, () => all(query));
  assert.equal(rows.length, count);
  assert.equal(new Set(rows.map(({ l_orderkey, l_linenumber }) => `${l_orderkey}/${l_linenumber}`)).size, count);
  const dates = rows.map(({ l_shipdate }) => l_shipdate);
  assert.deepEqual(dates, [...dates].sort().reverse());
  const few = await costs(1_234, () => lineitem.query({ ...ROWS, limit: 5_000, pageSize: 1_000 }).toArray({ limit: 1_234 }));
  assert.equal(few.length, 1_234);
});

test("a walk over connections that are cut has the same rows at the same price", async (t) => {
  const query = { ...ROWS, filters: { l_quantity_min: 49 }, pageSize: 300 };
  const wanted = await all(lineitem.query(query));
  const proxy = await cuttingProxy(t, url, [0, 1, 200, 3_000, 5_000, 100, 2_000]);
  const cut = new mercato.Client(proxy.url, { apiKey, retry: QUICK });
  assert.deepEqual(await costs(wanted.length, () => all(cut.dataset("tpch-lineitem").query(query))), wanted);
  assert.ok(proxy.connections() > 7, `${proxy.connections()} connections`);
});

test("a stream that is cut goes on, each row once, paid once", async (t) => {
  const query = { ...ROWS, limit: 30_000 };
  const wanted = await lineitem.query({ ...query, pageSize: 10_000 }).toArray();
  const proxy = await cuttingProxy(t, url, [0, 700, 90_000, 20_000, 300_000, 1_000, 150_000]);
  const cut = new mercato.Client(proxy.url, { apiKey, retry: QUICK });
  const stream = cut.dataset("tpch-lineitem").stream(query);
  assert.deepEqual(await costs(30_000, () => all(stream)), wanted);
  assert.ok(stream.summary.resumptions >= 3, `${stream.summary.resumptions} resumptions`);
  assert.equal(stream.summary.rowsReturned, 30_000);
  assert.notEqual(stream.summary.nextCursor, null);
});

test("groups are those of all rows, page by page and over a stream that is cut, for a credit each", async (t) => {
  const columns = ["l_suppkey", "l_shipmode", "l_quantity", "l_orderkey"];
  const rows = await all(lineitem.query({ columns, filters: { l_quantity_min: 25 }, pageSize: 10_000 }));
  const wanted = new Map();
  for (const { l_suppkey, l_shipmode, l_quantity, l_orderkey } of rows) {
    const key = `${l_suppkey} ${l_shipmode}`;
    const one = wanted.get(key) ?? { l_suppkey, mode: l_shipmode, n: 0, total: 0, first: l_orderkey };
    wanted.set(key, { ...one, n: one.n + 1, total: one.total + l_quantity, first: Math.min(one.first, l_orderkey) });
  }
  const byNumber = (one, other) => other.n - one.n || one.l_suppkey - other.l_suppkey || (one.mode < other.mode ? -1 : 1);
  const expectedGroups = [...wanted.values()].filter(({ n }) => n >= 20).sort(byNumber);
  assert.ok(expectedGroups.length > 300, `${expectedGroups.length} groups`);
  const ask = (from) => from.dataset("tpch-lineitem").groupBy("l_suppkey", { column: "l_shipmode", as: "mode" }).aggregate(
    { n: { op: "count" }, total: { op: "sum", column: "l_quantity" }, first: { op: "min", column: "l_orderkey" } },
    { filters: { l_quantity_min: 25 }, having: { n_min: 20 }, sortBy: "n", descending: true, pageSize: 150 },
  );
  const { rows: most, rowsAtLeast } = await costs(0, () => ask(client).cost());
  assert.deepEqual([most, rowsAtLeast], [wanted.size, 0]);
  assert.deepEqual(await costs(expectedGroups.length, () => all(ask(client))), expectedGroups);
  const proxy = await cuttingProxy(t, url, [0, 300, 2_000, 1_500]);
  const stream = ask(new mercato.Client(proxy.url, { apiKey, retry: QUICK })).stream();
  assert.deepEqual(await costs(expectedGroups.length, () => all(stream)), expectedGroups);
  const arrow = await costs(expectedGroups.length, () => ask(client).arrow());
  assert.deepEqual([...arrow.subarray(-8)], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], "the end of the stream");
  const number = await lineitem.groupBy("l_shipmode").aggregate({ n: { op: "count" } }).count();
  assert.equal(number, 7);
});

test("a stream that is left costs what arrived, not all of it", async () => {
  const before = await settled();
  for await (const row of lineitem.stream(ROWS)) {
    assert.equal(Object.keys(row).length, 4);
    break;
  }
  const paid = before - (await settled());
  assert.ok(paid >= 1 && paid < (await lineitem.header()).rowCount, `${paid} credits`);
});

for (const format of ["csv", "json", "ndjson"]) {
  test(`a download that is cut is whole and paid once: ${format}`, async (t) => {
    const orders = client.dataset("tpch-orders");
    const { rowCount, formats } = await orders.header();
    const folder = await mkdtemp(path.resolve("download-"));
    // Of another account: what an account has paid of a file, it does not pay again.
    await other.dataset("tpch-orders").download(path.join(folder, "wanted"), { format });
    const wanted = await readFile(path.join(folder, "wanted"));
    assert.equal(wanted.length, formats.find((one) => one.format === format).bytes);
    const proxy = await cuttingProxy(t, url, [0, 800, 300_000, 1_000, 500_000, 2_000]);
    const cut = new mercato.Client(proxy.url, { apiKey, retry: QUICK }).dataset("tpch-orders");
    const result = await costs(rowCount, () => cut.download(path.join(folder, "cut"), { format }));
    assert.equal(result.bytes, wanted.length);
    assert.ok((await readFile(path.join(folder, "cut"))).equals(wanted));
    assert.ok(proxy.connections() > 6, `${proxy.connections()} connections`);
    assert.deepEqual((await readdir(folder)).sort(), ["cut", "wanted"]);
  });
}

test("the Parquet file is as long as the header says, and whole", async () => {
  const orders = client.dataset("tpch-orders");
  const { formats } = await orders.header();
  const pieces = [];
  const result = await orders.download(new WritableStream({ write: (piece) => void pieces.push(piece) }), { format: "parquet" });
  const file = Buffer.concat(pieces);
  assert.equal(file.length, formats.find((one) => one.format === "parquet").bytes);
  assert.equal(result.bytes, file.length);
  assert.deepEqual([file.subarray(0, 4), file.subarray(-4)].map(String), ["PAR1", "PAR1"]);
});

test("a later call resumes what an earlier one left, and the file is paid once", async () => {
  const partsupp = client.dataset("tpch-partsupp");
  const { rowCount } = await partsupp.header();
  const target = path.join(await mkdtemp(path.resolve("download-")), "partsupp.csv");
  const controller = new AbortController();
  const onProgress = ({ bytes }) => bytes > 200_000 && controller.abort(new Error("enough"));
  await costs(rowCount, async () => {
    await assert.rejects(partsupp.download(target, { signal: controller.signal, onProgress }), /enough/);
    await settled();
    const result = await partsupp.download(target);
    assert.ok(result.resumedAt > 0 && result.resumedAt < result.bytes);
  });
  await other.dataset("tpch-partsupp").download(`${target}.wanted`);
  assert.ok((await readFile(target)).equals(await readFile(`${target}.wanted`)));
  await assert.rejects(partsupp.download(target), mercato.FileExistsError);
});

test("a file without a length begins anew in a later call, and is paid once under one key", async () => {
  const partsupp = client.dataset("tpch-partsupp");
  const { rowCount } = await partsupp.header();
  const target = path.join(await mkdtemp(path.resolve("download-")), "partsupp.arrow");
  const controller = new AbortController();
  const onProgress = ({ bytes }) => bytes > 200_000 && controller.abort(new Error("enough"));
  const options = { format: "arrow", idempotencyKey: "partsupp-as-arrow" };
  await costs(rowCount, async () => {
    await assert.rejects(partsupp.download(target, { ...options, signal: controller.signal, onProgress }), /enough/);
    await settled();
    assert.deepEqual((await partsupp.download(target, options)).checked, "end");
  });
  assert.deepEqual([...(await readFile(target)).subarray(-8)], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], "the end of the stream");
});

test("checks the SHA-256 of a small file, also into a stream", async () => {
  const nation = client.dataset("tpch-nation");
  const hash = createHash("sha256");
  const sink = new WritableStream({ write: (piece) => void hash.update(piece) });
  const target = path.join(await mkdtemp(path.resolve("download-")), "nation.csv");
  assert.equal((await nation.download(sink)).checked, "sha-256");
  assert.equal((await nation.download(target)).checked, "sha-256");
  assert.equal(hash.digest("hex"), createHash("sha256").update(await readFile(target)).digest("hex"));
});

test("refusals say what to do, and cost nothing", async () => {
  await costs(0, async () => {
    const fails = async (work, Kind, fields) => {
      const error = await work.then(() => assert.fail("it succeeded"), (refused) => refused);
      assert.ok(error instanceof Kind, String(error));
      for (const [name, value] of Object.entries(fields)) assert.deepEqual(error[name], value, `${name} of ${error}`);
      return error;
    };
    const wrong = await fails(lineitem.query({ filters: { l_quantit: 1 } }).toArray({ limit: 1 }), mercato.BadRequestError, {
      status: 400, code: "BAD_REQUEST", reason: "UNKNOWN_COLUMN", pointer: "/filters/l_quantit", suggestion: "l_quantity",
    });
    assert.match(wrong.requestId, /^[0-9a-f-]{36}$/);
    await fails(client.dataset("tpch-order").header(), mercato.NotFoundError, { status: 404, suggestion: "tpch-orders" });
    const stranger = new mercato.Client(url, { apiKey: `${apiKey.slice(0, -1)}${apiKey.endsWith("0") ? "1" : "0"}` });
    await fails(stranger.account(), mercato.UnauthorizedError, { status: 401, code: "UNAUTHORIZED" });
    const free = new mercato.Client(url, { apiKey: freeKey }).dataset("tpch-orders");
    const target = path.resolve("never.csv");
    await fails(free.download(target), mercato.PaymentRequiredError, { status: 402, code: "NO_CREDITS" });
    await fails(all(lineitem.query({ maxCredits: 10 })), mercato.CostLimitError, { maxCredits: 10 });
    await fails(all(lineitem.stream({ maxCredits: 10 })), mercato.CostLimitError, { maxCredits: 10 });
    await fails(lineitem.download(target, { maxCredits: 10 }), mercato.CostLimitError, { maxCredits: 10 });
    assert.deepEqual((await readdir(".")).filter((name) => name.startsWith("never")), []);
  });
});

test("the free plan pays with queries", async () => {
  const free = new mercato.Client(url, { apiKey: freeKey });
  const { freeQueriesRemaining } = await free.account();
  const query = free.dataset("tpch-lineitem").query({ ...ROWS, limit: 250, pageSize: 5_000, maxCredits: 0 });
  assert.deepEqual(await query.cost(), { rows: 250, creditsRequired: 0, creditsAvailable: 0, affordable: true, requests: 3 });
  assert.equal((await all(query)).length, 250);
  assert.equal((await free.account()).freeQueriesRemaining, freeQueriesRemaining - 3);
  // It takes all free queries that are left, and ends before its rows do.
  const streamed = all(free.dataset("tpch-orders").stream());
  await assert.rejects(streamed, (error) => error instanceof mercato.PaymentRequiredError && error.reason === "FREE_PLAN_EXHAUSTED");
});

test("a repetition under a key of the caller is free", async () => {
  const query = lineitem.query({ ...ROWS, limit: 250, pageSize: 100, idempotencyKey: "checks-1" });
  const first = await costs(250, () => all(query.pages()));
  const second = await costs(0, () => all(query.pages()));
  assert.deepEqual(second.map(({ rows }) => rows), first.map(({ rows }) => rows));
  assert.ok(first.every(({ isReplayed }) => !isReplayed) && second.every(({ isReplayed }) => isReplayed));
});

test("cost and count agree with what is charged", async () => {
  const query = client.dataset("tpch-orders").query({ filters: { o_orderstatus: "F" }, pageSize: 5_000 });
  const { rows, creditsRequired, affordable } = await query.cost();
  assert.equal(rows, creditsRequired);
  assert.ok(affordable);
  assert.equal((await costs(rows, () => all(query))).length, rows);
  const { rowCount } = await lineitem.header();
  assert.equal(await lineitem.query().count(), rowCount);
  assert.equal(await lineitem.query({ offset: 100 }).count(), rowCount - 100);
});

test("values are exact, and a walk stays on its version", async () => {
  const { columns, rows } = JSON.parse(readFileSync(expected, "utf8"));
  const exact = client.dataset("exact");
  const asText = await all(exact.query({ columns, numbers: "text", pageSize: 3 }));
  assert.deepEqual(asText, rows);
  assert.deepEqual(await all(exact.stream({ columns, numbers: "text" })), rows);
  const [first] = await all(exact.query({ limit: 1 }));
  assert.equal(first.big, BigInt(rows[0].big));
  assert.equal((await all(exact.query({ filters: { big: BigInt(rows[1].big) } }))).length, 1);

  const pages = exact.query({ columns, numbers: "text", pageSize: 3 }).pages();
  const begun = (await pages.next()).value;
  execFileSync("sh", ["-c", publish]);
  for (let tries = 0; (await exact.header()).currentVersion === begun.version; tries += 1) {
    assert.ok(tries < 200, "the new version does not appear");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const rest = await all(pages);
  assert.deepEqual([begun, ...rest].flatMap((page) => page.rows), rows);
  assert.deepEqual(new Set(rest.map(({ version }) => version)), new Set([begun.version]));
  assert.notDeepEqual(await all(exact.query({ columns, numbers: "text" })), rows);
  assert.deepEqual(await all(exact.query({ columns, numbers: "text", version: begun.version })), rows);
});

test("Arrow is Arrow where the server's document offers it, and a clear refusal elsewhere", async () => {
  const document = await (await fetch(`${url}/api/v1/openapi.json`)).json();
  const offers = document.paths["/api/v1/datasets/{slug}/query/stream"].post.responses["200"].content;
  const query = lineitem.query({ ...ROWS, limit: 1_000 });
  if ("application/vnd.apache.arrow.stream" in offers) {
    const bytes = await costs(1_000, () => query.arrow());
    assert.deepEqual([...bytes.subarray(0, 4)], [0xff, 0xff, 0xff, 0xff], "a continuation mark");
    assert.deepEqual([...bytes.subarray(-8)], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], "the end of the stream");
  } else {
    await costs(0, () => assert.rejects(query.arrow(), (error) => error instanceof mercato.NotAcceptableError && /does not offer Arrow/.test(error.message)));
  }
});
