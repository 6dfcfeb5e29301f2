/** One dataset: what everybody may read of it, and its rows. */

import { download } from "./download.js";
import type { DownloadOptions, DownloadResult } from "./download.js";
import { bounds } from "./generated.js";
import type * as api from "./generated.js";
import { GroupBy } from "./group_by.js";
import type { GroupColumn } from "./group_by.js";
import { split } from "./listing.js";
import { Query } from "./query.js";
import type { PagedQueryOptions } from "./query.js";
import { Question } from "./question.js";
import type { QueryOptions, Row } from "./question.js";
import { RowStream } from "./row_stream.js";
import type { CallOptions, Input, Transport } from "./transport.js";

/** The parameters of an operation, and those of every call. */
export type Options<Id extends keyof api.OperationTypes> = Partial<api.OperationTypes[Id]["query"]> & CallOptions;

/** Free rows. */
export type SampleOf<T> = Omit<api.Sample, "results"> & { readonly results: T[] };

/** A dataset by its slug. Nothing is sent before a method is called. */
export class Dataset<T extends Row = Row> {
  readonly slug: string;
  readonly #transport: Transport;

  constructor(transport: Transport, slug: string) {
    if (!new RegExp(bounds.slugPattern).test(slug)) {
      throw new TypeError(`dataset: expected lower-case letters, digits and inner hyphens, found ${JSON.stringify(slug)}`);
    }
    this.slug = slug;
    this.#transport = transport;
  }

  /** Title, licence, price, versions and links. */
  async header(options: Options<"getDataset"> = {}): Promise<api.Header> {
    return this.#read("getDataset", options);
  }

  /** Columns with their types, and a JSON Schema of one row. */
  async schema(options: Options<"getSchema"> = {}): Promise<api.DatasetSchema> {
    return this.#read("getSchema", options);
  }

  /** At most 100 rows, always the same ones. Free. */
  async sample(options: Omit<Options<"getSample">, "format"> = {}): Promise<SampleOf<T>> {
    return (await this.#read("getSample", options)) as SampleOf<T>;
  }

  /** Counts, extremes, quantiles and frequent values of each column, over all rows. Free. */
  async stats(options: Options<"getStatistics"> = {}): Promise<api.Statistics> {
    return this.#read("getStatistics", options);
  }

  /** How the data came about, as Markdown. */
  async methodology(options: Options<"getMethodology"> = {}): Promise<api.Methodology> {
    return this.#read("getMethodology", options);
  }

  /** The changes between versions, as Markdown and by version. */
  async changelog(options: Options<"getChangelog"> = {}): Promise<api.Changelog> {
    return this.#read("getChangelog", options);
  }

  /** Datasets that have to do with this one. */
  async related(options: Options<"getRelated"> = {}): Promise<api.RelatedList> {
    return this.#read("getRelated", options);
  }

  /** The Croissant description (JSON-LD). */
  async croissant(options: Options<"getCroissant"> = {}): Promise<api.Croissant> {
    const [query, call] = split(options);
    return this.#transport.document("getCroissant", { path: { slug: this.slug }, query }, call);
  }

  /** Rows over all pages, each page paid as it is read. Needs a key. */
  query(options: PagedQueryOptions = {}): Query<T> {
    return new Query<T>(this.#transport, new Question(this.slug, options), options.pageSize);
  }

  /** Rows over one long answer, which goes on by itself when it is cut. Needs a key. */
  stream(options: QueryOptions = {}): RowStream<T> {
    return new RowStream<T>(this.#transport, new Question(this.slug, options));
  }

  /** Groups of the rows, each of which costs one credit: `groupBy("a", { column: "b", by: "month" }).aggregate({ n: { op: "count" } })`. */
  groupBy(...columns: readonly GroupColumn[]): GroupBy {
    return new GroupBy(this.#transport, this.slug, columns);
  }

  /**
   * A whole version: to a path (Node), which must not exist, or into a stream, which is closed at the end. It costs as many
   * credits as the dataset has rows. What breaks off goes on, also in a later call with the same path, and is paid once.
   */
  async download(target: string | WritableStream<Uint8Array>, options: DownloadOptions = {}): Promise<DownloadResult> {
    return download(this.#transport, this.slug, target, options);
  }

  async #read<Id extends keyof api.OperationTypes>(id: Id, options: Options<Id>): Promise<api.OperationTypes[Id]["data"]> {
    const [query, call] = split(options);
    return this.#transport.data(id, { path: { slug: this.slug }, query: query as Input["query"] }, call);
  }
}
