// The installed package in Chromium, from a page of another origin than the server: the same rows as in Node.
//
//     node browser.mjs CHROMIUM PACKAGE
//
// PACKAGE is the folder of the installed package. MERCATO_URL and MERCATO_KEY as in checks.mjs. Exit code 0 only without a fault.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

import { cuttingProxy } from "./proxy.mjs";

const [executablePath, folder] = process.argv.slice(2);
const { MERCATO_URL: url, MERCATO_KEY: apiKey } = process.env;
const { Client } = await import(pathToFileURL(path.join(folder, "dist", "node.js")).href);
const QUERY = { columns: ["l_orderkey", "l_shipdate"], sortBy: "l_shipdate", limit: 2_500 };
const afterwards = [];
const scope = { after: (work) => afterwards.push(work) };

const site = await pageServer();
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(site);
  await page.waitForFunction(() => globalThis.mercato !== undefined);
  await walks(page);
  await streams(page);
  await downloads(page);
  await refuses(page);
  assert.deepEqual(errors, []);
} finally {
  await browser.close();
  for (const work of afterwards) work();
}
console.log("The client works in Chromium.");

/// Pages and the catalogue.
async function walks(page) {
  const found = await page.evaluate(async ({ url, apiKey, query }) => {
    const client = new globalThis.mercato.Client(url, { apiKey });
    const slugs = [];
    for await (const { slug } of client.datasets({ limit: 5 })) slugs.push(slug);
    const rows = await client.dataset("tpch-lineitem").query({ ...query, pageSize: 1_000 }).toArray();
    return { slugs, rows };
  }, { url, apiKey, query: QUERY });
  const client = new Client(url, { apiKey });
  assert.deepEqual(found.rows, await client.dataset("tpch-lineitem").query(QUERY).toArray());
  assert.deepEqual(found.slugs, (await client.datasets().toArray({ limit: 1_000 })).map(({ slug }) => slug));
}

/// A stream that is cut, here also encoded.
async function streams(page) {
  const proxy = await cuttingProxy(scope, url, [Infinity, Infinity, 5_000, 300, 20_000]);
  const found = await page.evaluate(async ({ url, apiKey, query }) => {
    const client = new globalThis.mercato.Client(url, { apiKey, retry: { baseMs: 20, retries: 8 } });
    const stream = client.dataset("tpch-lineitem").stream({ ...query, limit: 20_000 });
    const rows = [];
    for await (const row of stream) rows.push(row);
    return { rows, summary: stream.summary };
  }, { url: proxy.url, apiKey, query: QUERY });
  const wanted = await new Client(url, { apiKey }).dataset("tpch-lineitem").query({ ...QUERY, limit: 20_000 }).toArray();
  assert.deepEqual(found.rows, wanted);
  assert.equal(found.summary.rowsReturned, 20_000);
}

/// A file into a stream, by ranges. Pages of localhost may compute checksums.
async function downloads(page) {
  const found = await page.evaluate(async ({ url, apiKey }) => {
    const pieces = [];
    const sink = new WritableStream({ write: (piece) => void pieces.push(piece) });
    const nation = new globalThis.mercato.Client(url, { apiKey }).dataset("tpch-nation");
    const result = await nation.download(sink, { format: "csv" });
    const path = await nation.download("nation.csv").catch((error) => String(error));
    return { result, path, text: await new Blob(pieces).text() };
  }, { url, apiKey });
  const wanted = [];
  const sink = new WritableStream({ write: (piece) => void wanted.push(piece) });
  await new Client(url, { apiKey }).dataset("tpch-nation").download(sink);
  const sum = (bytes) => createHash("sha256").update(bytes).digest("hex");
  assert.equal(sum(found.text), sum(Buffer.concat(wanted)));
  assert.equal(found.result.checked, "sha-256");
  assert.match(found.path, /paths need Node/);
}

/// Refusals have their fields, because the server lets pages read its headers.
async function refuses(page) {
  const found = await page.evaluate(async ({ url, apiKey }) => {
    const client = new globalThis.mercato.Client(url, { apiKey });
    const error = await client.dataset("tpch-order").header().catch((refused) => refused);
    return [error.name, error.status, error.suggestion, error.requestId, error instanceof globalThis.mercato.NotFoundError];
  }, { url, apiKey });
  assert.deepEqual([found[0], found[1], found[2], found[4]], ["NotFoundError", 404, "tpch-orders", true]);
  assert.match(found[3], /^[0-9a-f-]{36}$/);
}

/// A page that loads the package as it is, without a bundler.
async function pageServer() {
  const html = '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>';
  const script = 'import * as mercato from "/dist/browser.js"; globalThis.mercato = mercato;';
  const server = createServer((request, response) => {
    const name = /^\/dist\/([\w.]+\.js)$/.exec(request.url ?? "")?.[1];
    if (request.url === "/") response.writeHead(200, { "Content-Type": "text/html" }).end(html);
    else if (request.url === "/page.js") response.writeHead(200, { "Content-Type": "text/javascript" }).end(script);
    else if (name !== undefined) response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(path.join(folder, "dist", name)));
    else response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterwards.push(() => server.close());
  return `http://localhost:${server.address().port}/`;
}
