/** Groups of a dataset's rows, which become a query with their aggregates. Knows no pages: groups are read, paid and streamed as rows are. */

import type * as api from "./generated.js";
import { Query } from "./query.js";
import type { PagedQueryOptions } from "./query.js";
import { Question } from "./question.js";
import type { Row } from "./question.js";
import { snapshot } from "./snapshot.js";
import type { Json, Loose } from "./snapshot.js";
import type { Transport } from "./transport.js";

/** A column whose values make groups: its name, or an object that takes it by periods (`by`) or in buckets (`width`). */
export type GroupColumn = api.GroupBy[number];

/** Aggregates by the name that they have in the answer. */
export type Aggregates = Readonly<api.Aggregates>;

/** The requested groups. `filters` choose the rows, `having` and `sortBy` name columns of the answer. */
export interface GroupOptions extends Omit<PagedQueryOptions, "columns"> {
  /** Conditions by column of the answer; all must hold. Estimates leave them out, so that a price beside them is a bound. */
  readonly having?: Loose<api.Filter> | null | undefined;
}

/** Groups that await their aggregates. */
export class GroupBy {
  readonly #transport: Transport;
  readonly #slug: string;
  readonly #columns: Json;
  readonly #isOfAll: boolean;

  constructor(transport: Transport, slug: string, columns: readonly GroupColumn[]) {
    this.#transport = transport;
    this.#slug = slug;
    this.#columns = snapshot(columns, "groupBy");
    this.#isOfAll = columns.length === 0;
  }

  /**
   * A query with a row for each group: its columns, then the aggregates. A group costs one credit. Without aggregates it has the
   * distinct combinations; without columns in `groupBy`, one row.
   */
  aggregate<T extends Row = Row>(aggregates: Aggregates = {}, options: GroupOptions = {}): Query<T> {
    const isDistinct = Object.keys(aggregates).length === 0;
    // Without both the server would answer, and sell, rows.
    if (isDistinct && this.#isOfAll) throw new TypeError("aggregate: expected an aggregate, or a column in groupBy");
    const groups = {
      groupBy: this.#isOfAll ? undefined : this.#columns,
      aggregates: isDistinct ? undefined : aggregates,
      having: options.having,
    };
    return new Query<T>(this.#transport, new Question(this.#slug, options, groups), options.pageSize);
  }
}
