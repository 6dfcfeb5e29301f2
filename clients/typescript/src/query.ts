/** A query: rows over all pages, each page paid as it is read. Knows no connections. */

import { IntegrityError, NotAcceptableError } from "./errors.js";
import { bounds } from "./generated.js";
import type { Page as PageData } from "./generated.js";
import { Budget, freeRows } from "./question.js";
import type { Cost, Question, QueryOptions, Row } from "./question.js";
import { RowStream } from "./row_stream.js";
import type { Prepared, Transport } from "./transport.js";

/** Rows of a page unless the caller says otherwise: a walk that is left early has paid for few rows too many. */
const PAGE_SIZE = 1_000;
const ARROW = "application/vnd.apache.arrow.stream";
/** Bytes of an Arrow answer that are kept at most. */
const ARROW_BYTES_MAX = 1 << 30;
/** Every Arrow stream ends with this: a continuation mark, and the length 0. */
const ARROW_END = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/** The requested rows, and the size of their pages. */
export interface PagedQueryOptions extends QueryOptions {
  /** Rows of one request: 1 to 10,000. Default: 1,000. */
  readonly pageSize?: number | undefined;
}

/** A page of rows and the facts about it. */
export interface Page<T> {
  readonly rows: T[];
  /** The cursor of the next page; `null` exactly when no further row exists. Give it as `cursor` to go on later. */
  readonly nextCursor: string | null;
  /** All rows that match, where the server knows it; above 10,000 only on pages that cost credits. */
  readonly totalRows: number | null;
  /** Fewer rows than match, in the place of `totalRows` above 10,000. */
  readonly totalRowsAtLeast: number | undefined;
  readonly paginationMode: PageData["paginationMode"];
  /** The version that all pages of the walk read. */
  readonly version: string;
  readonly credits: { readonly charged: number; readonly remaining: number };
  readonly warnings: readonly string[];
  readonly requestId: string;
  /** Whether it was paid before, under the same `idempotencyKey`. */
  readonly isReplayed: boolean;
}

/**
 * A query. Nothing is sent before it is read. Each reading (`for await`, `pages`, `toArray`, `stream`, `arrow`) is a walk of its
 * own and is paid by itself; `count` and `cost` are free.
 */
export class Query<T extends Row = Row> implements AsyncIterable<T> {
  readonly #transport: Transport;
  readonly #question: Question;
  readonly #pageSize: number;

  constructor(transport: Transport, question: Question, pageSize: number = PAGE_SIZE) {
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > bounds.pageLimitMax) {
      throw new RangeError(`pageSize: expected a whole number from 1 to ${bounds.pageLimitMax}, found ${pageSize}`);
    }
    this.#transport = transport;
    this.#question = question;
    this.#pageSize = pageSize;
  }

  /** Row by row over all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.rows;
  }

  /** Page by page. All pages read the version on which the first one began. */
  pages(): AsyncGenerator<Page<T>, void, undefined> {
    return this.#walk(this.#question.limit);
  }

  async *#walk(most: number): AsyncGenerator<Page<T>, void, undefined> {
    const question = this.#question;
    const budget = new Budget(question.maxCredits);
    await budget.check(question, this.#transport, this.#pageSize, most);
    let left = most;
    let size = this.#pageSize;
    let { start } = question;
    let version: string | undefined;
    for (let number = 1; ; number += 1) {
      const ask = (): Promise<Page<T>> => {
        const limit = budget.allow(Math.min(size, left));
        return this.#page({ ...question.fields, ...start, limit }, number);
      };
      const page = await ask().catch((failure: unknown) => {
        size = freeRows(failure, Math.min(size, left));
        return ask();
      });
      version ??= page.version;
      if (page.version !== version) throw new IntegrityError(`page ${number} is of version ${page.version}, the walk began on ${version}`);
      budget.charged(page.credits.charged);
      left -= page.rows.length;
      yield page;
      if (page.nextCursor === null || left <= 0) return;
      start = { cursor: page.nextCursor };
    }
  }

  /** The rows in a list: `limit` of them at most. It can be left out where the query has a limit of its own. */
  async toArray({ limit }: { readonly limit?: number } = {}): Promise<T[]> {
    const most = Math.min(limit ?? Infinity, this.#question.limit);
    if (most === Infinity) throw new TypeError("toArray: expected a limit, here or in the query; for await takes all rows");
    const rows: T[] = [];
    if (most <= 0) return rows;
    // No page asks for a row that the list does not take.
    for await (const page of this.#walk(most)) rows.push(...page.rows);
    return rows;
  }

  /** The same rows in one long answer, as of `Dataset.stream`; the size of pages does not apply. */
  stream(): RowStream<T> {
    return new RowStream<T>(this.#transport, this.#question);
  }

  /**
   * How many rows the query would return. Free of credits. A `RangeError` where a filter leaves more than 10,000, and for groups
   * with `having`: `cost` bounds them.
   */
  async count(): Promise<number> {
    const { rows, rowsAtLeast } = await this.cost();
    if (rowsAtLeast === undefined) return rows;
    throw new RangeError(`${rowsAtLeast} to ${rows} rows: more than 10,000 matches, and groups that fulfil having, are counted only for pages that cost credits; give a limit or narrower filters`);
  }

  /** The cost of the query, and whether the account can pay it. Free of credits. */
  async cost(): Promise<Cost> {
    return this.#question.cost(this.#transport, this.#pageSize);
  }

  /**
   * The rows as one Arrow IPC stream, for `tableFromIPC` of apache-arrow: at most 1,000,000 of them; more are a `RangeError`
   * before anything is charged, and are had by `download` with the format `arrow`.
   */
  async arrow(): Promise<Uint8Array> {
    const question = this.#question;
    const rows = question.limit > bounds.streamLimitMax ? (await this.cost()).rows : question.limit;
    if (rows > bounds.streamLimitMax) throw new RangeError(`arrow: up to ${rows} rows, at most ${bounds.streamLimitMax} in one answer; give a limit`);
    const budget = new Budget(question.maxCredits);
    await budget.check(question, this.#transport, bounds.streamLimitMax);
    const limit = budget.allow(Math.min(question.limit, bounds.streamLimitMax));
    const request = this.#transport.prepare("streamDataset", {
      path: { slug: question.slug },
      body: { ...question.fields, ...question.start, limit },
      headers: { Accept: ARROW },
      idempotencyKey: question.options.idempotencyKey,
    }, question.call);
    const bytes = await this.#arrowBytes(request);
    if (!ARROW_END.every((byte, index) => bytes[bytes.length - ARROW_END.length + index] === byte)) {
      throw new IntegrityError("the Arrow stream has no end");
    }
    return bytes;
  }

  /** A server without the format says so by 406. */
  async #arrowBytes(request: Prepared): Promise<Uint8Array> {
    try {
      return await this.#transport.bytes(request, ARROW_BYTES_MAX);
    } catch (error) {
      if (!(error instanceof NotAcceptableError)) throw error;
      const { status, code, details, requestId, retryAfterMs } = error;
      throw new NotAcceptableError({
        status, code, details, requestId, retryAfterMs, message: `this server does not offer Arrow (${ARROW})`,
      });
    }
  }

  async #page(body: Readonly<Record<string, unknown>>, number: number): Promise<Page<T>> {
    const { slug, numbers, call, options } = this.#question;
    const idempotencyKey = options.idempotencyKey === undefined ? undefined : `${options.idempotencyKey}.page-${number}`;
    const request = this.#transport.prepare("queryDataset", { path: { slug }, body, idempotencyKey }, call);
    const { data, meta, answer } = await this.#transport.envelope<PageData>(request, numbers);
    return {
      rows: data.results as T[],
      nextCursor: data.nextCursor,
      // With `numbers: "text"` every number of the answer is text.
      totalRows: data.totalRows === null ? null : Number(data.totalRows),
      totalRowsAtLeast: data.totalRowsAtLeast === undefined ? undefined : Number(data.totalRowsAtLeast),
      paginationMode: data.paginationMode,
      version: answer.header("X-Dataset-Version") ?? "",
      credits: { charged: Number(meta.credits?.charged ?? 0), remaining: Number(meta.credits?.remaining ?? 0) },
      warnings: meta.warnings ?? [],
      requestId: meta.requestId,
      isReplayed: answer.header("Idempotent-Replayed") === "true",
    };
  }
}
