/** The exports of both entries of the package beside `Client`. */

export { Dataset } from "./dataset.js";
export type { Options, SampleOf } from "./dataset.js";
export type { DownloadFormat, DownloadOptions, DownloadProgress, DownloadResult } from "./download.js";
export {
  BadRequestError,
  ConflictError,
  ConnectionError,
  CostLimitError,
  FileExistsError,
  IntegrityError,
  MercatoError,
  NotAcceptableError,
  NotFoundError,
  PaymentRequiredError,
  PreconditionFailedError,
  RateLimitedError,
  ServerError,
  StatusError,
  TimeoutError,
  UnauthorizedError,
  UnprocessableError,
} from "./errors.js";
export type { Refusal } from "./errors.js";
export { GroupBy } from "./group_by.js";
export type { Aggregates, GroupColumn, GroupOptions } from "./group_by.js";
/** The types of the OpenAPI document. */
export type * as api from "./generated.js";
export type { Numbers } from "./json.js";
export { Listing } from "./listing.js";
export type { ListPage } from "./listing.js";
export { Query } from "./query.js";
export type { Page, PagedQueryOptions } from "./query.js";
export type { Cost, QueryOptions, Row, Value } from "./question.js";
export { DEFAULT_RETRY } from "./retry.js";
export type { RetryPolicy } from "./retry.js";
export { RowStream } from "./row_stream.js";
export type { StreamSummary } from "./row_stream.js";
export type { Json, Loose } from "./snapshot.js";
export type { CallOptions, ClientOptions } from "./transport.js";
