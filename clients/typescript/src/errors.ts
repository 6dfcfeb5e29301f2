/** Everything that a call can fail with, by what the caller can do about it. No error holds the key. */

import type * as api from "./generated.js";
import type { Failure } from "./retry.js";

/** The root of all errors of this package. Wrong arguments are `TypeError` and `RangeError`; an abort is the signal's reason. */
export class MercatoError extends Error {
  static {
    this.prototype.name = "MercatoError";
  }
}

/** No whole answer arrived, and repetition did not help. A paid request can be repeated under its `Idempotency-Key`. */
export class ConnectionError extends MercatoError {
  static {
    this.prototype.name = "ConnectionError";
  }
}

/** The server was silent for longer than `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  static {
    this.prototype.name = "TimeoutError";
  }
}

/** Data are not what the server announced: another version, length or checksum. */
export class IntegrityError extends MercatoError {
  static {
    this.prototype.name = "IntegrityError";
  }
}

/** The target of a download is there already. Nothing was asked of the server, and nothing was written. */
export class FileExistsError extends MercatoError {
  static {
    this.prototype.name = "FileExistsError";
  }
}

/** The request would cost more than `maxCredits`. What was delivered before was paid; this was not sent. */
export class CostLimitError extends MercatoError {
  static {
    this.prototype.name = "CostLimitError";
  }

  constructor(
    message: string,
    /** Credits that the whole request needs, or that were needed for the next rows. */
    readonly creditsRequired: number,
    /** The limit of the caller. */
    readonly maxCredits: number,
  ) {
    super(message);
  }
}

/** The content of an answer with an error. */
export interface Refusal {
  readonly status: number;
  /** The stable code, such as `NO_CREDITS`; `null` where the answer is not of mercato, but of a proxy. */
  readonly code: string | null;
  readonly message: string;
  readonly details: Partial<api.ErrorDetails> | null;
  readonly requestId: string | null;
  /** `Retry-After` in milliseconds. */
  readonly retryAfterMs: number | null;
}

/** The server refused. Subclasses say what to do. */
export class StatusError extends MercatoError {
  static {
    this.prototype.name = "StatusError";
  }

  readonly status: number;
  /** The stable code, such as `NO_CREDITS`; `null` where a proxy answered. */
  readonly code: string | null;
  /** The stable word for programs, such as `UNKNOWN_COLUMN`. */
  readonly reason: string | null;
  /** A remedy. */
  readonly hint: string | null;
  /** The nearest accepted name. */
  readonly suggestion: string | null;
  /** RFC 6901 into the body, or the name of a parameter or header. */
  readonly pointer: string | null;
  /** Quote it to support. */
  readonly requestId: string | null;
  /** `Retry-After` in milliseconds. */
  readonly retryAfterMs: number | null;
  /** Every field that the server gave, such as `shortfall`, `allowed` and `errors`. */
  readonly details: Partial<api.ErrorDetails> | null;

  constructor(refusal: Refusal) {
    super(sentence(refusal));
    const { details } = refusal;
    this.status = refusal.status;
    this.code = refusal.code;
    this.reason = details?.reason ?? null;
    this.hint = details?.hint ?? null;
    this.suggestion = details?.suggestion ?? null;
    this.pointer = details?.pointer ?? null;
    this.requestId = refusal.requestId;
    this.retryAfterMs = refusal.retryAfterMs;
    this.details = details;
  }
}

/** Correct the request: `pointer` says where, `hint` and `suggestion` how. */
export class BadRequestError extends StatusError {
  static {
    this.prototype.name = "BadRequestError";
  }
}

/** Check the key. */
export class UnauthorizedError extends StatusError {
  static {
    this.prototype.name = "UnauthorizedError";
  }
}

/** Buy credits, or have a limit of the key raised. `details` has `required`, `available` and `shortfall`. */
export class PaymentRequiredError extends StatusError {
  static {
    this.prototype.name = "PaymentRequiredError";
  }
}

/** There is no such dataset; `suggestion` is the nearest one. */
export class NotFoundError extends StatusError {
  static {
    this.prototype.name = "NotFoundError";
  }
}

/** The server does not offer the format; `details.allowed` lists what it does offer. */
export class NotAcceptableError extends StatusError {
  static {
    this.prototype.name = "NotAcceptableError";
  }
}

/** An earlier request under the same `Idempotency-Key` is still being answered. */
export class ConflictError extends StatusError {
  static {
    this.prototype.name = "ConflictError";
  }
}

/** The file is another one than the one that was begun. */
export class PreconditionFailedError extends StatusError {
  static {
    this.prototype.name = "PreconditionFailedError";
  }
}

/** The `Idempotency-Key` belongs to another request. */
export class UnprocessableError extends StatusError {
  static {
    this.prototype.name = "UnprocessableError";
  }
}

/** Wait `retryAfterMs`. The server asked for more patience than the retry policy has. */
export class RateLimitedError extends StatusError {
  static {
    this.prototype.name = "RateLimitedError";
  }
}

/** A fault of the server. Nothing was charged. */
export class ServerError extends StatusError {
  static {
    this.prototype.name = "ServerError";
  }
}

const BY_STATUS: ReadonlyMap<number, typeof StatusError> = new Map([
  [400, BadRequestError],
  [401, UnauthorizedError],
  [402, PaymentRequiredError],
  [404, NotFoundError],
  [406, NotAcceptableError],
  [409, ConflictError],
  [412, PreconditionFailedError],
  [422, UnprocessableError],
  [429, RateLimitedError],
]);

/** The error of an answer. */
export function errorOf(refusal: Refusal): StatusError {
  const Kind = BY_STATUS.get(refusal.status) ?? (refusal.status >= 500 ? ServerError : StatusError);
  return new Kind(refusal);
}

/** The error of an answer that ended before it was whole. */
export function cutShort(what: string): ConnectionError {
  return new ConnectionError(`${what} ended before it was whole`);
}

/** How the retry policy sees an error. */
export function failureOf(error: unknown): Failure {
  if (error instanceof StatusError) {
    return { kind: "status", status: error.status, reason: error.reason, retryAfterMs: error.retryAfterMs };
  }
  if (error instanceof TimeoutError) return { kind: "timeout" };
  return { kind: error instanceof ConnectionError ? "connection" : "final" };
}

function sentence({ status, code, message, details, requestId }: Refusal): string {
  const hint = details?.hint ? ` (${details.hint})` : "";
  const id = requestId === null ? "" : ` [request ${requestId}]`;
  return `${status}${code === null ? "" : ` ${code}`}: ${message}${hint}${id}`;
}
