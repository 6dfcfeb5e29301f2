/**
 * A stream of rows that goes on behind its last row when the connection is cut. Rows are known by their number: a repetition
 * under the same `Idempotency-Key` with `afterRows` continues on the same version, and no row is paid twice.
 */

import { IntegrityError, UnprocessableError, cutShort } from "./errors.js";
import { bounds } from "./generated.js";
import { parseJson } from "./json.js";
import { linesOf } from "./lines.js";
import { Budget, freeRows } from "./question.js";
import type { Question, Row } from "./question.js";
import type { Json } from "./snapshot.js";
import type { Transport } from "./transport.js";

/** How the last line of a whole answer begins. A value of a row is never an object. */
const END = '{"$end":{';
const NOTHING_TO_RESUME = "NOTHING_TO_RESUME";

/** How a stream ended. */
export interface StreamSummary {
  /** Rows of the whole stream. */
  readonly rowsReturned: number;
  /** The cursor of further rows; `null` when there are none. */
  readonly nextCursor: string | null;
  readonly version: string;
  /** How often the stream was cut and went on. */
  readonly resumptions: number;
}

/** The end of one answer, as its last line says it. */
interface End {
  readonly rowsReturned: number;
  readonly nextCursor: string | null;
  readonly creditsCharged: number;
}

/** A request that is paid under one key, and the rows of its answer that have arrived. */
interface Attempt {
  readonly body: { readonly [name: string]: Json };
  readonly key: string;
  received: number;
}

/** Rows as they come. It is read once: a second reading would be paid again, so it has to be asked for by a second `stream`. */
export class RowStream<T extends Row = Row> implements AsyncIterable<T> {
  readonly #transport: Transport;
  readonly #question: Question;
  #isBegun = false;
  /** Whether rows were delivered before the connection was cut. */
  #isCut = false;
  #resumptions = 0;
  #version: string | undefined;
  #summary: StreamSummary | null = null;

  constructor(transport: Transport, question: Question) {
    this.#transport = transport;
    this.#question = question;
  }

  /** How it ended; `null` before its end. */
  get summary(): StreamSummary | null {
    return this.#summary;
  }

  /** Row by row, in as many requests as that takes: one has at most 1,000,000 rows. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    if (this.#isBegun) throw new TypeError("a stream is read once; ask for another one");
    this.#isBegun = true;
    const question = this.#question;
    const budget = new Budget(question.maxCredits);
    await budget.check(question, this.#transport, bounds.streamLimitMax);
    let { start } = question;
    let rows = 0;
    let most: number = bounds.streamLimitMax;
    for (let number = 1; ; number += 1) {
      const limit = budget.allow(Math.min(question.limit - rows, most));
      let end: End;
      try {
        end = yield* this.#answer({ ...question.fields, ...start, limit }, this.#keyOf(number));
      } catch (failure) {
        most = freeRows(failure, limit);
        number -= 1;
        continue;
      }
      rows += end.rowsReturned;
      // The last charge excludes rows that were paid before a cut.
      budget.charged(end.creditsCharged > 0 || this.#resumptions > 0 ? end.rowsReturned : 0);
      if (end.nextCursor === null || rows >= question.limit) {
        this.#summary = { rowsReturned: rows, nextCursor: end.nextCursor, version: this.#version ?? "", resumptions: this.#resumptions };
        return;
      }
      start = { cursor: end.nextCursor };
    }
  }

  /** One answer to its end, over as many connections as that takes. */
  async *#answer(body: Attempt["body"], key: string): AsyncGenerator<T, End, undefined> {
    let attempt: Attempt = { body, key, received: 0 };
    let delivered = 0;
    for (let made = 0; ; made += 1) {
      const before = attempt.received;
      const reading = this.#connection(attempt);
      let failure: unknown;
      try {
        for (;;) {
          const next = await reading.next();
          if (next.done) return { ...next.value, rowsReturned: delivered };
          for (const row of next.value) {
            attempt.received += 1;
            if (attempt.received <= delivered) continue;
            delivered += 1;
            yield row;
          }
        }
      } catch (error) {
        failure = error;
      } finally {
        await reading.return(undefined as never);
      }
      if (attempt.received > before) made = 0;
      this.#isCut = delivered > 0;
      if (failure instanceof UnprocessableError && failure.reason === NOTHING_TO_RESUME) {
        // Nothing was charged under the key: the rows are asked for anew, and those that were delivered are passed over.
        attempt = { body: this.#pinned(body), key: this.#transport.newIdempotencyKey(), received: 0 };
        failure = cutShort("the stream");
      }
      await this.#transport.pause(made, failure, this.#question.call.signal);
    }
  }

  /** The rows of one connection. Ends in a `ConnectionError` without the line that ends a whole answer. */
  async *#connection({ body, key, received }: Attempt): AsyncGenerator<T[], End, undefined> {
    const { slug, numbers, call } = this.#question;
    const request = this.#transport.prepare("streamDataset", {
      path: { slug },
      query: { summary: "1", afterRows: received === 0 ? undefined : received },
      body,
      headers: { Accept: "application/x-ndjson" },
      idempotencyKey: key,
    }, call);
    const answer = await this.#transport.once(request);
    if (this.#isCut) this.#resumptions += 1;
    this.#isCut = false;
    let rows = 0;
    let end: End | undefined;
    try {
      this.#checkVersion(answer.header("X-Dataset-Version"));
      for await (const lines of linesOf(answer.pieces())) {
        const last = lines.at(-1) ?? "";
        if (last.startsWith(END)) {
          lines.pop();
          end = (parsed(last, "native") as { readonly $end: End }).$end;
        }
        rows += lines.length;
        yield lines.map((line) => parsed(line, numbers) as T);
      }
    } catch (error) {
      // Behind the last line a cut does no harm.
      if (end === undefined) throw error;
    } finally {
      await answer.close();
    }
    if (end === undefined) throw cutShort("the stream");
    if (end.rowsReturned !== rows) throw new IntegrityError(`${rows} rows arrived, the server sent ${end.rowsReturned}`);
    return end;
  }

  #checkVersion(version: string | null): void {
    this.#version ??= version ?? undefined;
    if (version !== null && version !== this.#version) {
      throw new IntegrityError(`the stream began on version ${this.#version} and went on with version ${version}`);
    }
  }

  #pinned(body: Attempt["body"]): Attempt["body"] {
    return this.#version === undefined ? body : { ...body, version: this.#version };
  }

  #keyOf(number: number): string {
    const key = this.#question.options.idempotencyKey;
    return key === undefined ? this.#transport.newIdempotencyKey() : `${key}.part-${number}`;
  }
}

function parsed(line: string, numbers: Question["numbers"]): unknown {
  try {
    return parseJson(line, numbers);
  } catch (error) {
    throw new IntegrityError("a line of the stream is not JSON", { cause: error });
  }
}
