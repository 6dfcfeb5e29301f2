// Generated from src/api/openapi/openapi.json by scripts/generate.mjs. Do not edit: run `npm run generate`.

/** The account of the key that asks. */
export interface Account {
  /** Its id. */
  id: string;
  /** Its name. */
  name: string;
  /** Prepaid as soon as credits were ever bought. */
  plan: "free" | "prepaid";
  /** Credits that can be spent. */
  credits: number;
  /** Credits that running streams and downloads hold. */
  reserved: number;
  /** Free queries left this month. They stay after credits are bought, and are used first. */
  freeQueriesRemaining: number;
  /** Greatest `limit` of a free query. A greater one takes credits. */
  freeRowsPerQuery: number;
  /** When the month's free queries are renewed. */
  freeQueriesResetAt: string;
  /** When it was opened. */
  createdAt: string;
  /** Request limits. */
  quota: {
    /** Whose they are. */
    scope: "key" | "address";
    /** Any 60 seconds. */
    minute: Limit | null;
    /** The UTC day. */
    day: Limit | null;
  };
  /** Its keys, without their secrets. */
  keys: Array<AccountKey>;
}

/** A key, without its secret. */
export interface AccountKey {
  /** Its id. */
  id: string;
  /** Whose it is. */
  account: string;
  /** Its first characters. */
  prefix: string;
  /** A label by its owner. */
  label: string;
  /** When it was made. */
  createdAt: string;
  /** When it was last used. */
  lastUsedAt: string | null;
  /** When it expires, because it was rotated or has an end. */
  expiresAt: string | null;
  /** When it was revoked. */
  revokedAt: string | null;
  /** What it may spend and read. */
  limits: {
    /** Credits in a UTC day; null without a cap. */
    creditsPerDay: number | null;
    /** Credits in a UTC calendar month; null without a cap. */
    creditsPerMonth: number | null;
    /** The only datasets that it may read; empty for all. */
    datasets: Array<string>;
  };
  /** Credits spent of its caps; null without caps, and while the books are unavailable. */
  spent: {
    /** In the present UTC day; null without a cap on it. */
    day: number | null;
    /** In the present UTC calendar month; null without a cap on it. */
    month: number | null;
  } | null;
}

/** Aggregates by name. */
export type Aggregates = Record<string, {
  /** The operation. */
  op: "count" | "countDistinct" | "sum" | "avg" | "min" | "max" | "median" | "quantile";
  /** Name of a column. */
  column?: string | null;
  /** The share of values that are not larger; at most 18 digits. */
  q?: number | null;
}>;

/** Liveness. */
export interface Alive {
  /** `restart` when only a restart helps. */
  status: "alive" | "restart";
}

/** What changed, cut at headings such as `## [1.2.0] - 2026-01-31`. */
export interface Changelog {
  /** The text; empty when there is none. */
  markdown: string;
  /** The current version of the dataset. */
  version: string;
  /** When the text last changed. */
  updatedAt: string;
  /** In the order of the text. */
  entries: Array<{
    /** Semantic version. */
    version: string;
    /** The day in the heading. */
    date: string | null;
    /** What stands below the heading. */
    markdown: string;
  }>;
}

/** Statistics of all values of a column. */
export interface ColumnStatistics {
  /** Its name. */
  name: string;
  /** Its type. */
  type: "string" | "integer" | "number" | "boolean" | "datetime";
  /** Whether everything was counted. */
  complete: boolean;
  /** Rows with a value. */
  count: number;
  /** Rows without a value. */
  nulls: number;
  /** Rows with NaN. */
  nans: number;
  /** Rows with an infinity. */
  infinities: number | null;
  /** Distinct values, exactly; null when not known. All NaNs count as one. */
  distinct: number | null;
  /** Null when not known or when no value is finite. */
  min: string | number | boolean | null;
  /** Null when not known or when no value is finite. */
  max: string | number | boolean | null;
  /** Null when not known or when no value is finite. */
  mean: string | number | boolean | null;
  /** Null when not known or when no value is finite. */
  quantiles: Quantiles | null;
  /** For texts only. */
  lengths?: {
    /** The shortest. */
    min: number;
    /** The longest. */
    max: number;
    /** The mean. */
    mean: unknown;
    /** Quantiles of the lengths. */
    quantiles: Quantiles | null;
  } | null;
  /** Null when not known or when no value is finite. */
  histogram: {
    /** What the bounds are. */
    of: "values" | "lengths";
    /** Ascending. */
    bins: Array<{
      /** Its lower bound; belongs to it. */
      from: string | number | boolean;
      /** Its upper bound; belongs to the next bin, or to the last one. */
      to: string | number | boolean;
      /** Values, or texts, in it. */
      count: number;
    }>;
  } | null;
  /** The most frequent of the values that occur at least twice; empty when all values differ, null when not known. */
  topValues: Array<{
    /** The value; a long text is cut. */
    value: string | number | boolean;
    /** Rows that hold it. */
    count: number;
  }> | null;
}

/** The condition on a column. */
export type Condition = string | number | boolean | null | Array<string | number | boolean> | Operators;

/** schema.org/Dataset in the vocabulary of Croissant. */
export interface Croissant {
  /** Prefixes and terms. */
  "@context": Record<string, unknown>;
  /** `sc:Dataset`. */
  "@type": string;
  /** The version of Croissant. */
  conformsTo: string;
  /** Title of the dataset. */
  name: string;
  /** What it is. */
  description: string;
  /** Address of the header. */
  url: string;
  /** Semantic version. */
  version: string;
}

/** A page of the catalog. */
export interface DatasetList {
  /** Datasets of this page. */
  results: Array<Item>;
  /** Datasets in all pages. */
  total: number;
  /** As asked. */
  limit: number;
  /** As asked. */
  offset: number;
  /** `offset` of the next page; null on the last one. */
  nextOffset: number | null;
}

/** A JSON Schema (2020-12) of one row, and the columns in their order. */
export interface DatasetSchema {
  /** The dialect. */
  $schema: "https://json-schema.org/draft/2020-12/schema";
  /** The slug. */
  title: string;
  /** A row is an object. */
  type: "object";
  /** By column. */
  properties: Record<string, {
    /** A type, or a type and `null`. */
    type: unknown;
    /** For datetimes. */
    format?: "date" | "date-time";
    /** For datetimes, in place of the format, where a year has more than four digits. */
    pattern?: string;
    /** What the publisher says. */
    description?: string;
    /** A typical value. */
    examples?: Array<unknown>;
  }>;
  /** Every column. */
  required: Array<string>;
  additionalProperties: false;
  /** The version described. */
  version: string;
  /** What the seller offers beside rows. */
  query: {
    /** Whether queries with `groupBy` and `aggregates` are answered. */
    groups: "on" | "off";
    /** Groups of fewer rows are left out. */
    minGroupRows: number;
  };
  /** In the order of the file. */
  columns: Array<{
    /** Its name. */
    name: string;
    /** Its type. */
    type: "string" | "integer" | "number" | "boolean" | "datetime";
    /** Whether the source declares that values may be missing. */
    nullable: boolean;
    /** Whether rows can be sorted by it; without an index no deeper than 1,000,000 rows. */
    sortable: boolean;
    /** Whether it has a sort index, so that ordering and filtering by it read no other rows. */
    indexed: boolean;
    /** What the publisher says. */
    description: string | null;
    /** A typical value, or null. */
    example: unknown;
  }>;
}

/** The fields of the first fault, the facts of the case, then all faults. */
export interface ErrorDetails {
  /** A stable word for programs, such as `UNKNOWN_COLUMN`. */
  reason: string;
  /** RFC 6901 into the body, or the name of the parameter or header. */
  pointer?: string;
  /** What to do instead. */
  hint: string;
  /** What would be accepted. */
  allowed?: Array<string> | number;
  /** The nearest accepted name. */
  suggestion?: string | null;
  /** The limit that was exceeded. */
  limit?: number;
  /** The aggregate that has too many digits. */
  aggregate?: string;
  /** Credits that the request needs. */
  required?: number;
  /** Credits that the account has. */
  available?: number;
  /** Credits that are missing. */
  shortfall?: number;
  /** The limit of the key. */
  cap?: number | "datasets";
  /** Credits that the key has spent of the cap, with those that its running streams hold. */
  spent?: number;
  /** Over which UTC time the cap counts. */
  period?: "day" | "month";
  /** When the cap is renewed. */
  resetsAt?: string;
  /** Free queries of a month. */
  allowance?: number;
  /** When the limit or the free queries are renewed. */
  resetAt?: string;
  /** As the header `Retry-After`. */
  retryAfterSeconds?: number;
  /** Processor time that one search may take; with `QUERY_TOO_EXPENSIVE`. */
  limitSeconds?: number;
  /** Whose limit it is. */
  scope?: "key" | "address";
  /** Size of the file that has no such range. */
  bytes?: number;
  /** One object for each fault, of at most 100 in at most 64 KiB; empty where there is nothing to point at. */
  errors: Array<{
    /** A stable word for programs, such as `UNKNOWN_COLUMN`. */
    reason: string;
    /** RFC 6901 into the body, or the name of the parameter or header. */
    pointer?: string;
    /** What to do instead. */
    hint: string;
    /** What would have been accepted. */
    allowed?: Array<string>;
    /** The nearest accepted name. */
    suggestion?: string | null;
    /** What is wrong. */
    message: string;
  }>;
}

/** What a query would cost. */
export interface Estimate {
  /** Rows that it would return; an upper bound where `rowsAtLeast` is given. */
  rows: number;
  /** A lower bound of the rows, where more than 10,000 match. */
  rowsAtLeast?: number;
  /** What it would cost; an upper bound where `rowsAtLeast` is given. */
  creditsRequired: number;
  /** What the account can spend. */
  creditsAvailable: number;
  /** Whether the account can pay for it. */
  affordable: boolean;
  /** For each column of `facets` its public frequent values that match, most frequent first. */
  facets?: Record<string, Array<{
    /** As in the statistics. */
    value: string | number | boolean;
    /** Rows that match the filters and have it; null above 10,000, unless nothing is filtered. */
    count: number | null;
    /** In the place of `count`. */
    countAtLeast?: number;
  }>>;
}

/** The request to estimate. */
export interface EstimateBody {
  /** Conditions; null for all rows. */
  filters?: Filter | null;
  /** Columns in the order of the answer; null or empty for all. Not beside `groupBy` and `aggregates`. */
  columns?: Array<string> | null;
  /** Columns whose values make groups, in the order of the answer. */
  groupBy?: GroupBy | null;
  /** What is computed of each group, by the name of its column in the answer. */
  aggregates?: Aggregates | null;
  /** Conditions on the columns of the answer. */
  having?: Filter | null;
  /** Rows at most. */
  limit?: number | null;
  /** Rows to skip; ignored when a cursor is given. */
  offset?: number | null;
  /** The column to sort by; null for the order of the file. For groups a column of the answer; null for the order of their columns. */
  sortBy?: string | null;
  /** `desc` without `sortBy` reverses the order of the file. NaN and then NULL are last in both directions. */
  sortDirection?: "asc" | "desc" | null;
  /** A version that the header of the dataset lists; null is the current one. */
  version?: string | null;
  /** `nextCursor` of an answer. Treat it as opaque; at most 4 KiB. */
  cursor?: string | null;
  /** Whether `totalRows` is counted. */
  count?: "exact" | null;
  /** What is to be estimated. */
  for?: "page" | "stream" | "download" | null;
  /** Columns with `topValues` in the statistics, whose values are counted under the filters; null for none. */
  facets?: Array<string> | null;
}

/** Conditions by column; all must hold. `c_min` and `c_max` are bounds of the column `c`, unless a column is really called so; `$$x` is the column `$x`. At most 5 levels, 100 conditions and 10,000 values in a list. NULL matches only `null` and `isNull`; NaN matches no comparison and is found by `isNaN`. */
export interface Filter {
  /** All of these hold. */
  $and?: Array<Filter>;
  /** At least one of these holds. */
  $or?: Array<Filter>;
  $not?: Filter;
  [name: string]: Condition | Array<Filter> | Filter | undefined;
}

/** Ready for `d3.forceLink(edges).id(d => d.id)`. */
export interface Graph {
  /** Every dataset. */
  nodes: Array<{
    id: Slug;
    slug: Slug;
    /** Its title. */
    title: string;
    /** Its first tag, or `untagged`. */
    group: string;
    /** Its number of rows. */
    size: number;
    /** Stands first in the list. */
    featured: boolean;
  }>;
  /** Every relation whose two ends are published. */
  edges: Array<{
    source: Slug;
    target: Slug;
    /** What kind of relation it is. */
    type: string;
    /** The operator's description, or else the type. */
    label: string;
    /** How strong it is. */
    weight: number;
  }>;
}

/** Names of columns, or objects. */
export type GroupBy = Array<string | {
  /** Name of a column. */
  column: string;
  /** The answer has the start of the period. */
  by?: "year" | "quarter" | "month" | "week" | "day" | "hour" | null;
  /** Width of the buckets of a number, above 0; the answer has the smallest number of the bucket. */
  width?: number | null;
  /** Name in the answer; by default that of the column. */
  as?: string | null;
}>;

/** A dataset: its facts, versions, price and links. */
export interface Header {
  slug: Slug;
  /** In the language asked for, where the publisher gave it; else the other one, else the slug. */
  title: string;
  /** As `title`; empty when there is none. */
  description: string;
  /** Name of the license; null when the publisher gave none. */
  license: string | null;
  /** The version that is read by default. */
  currentVersion: string;
  /** Rows of the current version. */
  rowCount: number;
  /** Bytes of the store file of the current version. */
  fileSize: number;
  /** Tags of the publisher. */
  tags: Array<string>;
  /** Stands first in the list. */
  featured: boolean;
  /** The last change of anything about the dataset. */
  updatedAt: string;
  /** Where the license can be read. */
  licenseUrl: string | null;
  /** Who publishes it; null when the publisher gave none. */
  publisher: {
    /** The name. */
    name: string;
    /** The web address. */
    url: string | null;
  } | null;
  /** Whom to ask: an e-mail address or a web address. */
  contact: string | null;
  /** Its page at the publisher. */
  homepage: string | null;
  /** How to cite it. */
  citation: string | null;
  /** What it covers; null when the publisher gave nothing. */
  coverage: {
    /** The first date. */
    from: string | null;
    /** The last date; null where it goes on. */
    to: string | null;
    /** Names of places. */
    places: Array<string>;
  } | null;
  /** How often it is updated; null when the publisher gave nothing. */
  updateFrequency: "continuous" | "hourly" | "daily" | "weekly" | "fortnightly" | "monthly" | "quarterly" | "half-yearly" | "yearly" | "irregular" | "never" | null;
  /** Address of the methodology. */
  methodologyUrl: string;
  /** Address of the changelog. */
  changelogUrl: string;
  /** Address of the schema. */
  schemaUrl: string;
  /** Address of the sample. */
  sampleUrl: string;
  /** Address of the statistics. */
  statsUrl: string;
  /** Address of the related datasets. */
  relatedUrl: string;
  /** Address of the description for machines. */
  croissantUrl: string;
  /** Address of queries. */
  queryUrl: string;
  /** Address of streams. */
  streamUrl: string;
  /** Address of downloads. */
  downloadUrl: string;
  /** Columns. */
  columnCount: number;
  /** What can be downloaded. */
  formats: Array<{
    /** Value of `format`. */
    format: "csv" | "json" | "ndjson" | "arrow" | "parquet" | "xlsx";
    /** Size of the download in bytes. Null for Arrow and Excel, whose length is known at the end of the file, for large store files of an older converter, and while the store file is being verified. */
    bytes: number | null;
  }>;
  /** What a download costs. */
  creditsForDownload: number;
  /** The price of the whole dataset. */
  priceForDownload: {
    /** As `creditsForDownload`. */
    credits: number;
    /** Euros as exact decimal text, without VAT. */
    eur: string;
    vatIncluded: false;
  };
  /** The highest first. */
  versions: Array<{
    /** Semantic version. */
    version: string;
    /** Rows. */
    rowCount: number;
    /** Bytes of the store file. */
    fileSize: number;
    /** When it was published. */
    publishedAt: string;
    /** Whether it is the one that is read by default. */
    current: boolean;
  }>;
}

/** A dataset as lists show it. */
export interface Item {
  slug: Slug;
  /** In the language asked for, where the publisher gave it; else the other one, else the slug. */
  title: string;
  /** As `title`; empty when there is none. */
  description: string;
  /** Name of the license; null when the publisher gave none. */
  license: string | null;
  /** The version that is read by default. */
  currentVersion: string;
  /** Rows of the current version. */
  rowCount: number;
  /** Bytes of the store file of the current version. */
  fileSize: number;
  /** Tags of the publisher. */
  tags: Array<string>;
  /** Stands first in the list. */
  featured: boolean;
  /** The last change of anything about the dataset. */
  updatedAt: string;
}

/** A request limit of this key. */
export interface Limit {
  /** Requests allowed. */
  limit: number;
  /** Requests left. */
  remaining: number;
  /** When more are allowed. */
  resetAt: string;
}

/** Facts about the answer itself. */
export interface Meta {
  /** The same as the header `X-Request-Id`. */
  requestId: string;
  /** When the answer was made. */
  timestamp: string;
  /** Whole milliseconds since the request was received, waiting included. */
  durationMs: number;
  /** The price, in answers that can cost credits. */
  credits?: {
    /** Credits taken for this answer. */
    charged: number;
    /** Credits left in the account. */
    remaining: number;
  };
  /** Sentences about the answer. */
  warnings?: Array<string>;
}

/** How the data was made. */
export interface Methodology {
  /** The text; empty when there is none. */
  markdown: string;
  /** The current version of the dataset. */
  version: string;
  /** When the text last changed. */
  updatedAt: string;
}

/** Comparisons; all must hold. */
export interface Operators {
  /** Equals; null means that there is no value. */
  eq?: string | number | boolean | null;
  /** Differs; null means that there is a value. */
  ne?: string | number | boolean | null;
  /** Above. */
  gt?: string | number | boolean;
  /** Above or equal. */
  gte?: string | number | boolean;
  /** Below. */
  lt?: string | number | boolean;
  /** Below or equal. */
  lte?: string | number | boolean;
  /** One of these. */
  in?: Array<string | number | boolean>;
  /** None of these, and not null. */
  nin?: Array<string | number | boolean>;
  /** From the first to the second, both included. */
  between?: Array<string | number | boolean>;
  /** Contains this text. */
  contains?: string;
  /** Begins with this text. */
  startsWith?: string;
  /** Ends with this text. */
  endsWith?: string;
  /** True: there is no value. False: there is one. */
  isNull?: boolean;
  /** For doubles. True: the value is NaN. False: it is another value. NULL matches neither. */
  isNaN?: boolean;
  /** For doubles. True: neither NaN nor infinite. False: one of these. NULL matches neither. */
  isFinite?: boolean;
}

/** A page of rows. */
export interface Page {
  /** Rows. */
  results: Array<Row>;
  /** Rows in this answer. */
  rowsReturned: number;
  /** Where the next page begins; null exactly when no further row exists. */
  nextCursor: string | null;
  /** How this page was found. */
  paginationMode: "cursor" | "offset";
  /** Rows that match, where an index knows it or `count` asks for it; else null. Above 10,000 only in an answer that costs credits. */
  totalRows: number | null;
  /** More rows than this match. Given in place of `totalRows` above 10,000, where the answer is free. */
  totalRowsAtLeast?: number;
}

/** For each, the smallest value that is not below that many hundredths of all values. */
export interface Quantiles {
  /** A value of the column. */
  p5: string | number | boolean;
  /** A value of the column. */
  p25: string | number | boolean;
  /** A value of the column. */
  p50: string | number | boolean;
  /** A value of the column. */
  p75: string | number | boolean;
  /** A value of the column. */
  p95: string | number | boolean;
}

/** What a page asks for. */
export interface QueryBody {
  /** Conditions; null for all rows. */
  filters?: Filter | null;
  /** Columns in the order of the answer; null or empty for all. Not beside `groupBy` and `aggregates`. */
  columns?: Array<string> | null;
  /** Columns whose values make groups, in the order of the answer. */
  groupBy?: GroupBy | null;
  /** What is computed of each group, by the name of its column in the answer. */
  aggregates?: Aggregates | null;
  /** Conditions on the columns of the answer. */
  having?: Filter | null;
  /** Rows at most. */
  limit?: number | null;
  /** Rows to skip; ignored when a cursor is given. */
  offset?: number | null;
  /** The column to sort by; null for the order of the file. For groups a column of the answer; null for the order of their columns. */
  sortBy?: string | null;
  /** `desc` without `sortBy` reverses the order of the file. NaN and then NULL are last in both directions. */
  sortDirection?: "asc" | "desc" | null;
  /** A version that the header of the dataset lists; null is the current one. */
  version?: string | null;
  /** `nextCursor` of an answer. Treat it as opaque; at most 4 KiB. */
  cursor?: string | null;
  /** Whether `totalRows` is counted. */
  count?: "exact" | null;
}

/** Readiness. */
export interface Ready {
  /** Whether requests can be answered and charged. */
  status: "ready" | "not ready";
  /** The books. */
  ledger: "serving" | "down";
  /** Datasets by state. */
  datasets: {
    /** Datasets that are served. */
    serving: number;
    /** Datasets that are out of service because their files are damaged. */
    quarantined: number;
    /** Their slugs. */
    damaged: Array<Slug>;
    /** Datasets that serve an older version because the current one is damaged. */
    fallenBack: number;
    /** Datasets that wait for the verification of their files. */
    verifying: number;
    /** Verification of new and changed store files since the start. */
    verification: {
      /** Files that had to be verified. */
      files: number;
      /** Those that are done. */
      filesDone: number;
      /** Bytes of these files. */
      bytes: number;
      /** Bytes that are done. */
      bytesDone: number;
    };
  };
  /** The object store, where versions lie in one. */
  store?: {
    /** Whether versions can be fetched. */
    status: "serving" | "failing";
    /** Whether this server can keep what it fetches. A full disk is failing. */
    cacheDisk: "serving" | "failing";
    /** Published datasets of which this server has nothing yet. */
    missing: number;
  };
}

/** A related dataset, and how it is related. */
export interface RelatedItem {
  slug: Slug;
  /** In the language asked for, where the publisher gave it; else the other one, else the slug. */
  title: string;
  /** As `title`; empty when there is none. */
  description: string;
  /** Name of the license; null when the publisher gave none. */
  license: string | null;
  /** The version that is read by default. */
  currentVersion: string;
  /** Rows of the current version. */
  rowCount: number;
  /** Bytes of the store file of the current version. */
  fileSize: number;
  /** Tags of the publisher. */
  tags: Array<string>;
  /** Stands first in the list. */
  featured: boolean;
  /** The last change of anything about the dataset. */
  updatedAt: string;
  /** What kind of relation it is. */
  relationType: string;
  /** Why the two are related, where the operator wrote that. */
  relationDescription: string | null;
  /** Null where the relation comes from the list of the publisher. */
  direction: "outgoing" | "incoming" | null;
  /** How strong it is. */
  weight: number;
}

/** Datasets related to this one. */
export interface RelatedList {
  slug: Slug;
  /** `relations`: entered by the operator. `fallback`: the publisher's own list. */
  source: "relations" | "fallback";
  /** The strongest first. */
  results: Array<RelatedItem>;
}

/** One row: every selected column, in the order asked for. */
export type Row = Record<string, unknown>;

/** Sample rows, always the same ones. */
export interface Sample {
  /** Evenly spaced rows. */
  results: Array<Row>;
  /** Rows in this answer. */
  rowsReturned: number;
  /** Names in the order of the file. */
  columns: Array<string>;
  /** Rows of the file. */
  totalRows: number;
  /** The version they come from. */
  version: string;
}

/** A dataset that was found. */
export interface SearchItem {
  slug: Slug;
  /** In the language asked for, where the publisher gave it; else the other one, else the slug. */
  title: string;
  /** As `title`; empty when there is none. */
  description: string;
  /** Name of the license; null when the publisher gave none. */
  license: string | null;
  /** The version that is read by default. */
  currentVersion: string;
  /** Rows of the current version. */
  rowCount: number;
  /** Bytes of the store file of the current version. */
  fileSize: number;
  /** Tags of the publisher. */
  tags: Array<string>;
  /** Stands first in the list. */
  featured: boolean;
  /** The last change of anything about the dataset. */
  updatedAt: string;
  /** 0 to 1, never rising down the list. Compare scores only within one answer. */
  score: number;
  /** Its place, from 1. */
  rank: number;
  /** Where the question was found. */
  matchedOn: Array<"title" | "tags" | "description" | "columns" | "slug" | "methodology" | "meaning">;
  /** At most 240 characters of plain text from the description, or else from the methodology or the title; `…` marks omissions. */
  snippet: string;
}

/** Datasets that answer a question. */
export interface SearchList {
  /** The question, without white space at both ends. */
  query: string;
  /** The parameter, or the language that the question shows; null where it shows none. */
  lang: "en" | "it" | null;
  /** What made the order. */
  ranking: "cross-encoder" | "embedding" | "lexical";
  /** Datasets that cover enough of the question, not all that share a word with it. */
  total: number;
  /** Results of this page at most. */
  limit: number;
  /** Results that were skipped. */
  offset: number;
  /** `offset` of the next page; null on the last one that can be reached. */
  nextOffset: number | null;
  /** Those of this page, the best first. */
  results: Array<SearchItem>;
}

/** Lower-case letters, digits and inner hyphens. */
export type Slug = string;

/** Statistics of all values of each column. */
export interface Statistics {
  /** The version described. */
  version: string;
  /** Rows of the version. */
  rowCount: number;
  /** In the order of the file. */
  columns: Array<ColumnStatistics>;
  /** False for store files of an older format, which know less. */
  complete: boolean;
}

/** What a stream asks for. */
export interface StreamBody {
  /** Conditions; null for all rows. */
  filters?: Filter | null;
  /** Columns in the order of the answer; null or empty for all. Not beside `groupBy` and `aggregates`. */
  columns?: Array<string> | null;
  /** Columns whose values make groups, in the order of the answer. */
  groupBy?: GroupBy | null;
  /** What is computed of each group, by the name of its column in the answer. */
  aggregates?: Aggregates | null;
  /** Conditions on the columns of the answer. */
  having?: Filter | null;
  /** Rows at most. */
  limit?: number | null;
  /** Rows to skip; ignored when a cursor is given. */
  offset?: number | null;
  /** The column to sort by; null for the order of the file. For groups a column of the answer; null for the order of their columns. */
  sortBy?: string | null;
  /** `desc` without `sortBy` reverses the order of the file. NaN and then NULL are last in both directions. */
  sortDirection?: "asc" | "desc" | null;
  /** A version that the header of the dataset lists; null is the current one. */
  version?: string | null;
  /** `nextCursor` of an answer. Treat it as opaque; at most 4 KiB. */
  cursor?: string | null;
  /** Whether `totalRows` is counted. */
  count?: "exact" | null;
}

/** The most frequent tags first, then by name. */
export interface TagList {
  /** Tags of this page. */
  results: Array<{
    /** The tag. */
    tag: string;
    /** Published datasets that carry it. */
    count: number;
  }>;
  /** Tags in all pages. */
  total: number;
  /** As asked. */
  limit: number;
  /** As asked. */
  offset: number;
  /** `offset` of the next page; null on the last one. */
  nextOffset: number | null;
}

/** Usage of the account by UTC day and dataset. */
export interface Usage {
  /** As asked. */
  days: number;
  /** First day. */
  from: string;
  /** Last day, today. */
  to: string;
  /** Over all days. */
  totals: {
    /** Answers. */
    requests: number;
    /** Rows in them. */
    rows: number;
    /** Credits that they cost. */
    credits: number;
  };
  /** One line for each day and dataset, with `by=key` for each key of these. */
  usage: Array<{
    /** UTC day. */
    day: string;
    /** Slug. */
    dataset: string;
    /** The id of the key; with `by=key` only, and absent for what was read on the site. */
    key?: string;
    /** Answers. */
    requests: number;
    /** Rows in them. */
    rows: number;
    /** Credits that they cost. */
    credits: number;
  }>;
}

/** What each operation takes, and the `data` that it answers. */
export interface OperationTypes {
  /** Find datasets by subject */
  searchDatasets: {
    path: {};
    query: {
      /** The question: 2 to 200 characters, without control characters. White space at both ends does not count. */
      q: string;
      /** Results at most. */
      limit?: number;
      /** Results to skip. Those beyond the 500th are not reached. */
      offset?: number;
      /** Only datasets with exactly this tag; given several times, with all of them. */
      tag?: Array<string>;
      /** Language in which the question is read and in which results are shown, where the publisher wrote it. It filters nothing. */
      lang?: "en" | "it";
    };
    body: undefined;
    data: SearchList;
  };
  /** List the datasets */
  listDatasets: {
    path: {};
    query: {
      /** Datasets of this page at most. */
      limit?: number;
      /** Datasets to skip. */
      offset?: number;
      /** Only datasets with exactly this tag; given several times, with all of them. */
      tag?: Array<string>;
      /** Only datasets under the license of this name, in upper or lower case. */
      license?: string;
      /** `featured`: featured datasets first, then the last updated. `updated`: the last updated first. `title`: from A to Z. `rows`: the most rows first. Equal ones by slug. */
      sort?: "featured" | "updated" | "title" | "rows";
      /** Language of titles and descriptions. Where the publisher wrote only the other language, that one is shown. Without it, English comes first. */
      lang?: "en" | "it";
    };
    body: undefined;
    data: DatasetList;
  };
  /** List the tags */
  listTags: {
    path: {};
    query: {
      /** Tags of this page at most. */
      limit?: number;
      /** Tags to skip. */
      offset?: number;
    };
    body: undefined;
    data: TagList;
  };
  /** Look at a dataset */
  getDataset: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {
      /** Language of titles and descriptions. Where the publisher wrote only the other language, that one is shown. Without it, English comes first. */
      lang?: "en" | "it";
    };
    body: undefined;
    data: Header;
  };
  /** Read the columns of a dataset */
  getSchema: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {
      /** Language of the descriptions. Where the publisher wrote only the other language, that one is shown. Without it, English comes first. */
      lang?: "en" | "it";
      /** A version that the header of the dataset lists; by default the current one. */
      version?: string;
    };
    body: undefined;
    data: DatasetSchema;
  };
  /** See sample rows for free */
  getSample: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {
      /** A version that the header of the dataset lists; by default the current one. */
      version?: string;
      /** How rows are printed; beats `Accept`. */
      format?: "json" | "csv" | "ndjson" | "arrow" | "xlsx";
    };
    body: undefined;
    data: Sample;
  };
  /** Read the methodology */
  getMethodology: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {};
    body: undefined;
    data: Methodology;
  };
  /** Read the changelog */
  getChangelog: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {};
    body: undefined;
    data: Changelog;
  };
  /** Read the statistics of every column */
  getStatistics: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {
      /** A version that the header of the dataset lists; by default the current one. */
      version?: string;
    };
    body: undefined;
    data: Statistics;
  };
  /** Find related datasets */
  getRelated: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {
      /** Datasets of the answer at most. */
      limit?: number;
      /** Language of titles and descriptions. Where the publisher wrote only the other language, that one is shown. Without it, English comes first. */
      lang?: "en" | "it";
    };
    body: undefined;
    data: RelatedList;
  };
  /** Read the graph of all relations */
  getRelationGraph: {
    path: {};
    query: {
      /** Language of titles and descriptions. Where the publisher wrote only the other language, that one is shown. Without it, English comes first. */
      lang?: "en" | "it";
    };
    body: undefined;
    data: Graph;
  };
  /** Read a page of rows by GET */
  queryDatasetByUrl: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {
      /** Conditions, as JSON text. */
      filters?: Filter;
      /** Names as a JSON list, or separated by commas. */
      columns?: string;
      /** Columns whose values make groups, as a JSON list, or names separated by commas. */
      groupBy?: string;
      /** What is computed of each group, as JSON text. */
      aggregates?: Aggregates;
      /** Conditions on the columns of an answer of groups, as JSON text. */
      having?: Filter;
      /** Rows at most. */
      limit?: number;
      /** Rows to skip; ignored when a cursor is given. */
      offset?: number;
      /** The column that orders the rows. */
      sortBy?: string;
      /** Direction of the order. */
      sortDirection?: "asc" | "desc";
      /** `nextCursor` of an answer. */
      cursor?: string;
      /** A version that the header of the dataset lists; by default the current one. */
      version?: string;
      /** Counts the matching rows even where no index knows their number. */
      count?: "exact";
      /** How rows are printed; beats `Accept`. */
      format?: "json" | "csv" | "ndjson" | "arrow" | "xlsx";
    };
    body: undefined;
    data: Page;
  };
  /** Read a page of rows */
  queryDataset: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {};
    body: QueryBody;
    data: Page;
  };
  /** Estimate the price */
  estimateQuery: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {};
    body: EstimateBody;
    data: Estimate;
  };
  /** Read many rows as a stream */
  streamDataset: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {
      /** Adds the summary to the body: as `event: end`, or as the last line. */
      summary?: "0" | "1";
      /** Rows at the beginning of the answer that the client already has, under the `Idempotency-Key` of the answer that broke off. */
      afterRows?: number;
    };
    body: StreamBody;
    data: unknown;
  };
  /** Download a whole version */
  downloadDataset: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {
      /** The format of the file; CSV by default. It beats `Accept`. */
      format?: "csv" | "json" | "ndjson" | "arrow" | "parquet" | "xlsx";
      /** A version that the header of the dataset lists; by default the current one. */
      version?: string;
    };
    body: undefined;
    data: unknown;
  };
  /** Read credits, plan, limits and keys */
  getAccount: {
    path: {};
    query: {};
    body: undefined;
    data: Account;
  };
  /** Read the usage of the account */
  getUsage: {
    path: {};
    query: {
      /** UTC days, today included. */
      days?: number;
      /** `key` separates the keys: each line has the id of one. */
      by?: "dataset" | "key";
      /** Only the usage of this key of the account. */
      key?: string;
    };
    body: undefined;
    data: Usage;
  };
  /** Describe a dataset for machines */
  getCroissant: {
    path: {
      /** Name of the dataset. */
      slug: Slug;
    };
    query: {
      /** Language of titles and descriptions. Where the publisher wrote only the other language, that one is shown. Without it, English comes first. */
      lang?: "en" | "it";
      /** A version that the header of the dataset lists; by default the current one. */
      version?: string;
    };
    body: undefined;
    data: Croissant;
  };
  /** Read this document */
  getOpenApi: {
    path: {};
    query: {};
    body: undefined;
    data: unknown;
  };
  /** Read the site map */
  getSitemap: {
    path: {};
    query: {
      /** Number of a part. */
      part?: number;
    };
    body: undefined;
    data: unknown;
  };
  /** Read the rules for robots */
  getRobots: {
    path: {};
    query: {};
    body: undefined;
    data: unknown;
  };
  /** Read the overview for language models */
  getLlmsTxt: {
    path: {};
    query: {};
    body: undefined;
    data: unknown;
  };
  /** Open the interactive console */
  getConsole: {
    path: {};
    query: {};
    body: undefined;
    data: unknown;
  };
  /** Open the interactive console */
  getConsoleFolder: {
    path: {};
    query: {};
    body: undefined;
    data: unknown;
  };
  /** Load a file of the console */
  getConsoleFile: {
    path: {
      /** Name of the file. */
      file: string;
    };
    query: {};
    body: undefined;
    data: unknown;
  };
  /** Check liveness */
  getHealth: {
    path: {};
    query: {};
    body: undefined;
    data: Alive;
  };
  /** Check readiness */
  getReadiness: {
    path: {};
    query: {};
    body: undefined;
    data: Ready;
  };
}

/** Where each operation stands, and whether it takes an `Idempotency-Key`. */
export const operations = {
  searchDatasets: { method: "GET", path: "/api/v1/datasets/search", takesIdempotencyKey: false },
  listDatasets: { method: "GET", path: "/api/v1/datasets", takesIdempotencyKey: false },
  listTags: { method: "GET", path: "/api/v1/tags", takesIdempotencyKey: false },
  getDataset: { method: "GET", path: "/api/v1/datasets/{slug}", takesIdempotencyKey: false },
  getSchema: { method: "GET", path: "/api/v1/datasets/{slug}/schema", takesIdempotencyKey: false },
  getSample: { method: "GET", path: "/api/v1/datasets/{slug}/sample", takesIdempotencyKey: false },
  getMethodology: { method: "GET", path: "/api/v1/datasets/{slug}/methodology", takesIdempotencyKey: false },
  getChangelog: { method: "GET", path: "/api/v1/datasets/{slug}/changelog", takesIdempotencyKey: false },
  getStatistics: { method: "GET", path: "/api/v1/datasets/{slug}/stats", takesIdempotencyKey: false },
  getRelated: { method: "GET", path: "/api/v1/datasets/{slug}/related", takesIdempotencyKey: false },
  getRelationGraph: { method: "GET", path: "/api/v1/datasets/relations/graph", takesIdempotencyKey: false },
  queryDatasetByUrl: { method: "GET", path: "/api/v1/datasets/{slug}/query", takesIdempotencyKey: true },
  queryDataset: { method: "POST", path: "/api/v1/datasets/{slug}/query", takesIdempotencyKey: true },
  estimateQuery: { method: "POST", path: "/api/v1/datasets/{slug}/query/estimate", takesIdempotencyKey: false },
  streamDataset: { method: "POST", path: "/api/v1/datasets/{slug}/query/stream", takesIdempotencyKey: true },
  downloadDataset: { method: "GET", path: "/api/v1/datasets/{slug}/download", takesIdempotencyKey: true },
  getAccount: { method: "GET", path: "/api/v1/account", takesIdempotencyKey: false },
  getUsage: { method: "GET", path: "/api/v1/account/usage", takesIdempotencyKey: false },
  getCroissant: { method: "GET", path: "/api/v1/datasets/{slug}/croissant", takesIdempotencyKey: false },
  getOpenApi: { method: "GET", path: "/api/v1/openapi.json", takesIdempotencyKey: false },
  getSitemap: { method: "GET", path: "/sitemap.xml", takesIdempotencyKey: false },
  getRobots: { method: "GET", path: "/robots.txt", takesIdempotencyKey: false },
  getLlmsTxt: { method: "GET", path: "/llms.txt", takesIdempotencyKey: false },
  getConsole: { method: "GET", path: "/docs", takesIdempotencyKey: false },
  getConsoleFolder: { method: "GET", path: "/docs/", takesIdempotencyKey: false },
  getConsoleFile: { method: "GET", path: "/docs/{file}", takesIdempotencyKey: false },
  getHealth: { method: "GET", path: "/healthz", takesIdempotencyKey: false },
  getReadiness: { method: "GET", path: "/readyz", takesIdempotencyKey: false },
} as const;

/** Bounds that the client has to know. */
export const bounds = {
  pageLimitMax: 10000,
  streamLimitMax: 1000000,
  slugPattern: "^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$",
  idempotencyKeyPattern: "^[!-~]([ -~]{0,253}[!-~])?$",
} as const;
