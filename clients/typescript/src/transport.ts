/**
 * Sends requests: addresses, key, repetition, errors. A request is frozen, with its `Idempotency-Key`, before its first attempt,
 * so that every attempt is the same request. Knows no datasets.
 */

import { Answer, Watch } from "./answer.js";
import { IntegrityError, MercatoError, errorOf, failureOf } from "./errors.js";
import { bounds, operations } from "./generated.js";
import type { ErrorDetails, Meta, OperationTypes } from "./generated.js";
import { parseJson } from "./json.js";
import type { Numbers } from "./json.js";
import type { Platform } from "./platform.js";
import { DEFAULT_RETRY, parseRetryAfter, retryDelayMs } from "./retry.js";
import type { RetryPolicy } from "./retry.js";

/** A page of 10,000 rows is far below. */
const ANSWER_BYTES_MAX = 256 << 20;
const ERROR_BYTES_MAX = 1 << 20;
const TIMEOUT_MS = 60_000;
/** Bytes of an `Idempotency-Key`, before they are printed. */
const KEY_BYTES = 16;
/** The replacement of the key in texts. */
const REDACTED = "mk_…";

/** How a client behaves. */
export interface ClientOptions {
  /** The API key, `mk_…`. Paths that need none work without it. */
  readonly apiKey?: string | undefined;
  /** Milliseconds of silence after which a request fails: before its answer begins, and between two pieces of it. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** When failed requests are repeated. What is left out is the default. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** Another `fetch`, for a proxy or a test. */
  readonly fetch?: typeof fetch | undefined;
  /** Called with every warning of an answer, and with `X-Credits-Warning`. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

/** Options of every call. */
export interface CallOptions {
  /** Ends the call; it fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Instead of the client's. */
  readonly timeoutMs?: number | undefined;
}

/** The names of all operations. */
export type OperationId = keyof typeof operations;

type Scalar = string | number | boolean;

/** The content of a request, without its target. */
export interface Input {
  readonly path?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, Scalar | readonly Scalar[] | undefined>> | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Statuses that are no errors here, beside 200 to 299. */
  readonly expected?: readonly number[] | undefined;
}

/** A request that every attempt sends in the same bytes. */
export interface Prepared {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly expected: readonly number[];
  readonly call: CallOptions;
}

/** A JSON answer: its data, the facts about it, and its headers. */
export interface Enveloped<Data> {
  readonly data: Data;
  readonly meta: Meta;
  readonly answer: Answer;
}

export class Transport {
  readonly baseUrl: string;
  readonly platform: Platform;
  readonly policy: RetryPolicy;
  readonly #apiKey: string | undefined;
  readonly #options: ClientOptions;

  constructor(baseUrl: string | URL, options: ClientOptions, platform: Platform) {
    this.baseUrl = checkedAddress(baseUrl);
    this.#apiKey = checkedKey(options.apiKey);
    // The key stays in one private field only.
    this.#options = { ...options, apiKey: undefined };
    this.platform = platform;
    this.policy = { ...DEFAULT_RETRY, ...options.retry };
  }

  /** `data` of an operation that answers in the envelope. */
  async data<Id extends OperationId>(id: Id, input: Input, call: CallOptions = {}): Promise<OperationTypes[Id]["data"]> {
    const { data } = await this.envelope<OperationTypes[Id]["data"]>(this.prepare(id, input, call));
    return data;
  }

  /** The whole envelope. A body that is cut is asked for again. */
  async envelope<Data>(request: Prepared, numbers: Numbers = "native"): Promise<Enveloped<Data>> {
    return this.run(request, async (answer) => {
      const document = parsed(await answer.text(ANSWER_BYTES_MAX), numbers) as Omit<Enveloped<Data>, "answer"> | null;
      if (typeof document?.data !== "object" || typeof document.meta !== "object") {
        throw new IntegrityError("the answer is not in the envelope of mercato; is the base URL that of a mercato server?");
      }
      for (const warning of document.meta.warnings ?? []) this.#options.onWarning?.(warning);
      return { ...document, answer };
    });
  }

  /** The whole body of an operation that answers with JSON and no envelope. */
  async document<Id extends OperationId>(id: Id, input: Input, call: CallOptions = {}): Promise<OperationTypes[Id]["data"]> {
    const text = await this.run(this.prepare(id, input, call), (answer) => answer.text(ANSWER_BYTES_MAX));
    return parsed(text, "native") as OperationTypes[Id]["data"];
  }

  /** The whole body of an operation as it came. */
  async bytes(request: Prepared, bytesMax: number): Promise<Uint8Array> {
    return this.run(request, (answer) => answer.bytes(bytesMax));
  }

  /** Freezes a request. */
  prepare(id: OperationId, input: Input, call: CallOptions = {}): Prepared {
    const { method, path, takesIdempotencyKey } = operations[id];
    const headers: Record<string, string> = { ...this.platform.headers, ...input.headers };
    if (this.#apiKey !== undefined) headers["X-Api-Key"] = this.#apiKey;
    if (input.body !== undefined) headers["Content-Type"] = "application/json";
    if (takesIdempotencyKey) headers["Idempotency-Key"] = input.idempotencyKey ?? this.newIdempotencyKey();
    return {
      url: `${this.baseUrl}${filledIn(path, input.path ?? {})}${queryOf(input.query ?? {})}`,
      method,
      headers,
      body: input.body === undefined ? undefined : JSON.stringify(input.body),
      expected: input.expected ?? [],
      call,
    };
  }

  /** A fresh `Idempotency-Key`. */
  newIdempotencyKey(): string {
    return Array.from(this.platform.randomBytes(KEY_BYTES), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** Sends a request and reads its answer, again and again as the policy says. */
  async run<T>(request: Prepared, read: (answer: Answer) => Promise<T>): Promise<T> {
    for (let made = 0; ; made += 1) {
      try {
        return await read(await this.once(request));
      } catch (error) {
        await this.pause(made, error, request.call.signal);
      }
    }
  }

  /** Waits before another attempt, or throws the error where there is to be none. */
  async pause(made: number, error: unknown, signal: AbortSignal | undefined): Promise<void> {
    const delay = retryDelayMs(this.policy, made, failureOf(error), this.platform.random());
    if (delay === null) throw error;
    await this.platform.sleep(delay, signal);
  }

  /** One attempt. Who reads long bodies repeats by itself, from where it was cut. */
  async once({ url, method, headers, body, expected, call }: Prepared): Promise<Answer> {
    call.signal?.throwIfAborted();
    const watch = new Watch(call.timeoutMs ?? this.#options.timeoutMs ?? TIMEOUT_MS, call.signal, this.baseUrl);
    const send = this.#options.fetch ?? globalThis.fetch;
    try {
      // A redirection would hand the key to another address, and cookies are not for this API.
      const init: RequestInit = { method, headers, redirect: "manual", credentials: "omit", signal: watch.signal };
      if (body !== undefined) init.body = body;
      const response = await watch.wait(send(url, init));
      const answer = new Answer(response, watch);
      if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400 && !expected.includes(response.status))) {
        await answer.close();
        throw new MercatoError(`${this.baseUrl} redirects to ${answer.header("Location") ?? "another address"}; use that as base URL`);
      }
      if (!response.ok && !expected.includes(response.status)) throw await this.#refusal(answer);
      this.#warn(answer);
      return answer;
    } catch (error) {
      watch.stop(false);
      throw error;
    }
  }

  #warn(answer: Answer): void {
    const warning = answer.header("X-Credits-Warning");
    if (warning !== null) this.#options.onWarning?.(warning);
  }

  /** The error of an answer. What is not JSON is the page of a proxy. */
  async #refusal(answer: Answer): Promise<MercatoError> {
    const retryAfterMs = parseRetryAfter(answer.header("Retry-After"), this.platform.now());
    const requestId = answer.header("X-Request-Id");
    const text = this.#redacted(await answer.text(ERROR_BYTES_MAX));
    const error = errorPart(text);
    const message = error?.message ?? `no answer of mercato: ${JSON.stringify(text.slice(0, 200))}`;
    const { code = null, details = null } = error ?? {};
    return errorOf({ status: answer.status, code, message, details, requestId, retryAfterMs });
  }

  /** No server should repeat the key; a proxy's error page might. */
  #redacted(text: string): string {
    return this.#apiKey === undefined ? text : text.replaceAll(this.#apiKey, REDACTED);
  }
}

interface ErrorPart {
  readonly code?: string | null;
  readonly message?: string;
  readonly details?: Partial<ErrorDetails> | null;
}

function errorPart(text: string): ErrorPart | null {
  try {
    const document = parseJson(text) as { error?: ErrorPart } | null;
    return document?.error ?? null;
  } catch {
    return null;
  }
}

function parsed(text: string, numbers: Numbers): unknown {
  try {
    return parseJson(text, numbers);
  } catch (error) {
    throw new IntegrityError("the answer is not JSON; is the base URL that of a mercato server?", { cause: error });
  }
}

/** The address without the slash at its end. Its path, if any, is that of a proxy. */
function checkedAddress(baseUrl: string | URL): string {
  const url = new URL(baseUrl);
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new TypeError(`base URL: expected http or https, found ${url.protocol}`);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new TypeError("base URL: expected no user, password, query or fragment; the key is an option");
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** A key that no header can carry would stand in the error of `fetch`. */
function checkedKey(key: string | undefined): string | undefined {
  if (key !== undefined && !/^[!-~]+$/.test(key)) throw new TypeError("apiKey: expected visible ASCII characters only");
  return key;
}

/** An `Idempotency-Key` of a caller. The number of a page or part is put behind it. */
export function checkedIdempotencyKey(key: string | undefined): void {
  if (key !== undefined && !new RegExp(bounds.idempotencyKeyPattern).test(`${key}.page-1000000000`)) {
    throw new TypeError("idempotencyKey: expected 1 to 239 visible ASCII characters");
  }
}

function filledIn(path: string, values: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
}

function queryOf(query: NonNullable<Input["query"]>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}
