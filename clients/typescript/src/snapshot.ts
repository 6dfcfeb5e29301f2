/**
 * Copies what a caller asks for, so that a later change of the caller's objects does not change the next page, and refuses what
 * JSON would silently turn into another question. Knows no fields.
 */

/** A value that JSON can carry. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** A value of a filter: integers of any size, and dates, are sent as text. */
export type Loose<T> = T extends number
  ? number | bigint
  : T extends string
    ? string | Date
    : T extends ReadonlyArray<infer Item>
      ? ReadonlyArray<Loose<Item>>
      : T extends object
        ? { readonly [Name in keyof T]: Loose<T[Name]> }
        : T;

/** Levels of lists and objects in each other; the server takes fewer. */
const DEPTH_MAX = 32;

/**
 * A copy as JSON has it. Refuses `undefined` and what is not finite: the one would drop a condition, the other would turn it
 * into `null`, and both would buy other rows than those that were meant.
 */
export function snapshot(value: unknown, place: string, depth = 0): Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "bigint":
      return value.toString();
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${place}: ${value} is no JSON number; {"isNaN": true} and {"isFinite": false} find such values`);
      return value;
    case "object":
      break;
    default:
      throw new TypeError(`${place}: ${typeof value} cannot be sent`);
  }
  if (value === null) return null;
  if (depth >= DEPTH_MAX) throw new TypeError(`${place}: more than ${DEPTH_MAX} levels`);
  if (Object.prototype.toString.call(value) === "[object Date]") return dateText(value as Date, place);
  if (Array.isArray(value)) return Array.from(value, (item, index) => snapshot(item, `${place}/${index}`, depth + 1));
  if (!isPlain(value)) throw new TypeError(`${place}: expected a plain object`);
  const members = Object.entries(value).map(([name, member]) => [name, snapshot(member, `${place}/${name}`, depth + 1)] as const);
  return Object.fromEntries(members);
}

/** Objects of another realm, as in an iframe, have another `Object.prototype`. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function dateText(date: Date, place: string): string {
  if (Number.isNaN(date.getTime())) throw new TypeError(`${place}: an invalid date`);
  return date.toISOString();
}
