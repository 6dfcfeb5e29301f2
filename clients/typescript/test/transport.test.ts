import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import * as errors from "../src/errors.js";
import { Client } from "../src/node.js";
import { FakeClient, KEY, all, cut, data, page, refusal, serve, text } from "./fake.js";
import type { Reply } from "./fake.js";

const silent: Reply = () => undefined;

test("a status is an error by what to do about it", async (t) => {
  const table = [
    [400, errors.BadRequestError], [401, errors.UnauthorizedError], [402, errors.PaymentRequiredError], [404, errors.NotFoundError],
    [405, errors.StatusError], [406, errors.NotAcceptableError], [409, errors.ConflictError], [412, errors.PreconditionFailedError],
    [422, errors.UnprocessableError], [429, errors.RateLimitedError], [500, errors.ServerError], [503, errors.ServerError],
  ] as const;
  for (const [status, Kind] of table) {
    const fake = await serve(t, refusal(status, "CODE", null));
    const failing = new FakeClient(fake.url, { retry: { retries: 0 } }).account();
    await assert.rejects(failing, (error) => error instanceof Kind && error.status === status && error.name === Kind.name, String(status));
  }
});

test("an error says code, reason, hint, suggestion and request", async (t) => {
  const fault = { reason: "UNKNOWN_COLUMN", pointer: "/filters/pric", hint: "did you mean `price`?", suggestion: "price", message: "no such column" };
  const details = { ...fault, allowed: ["price"], errors: [fault] };
  const fake = await serve(t, refusal(400, "BAD_REQUEST", details));
  const error: unknown = await all(new FakeClient(fake.url).dataset("sales").query()).catch((refused: unknown) => refused);
  assert.ok(error instanceof errors.BadRequestError);
  const { status, code, reason, hint, suggestion, pointer, requestId } = error;
  assert.deepEqual({ status, code, reason, hint, suggestion, pointer, requestId }, {
    status: 400, code: "BAD_REQUEST", reason: "UNKNOWN_COLUMN", hint: "did you mean `price`?", suggestion: "price", pointer: "/filters/pric",
    requestId: "6f0c1c7e-3a52-4c55-9a1c-0d6f3f1f2b11",
  });
  assert.deepEqual(error.details, details);
  assert.match(error.message, /^400 BAD_REQUEST: refused with 400 \(did you mean `price`\?\) \[request 6f0c1c7e/);
  assert.match(error.stack ?? "", /^BadRequestError: /);
});

test("an error of a proxy is an error, too", async (t) => {
  const fake = await serve(t, text(["<html>Bad Gateway</html>"], {}, true, 502));
  const failing = new FakeClient(fake.url, { retry: { retries: 0 } }).account();
  await assert.rejects(failing, (error) => error instanceof errors.ServerError && error.code === null && /Bad Gateway/.test(error.message));
});

test("what is not of mercato is told from what is", async (t) => {
  const fake = await serve(t, text(["<html></html>"], {}, true), text(['{"a":1}'], {}, true), text(["null"], {}, true));
  const client = new FakeClient(fake.url);
  for (let number = 0; number < 3; number += 1) await assert.rejects(client.account(), errors.IntegrityError);
});

test("no error and no client shows the key", async (t) => {
  const echo: Reply = (response, seen) => {
    const message = `bad key ${seen.headers["x-api-key"]}`;
    response.writeHead(401).end(JSON.stringify({ error: { code: "UNAUTHORIZED", message, details: { hint: message } } }));
  };
  const page502: Reply = (response, seen) => void response.writeHead(502).end(JSON.stringify(seen.headers));
  const fake = await serve(t, echo, page502, cut, silent);
  const client = new FakeClient(fake.url, { retry: { retries: 0 }, timeoutMs: 50 });
  const shown: unknown[] = [client, new Client(fake.url, { apiKey: KEY }), client.dataset("sales"), client.dataset("sales").query()];
  for (let number = 0; number < 4; number += 1) shown.push(await client.account().catch((error: unknown) => error));
  for (const one of shown) {
    const forms = [inspect(one, { depth: 20, showHidden: true, getters: true }), JSON.stringify(one), String(one)];
    if (one instanceof Error) forms.push(one.stack ?? "", inspect(one.cause, { depth: 20, showHidden: true }));
    for (const form of forms) assert.ok(!form.includes(KEY) && !form.includes(KEY.slice(3)), form);
  }
  assert.ok(shown[4] instanceof errors.UnauthorizedError && /mk_…/.test(shown[4].message));
  assert.throws(() => new Client(fake.url, { apiKey: `${KEY}\n` }), (error) => error instanceof TypeError && !inspect(error).includes(KEY));
});

test("sends the key to the base URL only", async (t) => {
  const elsewhere = await serve(t, data({}));
  const redirect: Reply = (response) => void response.writeHead(307, { Location: `${elsewhere.url}/api/v1/account` }).end();
  const fake = await serve(t, redirect);
  await assert.rejects(new FakeClient(fake.url).account(), (error) => error instanceof errors.MercatoError && error.message.includes(elsewhere.url));
  assert.equal(elsewhere.seen.length, 0);
  assert.equal(fake.seen.length, 1);
});

test("takes a base URL with a path and refuses what is none", async (t) => {
  const fake = await serve(t, data({ credits: 1 }));
  const client = new FakeClient(`${fake.url}/market/`);
  assert.equal(client.baseUrl, `${fake.url}/market`);
  await client.account();
  assert.equal(fake.seen[0]?.path, "/market/api/v1/account");
  for (const url of ["nonsense", "ftp://x", "http://user:secret@x", "http://x?key=1", "http://x#a"]) {
    assert.throws(() => new Client(url), (error) => error instanceof TypeError && !inspect(error).includes("secret"), url);
  }
});

test("refuses a slug that is none, because it would be another path", () => {
  const client = new Client("http://127.0.0.1:9");
  for (const slug of ["", "..", "a/b", "A", "a b", "-a", "a%2fb", "x".repeat(65)]) assert.throws(() => client.dataset(slug), TypeError, slug);
  assert.equal(client.dataset("tpch-lineitem").slug, "tpch-lineitem");
});

test("gives up on a silent server", async (t) => {
  const stalled: Reply = (response) => {
    response.writeHead(200, { "Content-Length": "100" });
    response.write("{");
  };
  const fake = await serve(t, silent, stalled, data({ credits: 5 }));
  const client = new FakeClient(fake.url, { timeoutMs: 60, retry: { retries: 1 } });
  await assert.rejects(client.account(), errors.TimeoutError);
  assert.deepEqual(await client.account({ timeoutMs: 5_000 }), { credits: 5 });
});

test("a refused connection names the address", async (t) => {
  for (const url of ["http://127.0.0.1:1/shop", "http://localhost:1"]) {
    const failing = new FakeClient(url, { retry: { retries: 0 } }).account();
    await assert.rejects(failing, (error) => error instanceof errors.ConnectionError && error.message.startsWith(`the connection to ${url} failed: `));
  }
  const fake = await serve(t, silent);
  const waiting = new FakeClient(fake.url, { retry: { retries: 0 }, timeoutMs: 30 }).account();
  await assert.rejects(waiting, (error) => error instanceof errors.TimeoutError && error.message === `${fake.url} was silent for 30 ms`);
});

test("time that the reader takes is not the server's silence", async (t) => {
  const fake = await serve(t, text(['{"a":1}\n', '{"a":2}\n{"$end":{"rowsReturned":2,"nextCursor":null,"creditsCharged":2}}\n'], { "X-Dataset-Version": "1.0.0" }, true));
  const rows = [];
  for await (const row of new FakeClient(fake.url, { timeoutMs: 50, retry: { retries: 0 } }).dataset("sales").stream()) {
    await new Promise((resolve) => setTimeout(resolve, 120));
    rows.push(row);
  }
  assert.equal(rows.length, 2);
});

test("an abort ends requests, bodies and waits with its reason", async (t) => {
  const fake = await serve(t, silent, cut, text(['{"a":1}\n'], { "X-Dataset-Version": "1.0.0" }, true));
  const reason = new Error("enough");
  const aborted = () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 30);
    return controller.signal;
  };
  const client = new FakeClient(fake.url, {}, [], { sleep: (await import("../src/platform.js")).sleep, random: () => 1 });
  await assert.rejects(client.account({ signal: aborted() }), reason);
  await assert.rejects(client.account({ signal: aborted() }), reason, "while it waits for the next attempt");
  await assert.rejects(client.account({ signal: AbortSignal.abort(reason) }), reason);
  assert.equal(fake.seen.length, 2, "what is aborted is not sent");
  const hanging: Reply = (response) => {
    response.writeHead(200, { "X-Dataset-Version": "1.0.0" });
    response.write('{"a":1}\n');
  };
  const other = await serve(t, hanging);
  const rows: unknown[] = [];
  const walk = async () => {
    for await (const row of new FakeClient(other.url).dataset("sales").stream({ signal: aborted() })) rows.push(row);
  };
  await assert.rejects(walk(), reason);
  assert.equal(rows.length, 1);
});

test("an error of the server is repeated, a refusal is not", async (t) => {
  const fake = await serve(t, refusal(500, "INTERNAL_ERROR", null), data({ credits: 5 }), refusal(402, "NO_CREDITS", { reason: "INSUFFICIENT_CREDITS" }));
  const client = new FakeClient(fake.url);
  assert.deepEqual(await client.account(), { credits: 5 });
  await assert.rejects(all(client.dataset("sales").query()), errors.PaymentRequiredError);
  assert.equal(fake.seen.length, 3);
});

test("lists continue over their pages and send their choice on each", async (t) => {
  const list = (slugs: string[], nextOffset: number | null) => data({ results: slugs.map((slug) => ({ slug })), nextOffset, total: 3 });
  const fake = await serve(t, list(["a", "b"], 2), list(["c"], null), list(["a", "b"], 2), list(["a"], 7));
  const client = new FakeClient(fake.url, { apiKey: undefined });
  const datasets = client.datasets({ tag: ["x", "y"], limit: 2 });
  assert.deepEqual((await all(datasets)).map(({ slug }) => slug), ["a", "b", "c"]);
  assert.deepEqual(fake.seen.map(({ query }) => query.toString()), ["tag=x&tag=y&limit=2", "tag=x&tag=y&limit=2&offset=2"]);
  assert.equal(fake.seen[0]?.headers["x-api-key"], undefined);
  assert.equal((await datasets.toArray({ limit: 1 })).length, 1);
  assert.equal((await client.search("air").page()).total, 3);
  assert.equal(fake.seen.length, 4);
});

test("warns of caps that are nearly used up", async (t) => {
  const reply = page([{ a: 1 }], null);
  const warned: Reply = (response, seen) => {
    response.setHeader("X-Credits-Warning", "low-balance; remaining=312");
    reply(response, seen);
  };
  const fake = await serve(t, warned);
  const heard: string[] = [];
  await all(new FakeClient(fake.url, { onWarning: (warning) => heard.push(warning) }).dataset("sales").query());
  assert.deepEqual(heard, ["low-balance; remaining=312"]);
});
