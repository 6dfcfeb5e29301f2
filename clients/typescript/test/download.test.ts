import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";

import { browserPlatform } from "../src/browser_platform.js";
import { ConnectionError, CostLimitError, FileExistsError, IntegrityError, PaymentRequiredError, PreconditionFailedError } from "../src/errors.js";
import { FakeClient, cut, estimate, refusal, serve } from "./fake.js";
import type { Reply } from "./fake.js";

const CONTENT = Buffer.from(Array.from({ length: 5_000 }, (_, index) => `${index},città\r\n`).join(""));
const TAG = '"abc-csv-1"';

interface Changes {
  readonly content?: Buffer;
  readonly etag?: string;
  readonly status?: number;
  readonly range?: string;
  readonly digest?: string;
  /** Bytes after which the connection is cut. */
  readonly cutAfter?: number;
}

/** Names the file, as a request with `If-None-Match: *` asks. */
const named: Reply = (response) => void response.writeHead(304, { ETag: TAG, "X-Dataset-Version": "1.0.0" }).end();

/** A part of the file. */
function part({ content = CONTENT, etag = TAG, status = 206, range, digest, cutAfter }: Changes = {}): Reply {
  return (response, seen) => {
    const from = Number(/^bytes=(\d+)-$/.exec(seen.headers.range ?? "")?.[1]);
    if (from >= content.length) {
      response.writeHead(416, { "Content-Range": `bytes */${content.length}`, "Content-Type": "application/json" });
      response.end("{}");
      return;
    }
    const headers: Record<string, string | number> = {
      ETag: etag, "X-Dataset-Version": "1.0.0", "Content-Length": content.length - from,
      "Content-Range": range ?? `bytes ${from}-${content.length - 1}/${content.length}`,
    };
    if (digest !== undefined) headers["Repr-Digest"] = `sha-256=:${digest}:`;
    response.writeHead(status, headers);
    if (cutAfter === undefined) response.end(content.subarray(from));
    else response.write(content.subarray(from, from + cutAfter), () => setTimeout(() => response.socket?.destroy(), 20));
  };
}

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), "mercato-client-"));
  t.after(() => rm(made, { recursive: true }));
  return made;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}

/** A stream that keeps what it gets. */
class Kept {
  readonly pieces: Uint8Array[] = [];
  isClosed = false;
  cause: unknown;
  readonly stream = new WritableStream<Uint8Array>({
    write: (piece) => void this.pieces.push(piece),
    close: () => void (this.isClosed = true),
    abort: (cause) => void (this.cause = cause),
  });

  get bytes(): Buffer {
    return Buffer.concat(this.pieces);
  }
}

test("brings a version to a path, and checks it", async (t) => {
  const fake = await serve(t, named, part({ digest: sha256(CONTENT) }));
  const target = path.join(await folder(t), "sales.csv");
  const progress: number[] = [];
  const result = await new FakeClient(fake.url).dataset("sales").download(target, {
    onProgress: ({ bytes, totalBytes }) => progress.push(bytes / totalBytes),
  });
  assert.deepEqual(result, { bytes: CONTENT.length, version: "1.0.0", resumedAt: 0, checked: "sha-256" });
  assert.deepEqual(await readFile(target), CONTENT);
  assert.deepEqual(await readdir(path.dirname(target)), ["sales.csv"], "nothing is left beside it");
  assert.equal(progress.at(-1), 1);
  const [pin, paid] = fake.seen;
  assert.equal(pin?.headers["if-none-match"], "*");
  assert.equal(pin?.query.get("version"), null);
  assert.deepEqual([paid?.headers.range, paid?.headers["if-match"], paid?.query.get("version"), paid?.query.get("format")], ["bytes=0-", TAG, "1.0.0", "csv"]);
});

test("goes on where it was cut, under one key", async (t) => {
  const inUse = refusal(409, "CONFLICT", { reason: "IDEMPOTENCY_KEY_IN_USE" }, { "Retry-After": "1" });
  const fake = await serve(t, named, cut, part({ cutAfter: 10_000 }), inUse, part({ cutAfter: 1 }), part({ digest: sha256(CONTENT) }));
  const target = path.join(await folder(t), "sales.csv");
  const result = await new FakeClient(fake.url).dataset("sales").download(target);
  assert.deepEqual(result, { bytes: CONTENT.length, version: "1.0.0", resumedAt: 0, checked: "sha-256" });
  assert.deepEqual(await readFile(target), CONTENT);
  const paid = fake.seen.slice(1);
  assert.deepEqual(paid.map(({ headers }) => headers.range), ["bytes=0-", "bytes=0-", "bytes=10000-", "bytes=10000-", "bytes=10001-"]);
  assert.equal(new Set(paid.map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.ok(paid.every(({ headers }) => headers["if-match"] === TAG));
});

test("a later call goes on where an earlier one gave up", async (t) => {
  const fake = await serve(t, named, part({ cutAfter: 20_000 }), cut, cut, named, part());
  const target = path.join(await folder(t), "sales.csv");
  const dataset = new FakeClient(fake.url, { retry: { retries: 1 } }).dataset("sales");
  await assert.rejects(dataset.download(target), ConnectionError);
  const result = await dataset.download(target);
  assert.equal(result.resumedAt, 20_000);
  assert.deepEqual(await readFile(target), CONTENT);
  assert.equal(fake.seen[5]?.headers.range, "bytes=20000-");
});

/** A file without ranges. */
function whole(cutAfter?: number): Reply {
  return (response) => {
    response.writeHead(200, { ETag: TAG, "X-Dataset-Version": "1.0.0", "Accept-Ranges": "none" });
    if (cutAfter === undefined) response.end(CONTENT);
    else response.write(CONTENT.subarray(0, cutAfter), () => setTimeout(() => response.socket?.destroy(), 20));
  };
}

test("a file without ranges begins anew where it was cut, under one key", async (t) => {
  const fake = await serve(t, named, whole(10_000), cut, whole(20_000), whole());
  const target = path.join(await folder(t), "sales.xlsx");
  const totals = new Set<number>();
  const result = await new FakeClient(fake.url).dataset("sales").download(target, { onProgress: ({ totalBytes }) => totals.add(totalBytes) });
  assert.deepEqual(result, { bytes: CONTENT.length, version: "1.0.0", resumedAt: 0, checked: "end" });
  assert.deepEqual(await readFile(target), CONTENT);
  assert.deepEqual([...totals], [0]);
  assert.equal(new Set(fake.seen.slice(1).map(({ headers }) => headers["idempotency-key"])).size, 1);
});

test("a file without ranges leaves nothing behind when it is given up", async (t) => {
  const fake = await serve(t, named, whole(10_000));
  const target = path.join(await folder(t), "sales.xlsx");
  await assert.rejects(new FakeClient(fake.url, { retry: { retries: 0 } }).dataset("sales").download(target), ConnectionError);
  assert.deepEqual(await readdir(path.dirname(target)), []);
});

test("a cut file without ranges fails in a stream, which has its bytes already", async (t) => {
  const fake = await serve(t, named, cut, whole(10_000));
  const kept = new Kept();
  await assert.rejects(new FakeClient(fake.url).dataset("sales").download(kept.stream), ConnectionError);
  assert.ok(kept.cause instanceof ConnectionError);
  assert.equal(fake.seen.length, 3, "nothing is asked for again");
});

test("a later call can begin anew", async (t) => {
  const fake = await serve(t, named, part({ cutAfter: 20_000 }), named, part());
  const target = path.join(await folder(t), "sales.csv");
  const dataset = new FakeClient(fake.url, { retry: { retries: 0 } }).dataset("sales");
  await assert.rejects(dataset.download(target), ConnectionError);
  assert.equal((await dataset.download(target, { resume: false })).resumedAt, 0);
  assert.deepEqual(await readFile(target), CONTENT);
});

test("takes the file that an earlier call had whole", async (t) => {
  const fake = await serve(t, named, part({ cutAfter: CONTENT.length - 1 }), named, part());
  const target = path.join(await folder(t), "sales.csv");
  const dataset = new FakeClient(fake.url, { retry: { retries: 0 } }).dataset("sales");
  await assert.rejects(dataset.download(target), ConnectionError);
  const [partial] = await readdir(path.dirname(target));
  await writeFile(path.join(path.dirname(target), partial ?? ""), CONTENT);
  assert.equal((await dataset.download(target)).checked, "length");
  assert.deepEqual(await readFile(target), CONTENT);
});

test("writes an empty file", async (t) => {
  const fake = await serve(t, named, part({ content: Buffer.alloc(0) }));
  const target = path.join(await folder(t), "none.ndjson");
  assert.equal((await new FakeClient(fake.url).dataset("sales").download(target, { format: "ndjson" })).bytes, 0);
  assert.equal((await readFile(target)).length, 0);
});

test("replaces no file and asks for none", async (t) => {
  const fake = await serve(t);
  const target = path.join(await folder(t), "sales.csv");
  await writeFile(target, "mine");
  await assert.rejects(new FakeClient(fake.url).dataset("sales").download(target), FileExistsError);
  await symlink("nowhere", `${target}.link`);
  await assert.rejects(new FakeClient(fake.url).dataset("sales").download(`${target}.link`), FileExistsError);
  assert.equal(await readFile(target, "utf8"), "mine");
  assert.equal(fake.seen.length, 0);
});

test("writes through no link that lies in the place of its part", async (t) => {
  const made = await folder(t);
  const target = path.join(made, "sales.csv");
  const victim = path.join(made, "victim");
  await writeFile(victim, "mine");
  const tag = createHash("sha256").update(TAG).digest("hex").slice(0, 16);
  await symlink(victim, `${target}.${tag}.part`);
  const fake = await serve(t, named, part());
  await assert.rejects(new FakeClient(fake.url).dataset("sales").download(target), /ELOOP/);
  assert.equal(await readFile(victim, "utf8"), "mine");
  assert.equal(fake.seen.length, 1, "nothing is paid");
});

test("replaces no file that appears meanwhile", async (t) => {
  const target = path.join(await folder(t), "sales.csv");
  const fake = await serve(t, named, part());
  const onProgress = () => void writeFile(target, "mine");
  await assert.rejects(new FakeClient(fake.url).dataset("sales").download(target, { onProgress }), FileExistsError);
  assert.equal(await readFile(target, "utf8"), "mine");
});

test("appends nothing that is not the part it asked for", async (t) => {
  const table: ReadonlyArray<readonly [string, Reply]> = [
    ["the whole file", part({ status: 200 })],
    ["another tag", part({ etag: '"other"' })],
    ["another range", part({ range: "bytes 5-9/10" })],
    ["a range that does not reach the end", part({ range: `bytes 0-9/${CONTENT.length}` })],
    ["no range", part({ range: "" })],
    ["more bytes than it names", part({ range: "bytes 0-9/10" })],
    ["another checksum", part({ digest: sha256(Buffer.from("x")) })],
  ];
  for (const [name, reply] of table) {
    const fake = await serve(t, named, reply);
    const target = path.join(await folder(t), "sales.csv");
    await assert.rejects(new FakeClient(fake.url).dataset("sales").download(target), IntegrityError, name);
    assert.deepEqual(await readdir(path.dirname(target)), [], `${name}: leaves nothing`);
    assert.equal(fake.seen.length, 2, `${name}: is not repeated`);
  }
});

test("another file under way is refused by the server", async (t) => {
  const fake = await serve(t, named, part({ cutAfter: 10 }), refusal(412, "PRECONDITION_FAILED", { reason: "PRECONDITION_FAILED" }));
  const target = path.join(await folder(t), "sales.csv");
  await assert.rejects(new FakeClient(fake.url).dataset("sales").download(target), PreconditionFailedError);
});

test("a refusal says why before a file is made", async (t) => {
  const details = { reason: "INSUFFICIENT_CREDITS", hint: "buy credits", required: 5_000, available: 3, shortfall: 4_997 };
  const fake = await serve(t, named, refusal(402, "NO_CREDITS", details));
  const target = path.join(await folder(t), "sales.csv");
  const failing = new FakeClient(fake.url).dataset("sales").download(target);
  await assert.rejects(failing, (error) => error instanceof PaymentRequiredError && error.details?.shortfall === 4_997);
  assert.deepEqual(await readdir(path.dirname(target)), []);
});

test("maxCredits refuses before anything is paid", async (t) => {
  const fake = await serve(t, named, estimate(5_000), named, estimate(5_000), part());
  const dataset = new FakeClient(fake.url).dataset("sales");
  const kept = new Kept();
  await assert.rejects(dataset.download(kept.stream, { maxCredits: 4_999 }), CostLimitError);
  assert.deepEqual(fake.seen[1]?.body, { for: "download", version: "1.0.0" });
  await dataset.download(kept.stream, { maxCredits: 5_000 });
  assert.deepEqual(kept.bytes, CONTENT);
});

test("fills a stream, goes on where it was cut, and closes it", async (t) => {
  const fake = await serve(t, named, part({ cutAfter: 30_000 }), part({ digest: sha256(CONTENT) }));
  const kept = new Kept();
  const result = await new FakeClient(fake.url).dataset("sales").download(kept.stream);
  assert.deepEqual(result, { bytes: CONTENT.length, version: "1.0.0", resumedAt: 0, checked: "sha-256" });
  assert.deepEqual(kept.bytes, CONTENT);
  assert.ok(kept.isClosed);
});

test("breaks a stream off whose bytes are wrong", async (t) => {
  const fake = await serve(t, named, part({ digest: sha256(Buffer.from("x")) }));
  const kept = new Kept();
  await assert.rejects(new FakeClient(fake.url).dataset("sales").download(kept.stream), IntegrityError);
  assert.ok(kept.cause instanceof IntegrityError);
  assert.equal(kept.isClosed, false);
});

test("a browser computes the same checksum and takes no path", { skip: globalThis.crypto === undefined }, async () => {
  assert.equal(await browserPlatform.sha256([CONTENT.subarray(0, 9), CONTENT.subarray(9)]), sha256(CONTENT));
  await assert.rejects(browserPlatform.checkPath("x"), TypeError);
  assert.equal(browserPlatform.randomBytes(16).length, 16);
});

test("an abort ends a download and keeps its bytes", async (t) => {
  const fake = await serve(t, named, part({ cutAfter: 20_000 }));
  const target = path.join(await folder(t), "sales.csv");
  const controller = new AbortController();
  const onProgress = () => controller.abort(new Error("enough"));
  const failing = new FakeClient(fake.url).dataset("sales").download(target, { signal: controller.signal, onProgress });
  await assert.rejects(failing, /enough/);
  assert.equal((await readdir(path.dirname(target))).length, 1, "the part stays");
});
