/** The client: the catalogue and the account. Datasets have a class of their own. */

import { Dataset } from "./dataset.js";
import type { Options } from "./dataset.js";
import type * as api from "./generated.js";
import { Listing, split } from "./listing.js";
import type { Platform } from "./platform.js";
import type { Row } from "./question.js";
import { Transport } from "./transport.js";
import type { ClientOptions } from "./transport.js";

/** An entry of the list of tags. */
export type Tag = api.TagList["results"][number];

export abstract class BaseClient {
  readonly #transport: Transport;

  constructor(baseUrl: string | URL, options: ClientOptions, platform: Platform) {
    this.#transport = new Transport(baseUrl, options, platform);
  }

  /** The address of the server, without `/api/v1`. */
  get baseUrl(): string {
    return this.#transport.baseUrl;
  }

  /** Datasets about a subject, the best first. */
  search(q: string, options: Omit<Options<"searchDatasets">, "q"> = {}): Listing<api.SearchItem, api.SearchList> {
    const [parameters, call] = split(options);
    const read = (offset: number | undefined) =>
      this.#transport.data("searchDatasets", { query: { q, ...parameters, offset } }, call);
    return new Listing(read, options.offset);
  }

  /** All datasets. */
  datasets(options: Options<"listDatasets"> = {}): Listing<api.Item, api.DatasetList> {
    const [parameters, call] = split(options);
    const read = (offset: number | undefined) => this.#transport.data("listDatasets", { query: { ...parameters, offset } }, call);
    return new Listing(read, options.offset);
  }

  /** All tags with the number of their datasets. */
  tags(options: Options<"listTags"> = {}): Listing<Tag, api.TagList> {
    const [parameters, call] = split(options);
    const read = (offset: number | undefined) => this.#transport.data("listTags", { query: { ...parameters, offset } }, call);
    return new Listing(read, options.offset);
  }

  /** A dataset by its slug. Nothing is sent. `T` is the type of its rows, if you know it. */
  dataset<T extends Row = Row>(slug: string): Dataset<T> {
    return new Dataset<T>(this.#transport, slug);
  }

  /** All datasets and their relations, as `d3.forceLink` takes them. */
  async graph(options: Options<"getRelationGraph"> = {}): Promise<api.Graph> {
    const [query, call] = split(options);
    return this.#transport.data("getRelationGraph", { query }, call);
  }

  /** Plan, credits, request limits and keys of the account. Needs a key. */
  async account(options: Options<"getAccount"> = {}): Promise<api.Account> {
    const [query, call] = split(options);
    return this.#transport.data("getAccount", { query }, call);
  }

  /** The usage of the account, by day and dataset. Needs a key. */
  async usage(options: Options<"getUsage"> = {}): Promise<api.Usage> {
    const [query, call] = split(options);
    return this.#transport.data("getUsage", { query }, call);
  }

  /** The client in logs and JSON: never with its key. */
  toJSON(): { readonly baseUrl: string } {
    return { baseUrl: this.baseUrl };
  }
}
