/** Decides whether a request is sent again, and when. Pure: no clock, no randomness, no I/O. */

/** Bounds of repetition. */
export interface RetryPolicy {
  /** Repetitions of one request at most; 0 turns them off. A transfer that moves on begins to count anew. */
  readonly retries: number;
  /** Milliseconds before the first repetition; each further one waits twice as long. */
  readonly baseMs: number;
  /** Milliseconds of such a wait at most. */
  readonly maxMs: number;
  /** Milliseconds that the server may ask for in `Retry-After`. Where it asks for more, the request fails at once. */
  readonly retryAfterMaxMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { retries: 4, baseMs: 500, maxMs: 8_000, retryAfterMaxMs: 60_000 };

/** Why a request failed. What is `final` is never repeated. */
export type Failure =
  | { readonly kind: "status"; readonly status: number; readonly reason: string | null; readonly retryAfterMs: number | null }
  | { readonly kind: "connection" | "timeout" | "final" };

/** Statuses after which the same request can succeed. 402 is not among them: waiting earns no credits. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
/** The one conflict that ends by itself: an earlier attempt is still being answered. */
const KEY_IN_USE = "IDEMPOTENCY_KEY_IN_USE";
/** The one 503 that a repetition would meet again, at the same expense. */
const TOO_EXPENSIVE = "QUERY_TOO_EXPENSIVE";
/** `Date.parse` takes much else for a date. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Milliseconds to wait before the request is sent again, or `null` where it is not.
 * `made` counts the repetitions so far; `random` lies in [0, 1).
 */
export function retryDelayMs(policy: RetryPolicy, made: number, failure: Failure, random: number): number | null {
  if (made >= policy.retries || !isTransient(failure)) return null;
  const backoff = Math.min(policy.maxMs, policy.baseMs * 2 ** made);
  const asked = failure.kind === "status" ? failure.retryAfterMs : null;
  if (asked === null || asked === 0) return backoff * (0.5 + random / 2);
  // Not earlier than the server says, and not all clients at the same moment.
  return asked > policy.retryAfterMaxMs ? null : asked + random * policy.baseMs;
}

function isTransient(failure: Failure): boolean {
  switch (failure.kind) {
    case "status":
      if (failure.reason === TOO_EXPENSIVE) return false;
      return TRANSIENT_STATUSES.has(failure.status) || (failure.status === 409 && failure.reason === KEY_IN_USE);
    case "connection":
    case "timeout":
      return true;
    case "final":
      return false;
  }
}

/** `Retry-After` in milliseconds: whole seconds, or an HTTP date against `now` (milliseconds since 1970). */
export function parseRetryAfter(text: string | null, now: number): number | null {
  if (text === null) return null;
  if (/^\s*\d{1,9}\s*$/.test(text)) return Number(text) * 1_000;
  const date = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
