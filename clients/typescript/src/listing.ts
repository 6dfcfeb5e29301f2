/** A list of the catalogue that continues over its pages. Knows no rows and no credits. */

import type { CallOptions } from "./transport.js";

/** Fields of every page of a list. */
export interface ListPage<Item> {
  readonly results: readonly Item[];
  /** The offset of the next page; `null` on the last one. */
  readonly nextOffset: number | null;
}

/** A list. Nothing is sent before it is read. */
export class Listing<Item, Page extends ListPage<Item>> implements AsyncIterable<Item> {
  constructor(
    private readonly read: (offset: number | undefined) => Promise<Page>,
    private readonly offset: number | undefined,
  ) {}

  /** The first page with all that it says, such as `total`. */
  async page(): Promise<Page> {
    return this.read(this.offset);
  }

  /** Page by page. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    for (let offset = this.offset; ; ) {
      const page = await this.read(offset);
      yield page;
      if (page.nextOffset === null) return;
      offset = page.nextOffset;
    }
  }

  /** Entry by entry. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.results;
  }

  /** The first `limit` entries. */
  async toArray({ limit }: { readonly limit: number }): Promise<Item[]> {
    const found: Item[] = [];
    if (limit <= 0) return found;
    for await (const item of this) {
      found.push(item);
      if (found.length >= limit) break;
    }
    return found;
  }
}

/** Splits the options of a call from those that are parameters of the request. */
export function split<Options extends CallOptions>(options: Options): [Omit<Options, keyof CallOptions>, CallOptions] {
  const { signal, timeoutMs, ...parameters } = options;
  return [parameters, { signal, timeoutMs }];
}
