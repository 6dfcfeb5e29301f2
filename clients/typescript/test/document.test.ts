/** Holds the methods of the client and the OpenAPI document of the server together. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { FakeClient, all } from "./fake.js";

interface Parameter {
  readonly name: string;
  readonly in: string;
}

interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: { readonly $ref: string } }> };
}

interface OpenApi {
  readonly components: { readonly schemas: Record<string, { readonly properties: Record<string, unknown> }> };
}

interface Generator {
  readonly DOCUMENT: URL;
  readonly OUTPUT: URL;
  generate(document: OpenApi): string;
  operationsOf(document: OpenApi): Operation[];
}

// Tests run from build/test, which has no scripts.
const generator = (await import(new URL("../../scripts/generate.mjs", import.meta.url).href)) as Generator;
const document = JSON.parse(readFileSync(generator.DOCUMENT, "utf8")) as OpenApi;

/** Operations of the API that no method calls, and why. Paths beside `/api/v1` are pages and files, not calls. */
const UNCALLED: Readonly<Record<string, string>> = {
  queryDatasetByUrl: "asks what `queryDataset` asks, for programs that can only GET",
  getOpenApi: "describes the API to programs that make clients",
};

/** Parameters and fields that no method sends, and why. */
const UNSENT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  getSample: { format: "rows arrive as objects" },
  streamDataset: { "Last-Event-ID": "rows are counted, so a resumption needs no id", "If-Match": "rows have no tag", count: "no total is shown" },
  queryDataset: { "If-Match": "rows have no tag", count: "`Query.count` counts for nothing" },
  estimateQuery: { count: "an estimate counts anyway", facets: "they are for pages on which people narrow a dataset down" },
  downloadDataset: {
    "If-Range": "would buy another file; If-Match refuses it", "If-Modified-Since": "the tag is stronger", "If-Unmodified-Since": "the tag is stronger",
  },
};

const GROUPS = (client: FakeClient) => client.dataset("a").groupBy("c").aggregate({ n: { op: "count" } }, { having: { n: 1 } });

/** A call of every operation, with every parameter and field that it takes. */
const CALLS: Readonly<Record<string, (client: FakeClient) => Promise<unknown>>> = {
  searchDatasets: (client) => client.search("air", { limit: 5, offset: 1, tag: ["a", "b"], lang: "it" }).page(),
  listDatasets: (client) => client.datasets({ limit: 5, offset: 1, tag: ["a"], license: "CC0", sort: "rows", lang: "en" }).page(),
  listTags: (client) => client.tags({ limit: 5, offset: 1 }).page(),
  getDataset: (client) => client.dataset("a").header({ lang: "it" }),
  getSchema: (client) => client.dataset("a").schema({ lang: "it", version: "1.0.0" }),
  getSample: (client) => client.dataset("a").sample({ version: "1.0.0" }),
  getStatistics: (client) => client.dataset("a").stats({ version: "1.0.0" }),
  getMethodology: (client) => client.dataset("a").methodology(),
  getChangelog: (client) => client.dataset("a").changelog(),
  getRelated: (client) => client.dataset("a").related({ limit: 3, lang: "en" }),
  getRelationGraph: (client) => client.graph({ lang: "en" }),
  getCroissant: (client) => client.dataset("a").croissant({ lang: "en", version: "1.0.0" }),
  getAccount: (client) => client.account(),
  getUsage: (client) => client.usage({ days: 7, by: "key", key: "key_5" }),
  queryDataset: async (client) => {
    await client.dataset("a").query({ filters: { c: 1 }, columns: ["c"], sortBy: "c", descending: true, offset: 3, version: "1.0.0" }).pages().next();
    await client.dataset("a").query({ cursor: "x" }).pages().next();
    await GROUPS(client).pages().next();
  },
  estimateQuery: async (client) => {
    const query = { filters: { c: 1 }, columns: ["c"], sortBy: "c", descending: true, version: "1.0.0" };
    await client.dataset("a").query({ ...query, offset: 3 }).cost();
    await client.dataset("a").query({ ...query, cursor: "x" }).cost();
    await client.dataset("a").groupBy("c").aggregate({ n: { op: "count" } }, { having: { n: 1 }, cursor: "x" }).cost();
    await client.dataset("a").download(new WritableStream(), { maxCredits: 1, format: "csv" }).catch(() => undefined);
  },
  streamDataset: async (client) => {
    const query = { filters: { c: 1 }, columns: ["c"], sortBy: "c", descending: true, version: "1.0.0" };
    await all(client.dataset("a").stream({ ...query, offset: 3 }));
    await all(client.dataset("a").stream({ ...query, cursor: "x" }));
    await all(GROUPS(client).stream());
  },
  downloadDataset: (client) => client.dataset("a").download(new WritableStream(), { format: "json", version: "1.0.0" }),
};

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly names: Set<string>;
}

/** Everything that a call sends, by operation. Each request is answered so that the call goes on. */
async function record(call: (client: FakeClient) => Promise<unknown>): Promise<Sent[]> {
  const sent: Sent[] = [];
  let streams = 0;
  const answer = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(String(input));
    const headers = new Headers(init.headers);
    const fields = init.body === undefined ? [] : Object.keys(JSON.parse(init.body as string) as object);
    const names = new Set([...url.searchParams.keys(), ...fields, ...headers.keys()]);
    sent.push({ method: init.method ?? "GET", path: url.pathname, names });
    const known = { ETag: '"x"', "X-Dataset-Version": "1.0.0" };
    if (headers.has("if-none-match")) return new Response(null, { status: 304, headers: known });
    if (headers.has("if-match")) return new Response("x", { status: 206, headers: { ...known, "Content-Range": "bytes 0-0/1" } });
    if (url.pathname.endsWith("/stream")) {
      // The first answer is cut, so that the second request resumes.
      streams += 1;
      const rest = streams === 1 ? "" : '{"$end":{"rowsReturned":0,"nextCursor":null,"creditsCharged":0}}\n';
      return new Response(streams === 1 ? '{"c":1}\n' : rest, { headers: known });
    }
    const meta = { requestId: "x", timestamp: "x", durationMs: 0 };
    const data = { results: [], rowsReturned: 0, nextCursor: null, nextOffset: null, rows: 0, creditsRequired: 0, creditsAvailable: 0 };
    return new Response(JSON.stringify({ success: true, data, meta }), { headers: known });
  };
  await call(new FakeClient("http://fake", { fetch: answer }));
  return sent;
}

function isOf(operation: Operation, { method, path }: Sent): boolean {
  const pattern = operation.path.replaceAll(/\{\w+\}/g, "[^/]+");
  return method === operation.method && new RegExp(`^${pattern}$`).test(path);
}

test("the generated file is what the document says", () => {
  const isSame = readFileSync(generator.OUTPUT, "utf8") === generator.generate(document);
  assert.ok(isSame, "run `npm run generate`");
});

test("every operation of the API has a method or a reason", () => {
  const operations = generator.operationsOf(document).filter(({ path }) => path.startsWith("/api/v1/"));
  const known = operations.map(({ operationId }) => operationId).sort();
  assert.deepEqual([...Object.keys(CALLS), ...Object.keys(UNCALLED)].sort(), known);
});

test("every method calls its operation, with every parameter and field or a reason", async () => {
  for (const [id, call] of Object.entries(CALLS)) {
    const operation = generator.operationsOf(document).find(({ operationId }) => operationId === id);
    assert.ok(operation !== undefined, id);
    const sent = (await record(call)).filter((one) => isOf(operation, one));
    assert.notEqual(sent.length, 0, `${id} was not called`);
    const names = new Set(sent.flatMap((one) => [...one.names]).map((name) => name.toLowerCase()));
    const body = operation.requestBody?.content["application/json"]?.schema.$ref.replace("#/components/schemas/", "");
    const takes = [
      ...(operation.parameters ?? []).filter((parameter) => parameter.in !== "path").map(({ name }) => name),
      ...Object.keys(body === undefined ? {} : (document.components.schemas[body]?.properties ?? {})),
    ];
    // Validators of public answers are the business of caches.
    const cached = ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since"];
    const isExpected = (name: string) => id === "downloadDataset" || body !== undefined || !cached.includes(name.toLowerCase());
    const unsent = UNSENT[id] ?? {};
    const missing = takes.filter((name) => isExpected(name) && !names.has(name.toLowerCase()) && !(name in unsent));
    assert.deepEqual(missing, [], `${id} does not send these`);
    assert.deepEqual(Object.keys(unsent).filter((name) => !takes.includes(name) || names.has(name.toLowerCase())), [], `${id} has excuses that it does not need`);
  }
});
