/**
 * The request of a query or a stream, frozen at once: later pages and repetitions repeat the first one. Also its price, which
 * the server estimates for nothing. Knows no pages.
 */

import { CostLimitError, PaymentRequiredError } from "./errors.js";
import { bounds } from "./generated.js";
import type { Account, Estimate, Filter } from "./generated.js";
import type { Numbers } from "./json.js";
import { snapshot } from "./snapshot.js";
import type { Json, Loose } from "./snapshot.js";
import { checkedIdempotencyKey } from "./transport.js";
import type { CallOptions, Transport } from "./transport.js";

/** A value of a row. Integers beyond ±(2^53 − 1) are `bigint`. */
export type Value = string | number | bigint | boolean | null;

/** A row by column. */
export type Row = { [column: string]: Value };

/** The requested rows. */
export interface QueryOptions extends CallOptions {
  /** Conditions by column; all must hold. */
  readonly filters?: Loose<Filter> | null | undefined;
  /** Columns in the order wanted; all without. */
  readonly columns?: readonly string[] | null | undefined;
  /** The column that orders the rows; without it the order of the file. */
  readonly sortBy?: string | null | undefined;
  readonly descending?: boolean | undefined;
  /** Rows at most, over all pages; all without. */
  readonly limit?: number | undefined;
  /** Rows to skip; ignored beside a cursor. */
  readonly offset?: number | undefined;
  /** The `nextCursor` of an earlier page. */
  readonly cursor?: string | undefined;
  /** One of the versions that the dataset's header lists; without it the current one. */
  readonly version?: string | undefined;
  /** Credits at most. What would cost more is refused before it is sent. */
  readonly maxCredits?: number | undefined;
  /** How numbers of rows arrive. Default: `native`. */
  readonly numbers?: Numbers | undefined;
  /** Makes a repetition after a crash free of a second charge, within 24 hours. Without it every run pays anew. */
  readonly idempotencyKey?: string | undefined;
}

/** The cost of a query or a stream. */
export interface Cost extends Estimate {
  /** Requests that the walk takes; without credits each one is a free query. */
  readonly requests: number;
}

/** The fields that ask for groups in place of rows. */
export interface GroupFields {
  readonly groupBy?: unknown;
  readonly aggregates?: unknown;
  readonly having?: unknown;
}

/** The fields of a body that stay the same on all pages. */
type Fields = { readonly [name: string]: Json };

export class Question {
  /** Filters, columns or groups, order and version. */
  readonly fields: Fields;
  /** Its start: a cursor or an offset. */
  readonly start: Fields;
  readonly limit: number;
  readonly maxCredits: number;
  readonly numbers: Numbers;
  readonly call: CallOptions;

  constructor(
    readonly slug: string,
    readonly options: QueryOptions,
    { groupBy, aggregates, having }: GroupFields = {},
  ) {
    const { filters, columns, sortBy, descending, limit, offset, cursor, version, maxCredits, idempotencyKey } = options;
    this.fields = given({ filters, columns, groupBy, aggregates, having, sortBy, sortDirection: descending ? "desc" : undefined, version });
    this.start = given(cursor === undefined ? { offset: whole(offset, "offset") } : { cursor });
    this.limit = positive(limit, "limit") ?? Infinity;
    this.maxCredits = whole(maxCredits, "maxCredits") ?? Infinity;
    this.numbers = options.numbers ?? "native";
    this.call = { signal: options.signal, timeoutMs: options.timeoutMs };
    checkedIdempotencyKey(idempotencyKey);
  }

  /**
   * Rows, price, and whether the account can pay, without a charge. `pageSize` is the number of rows of one request, `most` that
   * of all of them.
   */
  async cost(transport: Transport, pageSize: number, most = this.limit): Promise<Cost> {
    const first = Math.min(most, bounds.pageLimitMax);
    const begin = await this.#estimate(transport, { ...this.start, limit: first });
    const counted = begin.rows < first || begin.rows >= most ? begin : await this.#counted(transport, begin, most);
    // An estimate does not tell which groups fulfil conditions.
    const whole = this.fields["having"] === undefined || counted.rows === 0 ? counted : { ...counted, rowsAtLeast: 0 };
    const requests = Math.max(1, Math.ceil(whole.rows / pageSize));
    if (begin.creditsAvailable === 0 && whole.rows > 0) {
      const account: Account = await transport.data("getAccount", {}, this.call);
      const free = Math.ceil(whole.rows / Math.min(pageSize, account.freeRowsPerQuery));
      if (free <= account.freeQueriesRemaining) return { ...whole, creditsRequired: 0, requests: free, affordable: true };
    }
    return { ...whole, requests, affordable: begin.affordable && whole.affordable };
  }

  /** All rows, in as many estimates as that takes. */
  async #counted(transport: Transport, begin: Estimate, most: number): Promise<Estimate> {
    if (this.start["cursor"] !== undefined) return this.#countedBehindCursor(transport, most);
    const skipped = (this.start["offset"] as number | undefined) ?? 0;
    let { rows, rowsAtLeast } = begin;
    let isAffordable = true;
    while (rows < most) {
      const limit = Math.min(most - rows, bounds.streamLimitMax);
      const further = await this.#estimate(transport, { offset: skipped + rows, limit, for: "stream" });
      rowsAtLeast ??= further.rowsAtLeast === undefined ? undefined : rows + further.rowsAtLeast;
      rows += further.rows;
      isAffordable &&= further.affordable;
      if (further.rows < limit) break;
    }
    return { ...begin, ...given({ rowsAtLeast }) as Pick<Estimate, "rowsAtLeast">, rows, creditsRequired: rows, affordable: isAffordable && rows <= begin.creditsAvailable };
  }

  /** An offset is ignored beside a cursor, so only one estimate can count behind it. */
  async #countedBehindCursor(transport: Transport, most: number): Promise<Estimate> {
    const limit = Math.min(most, bounds.streamLimitMax);
    const estimate = await this.#estimate(transport, { ...this.start, limit, for: "stream" });
    if (estimate.rows === limit && limit < most) {
      throw new RangeError(`behind a cursor at most ${bounds.streamLimitMax} rows can be counted; give a limit`);
    }
    return estimate;
  }

  async #estimate(transport: Transport, more: Fields): Promise<Estimate> {
    // Beside `having` the server knows no better bound than all rows. A cursor belongs to the whole question.
    const { having, ...others } = this.fields;
    const fields = "cursor" in more ? this.fields : others;
    const input = { path: { slug: this.slug }, body: { ...fields, ...more } };
    return transport.data("estimateQuery", input, this.call);
  }
}

/** Keeps a walk within `maxCredits`: first by the estimate of the whole, then by what is charged. */
export class Budget {
  #spent = 0;
  /** Whether rows may cost credits. Those of free queries do not. */
  #isPrepaid = false;

  constructor(private readonly maxCredits: number) {}

  /** Refuses the whole before its first row. */
  async check(question: Question, transport: Transport, pageSize: number, most = question.limit): Promise<void> {
    if (this.maxCredits === Infinity) return;
    const { rows, creditsRequired } = await question.cost(transport, pageSize, most);
    if (creditsRequired > this.maxCredits) {
      const message = `the rows cost ${creditsRequired} credits, more than maxCredits ${this.maxCredits}; nothing was charged`;
      throw new CostLimitError(message, creditsRequired, this.maxCredits);
    }
    this.#isPrepaid = creditsRequired > 0 || rows === 0;
  }

  /** Rows that the next request may ask for, of those wanted. The estimate may have been of an older version. */
  allow(wanted: number): number {
    if (!this.#isPrepaid) return wanted;
    const left = this.maxCredits - this.#spent;
    if (left > 0) return Math.min(wanted, left);
    const message = `further rows cost more than maxCredits ${this.maxCredits}; ${this.#spent} credits were charged`;
    throw new CostLimitError(message, this.#spent + 1, this.maxCredits);
  }

  charged(credits: number): void {
    this.#spent += credits;
    this.#isPrepaid ||= credits > 0 && this.maxCredits !== Infinity;
  }
}

/** Rows of a free query, where a request with this limit was refused because the account has no credits. Other failures are passed on. */
export function freeRows(failure: unknown, limit: number): number {
  const allowed = failure instanceof PaymentRequiredError && failure.reason === "FREE_PLAN_ROWS" ? failure.details?.allowed : undefined;
  if (typeof allowed !== "number" || allowed < 1 || allowed >= limit) throw failure;
  return allowed;
}

/** A copy without the fields that are not given. */
function given(fields: Readonly<Record<string, unknown>>): Fields {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(present.map(([name, value]) => [name, snapshot(value, name)] as const));
}

function positive(value: number | undefined, name: string): number | undefined {
  if (value === 0) throw new RangeError(`${name}: expected a whole number above 0`);
  return whole(value, name);
}

function whole(value: number | undefined, name: string): number | undefined {
  if (value !== undefined && value !== Infinity && (!Number.isSafeInteger(value) || value < 0)) {
    throw new RangeError(`${name}: expected a whole number, found ${value}`);
  }
  return value;
}
