/**
 * A running answer: its head, and its body piece by piece, under a bound on silence and the caller's signal. Knows no JSON and
 * no repetition.
 */

import { ConnectionError, IntegrityError, TimeoutError } from "./errors.js";

/** Ends a request that is silent for too long, or that its caller gave up. */
export class Watch {
  readonly #controller = new AbortController();
  #isSilent = false;

  constructor(
    /** Milliseconds without a byte. */
    private readonly timeoutMs: number,
    private readonly caller: AbortSignal | undefined,
    /** The base URL, which errors name. */
    private readonly server: string,
  ) {
    caller?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for the network, never longer than the bound. What the caller does in between does not count. */
  async wait<T>(work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      this.#isSilent = true;
      this.#controller.abort();
    }, this.timeoutMs);
    try {
      return await work;
    } catch (error) {
      throw this.#explained(error);
    } finally {
      clearTimeout(timer);
    }
  }

  #explained(error: unknown): unknown {
    if (this.caller?.aborted) return this.caller.reason;
    if (this.#isSilent) return new TimeoutError(`${this.server} was silent for ${this.timeoutMs} ms`);
    return new ConnectionError(`the connection to ${this.server} failed: ${deepestMessage(error)}`, { cause: error });
  }

  /** Lets go of the caller's signal, and of the connection where the body was not read to its end. */
  stop(isRead: boolean): void {
    this.caller?.removeEventListener("abort", this.#abort);
    if (!isRead) this.#controller.abort();
  }

  readonly #abort = (): void => this.#controller.abort();
}

/** `fetch` says only "fetch failed"; its cause says why. */
function deepestMessage(error: unknown): string {
  let message = "no answer";
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause.message !== "") message = cause.message;
  }
  return message;
}

/** An answer whose head has arrived. */
export class Answer {
  #isEnded = false;

  constructor(
    private readonly response: Response,
    private readonly watch: Watch,
  ) {}

  get status(): number {
    return this.response.status;
  }

  /** A header, or `null`. */
  header(name: string): string | null {
    return this.response.headers.get(name);
  }

  /** The body. A reader that leaves early closes the connection, and a stream that is left costs what was delivered. */
  async *pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = this.response.body?.getReader();
    let isRead = reader === undefined;
    try {
      while (reader !== undefined) {
        const { done, value } = await this.watch.wait(reader.read());
        if (done) {
          isRead = true;
          return;
        }
        yield value;
      }
    } finally {
      this.#isEnded = true;
      this.watch.stop(isRead);
      if (!isRead) await reader?.cancel().catch(() => undefined);
    }
  }

  /** The whole body. Longer ones than `bytesMax` are refused. */
  async bytes(bytesMax: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let length = 0;
    for await (const piece of this.pieces()) {
      length += piece.length;
      if (length > bytesMax) throw new IntegrityError(`the answer is longer than ${bytesMax} bytes`);
      pieces.push(piece);
    }
    const whole = new Uint8Array(length);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  /** The whole body as text. */
  async text(bytesMax: number): Promise<string> {
    return new TextDecoder().decode(await this.bytes(bytesMax));
  }

  /** Gives up what was not read. */
  async close(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.watch.stop(false);
    await this.response.body?.cancel().catch(() => undefined);
  }
}
