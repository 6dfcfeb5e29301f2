/**
 * Reads JSON without losing digits.
 *
 * The server prints integers of any size and decimals exactly. `JSON.parse` rounds what a double cannot hold, so texts with long
 * numbers are read here. Knows no answers and no rows.
 */

/** `native`: numbers, and `bigint` for integers beyond ±(2^53 − 1). `text`: every number as the text that the server printed. */
export type Numbers = "native" | "text";

/** Levels of lists and objects in each other. Answers have fewer than ten. */
const DEPTH_MAX = 100;
/** No integer of fewer digits is beyond ±(2^53 − 1). */
const LONG_NUMBER = /\d{16}/;
const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const INTEGER = /^-?\d+$/;

/** The value of a text. Throws a `SyntaxError`. */
export function parseJson(text: string, numbers: Numbers = "native"): unknown {
  if (numbers === "native" && !LONG_NUMBER.test(text)) return JSON.parse(text);
  return new Reader(text, numbers).document();
}

class Reader {
  #at = 0;

  constructor(
    private readonly text: string,
    private readonly numbers: Numbers,
  ) {}

  document(): unknown {
    const value = this.#value(0);
    this.#match(SPACE);
    return this.#at === this.text.length ? value : this.#refuse();
  }

  #value(depth: number): unknown {
    if (depth > DEPTH_MAX) this.#refuse();
    this.#match(SPACE);
    switch (this.text[this.#at]) {
      case "{":
        return this.#object(depth + 1);
      case "[":
        return this.#list(depth + 1);
      case '"':
        return this.#string();
      case "t":
      case "f":
      case "n":
        return JSON.parse(this.#match(WORD) || this.#refuse());
      default:
        return numberOf(this.#match(NUMBER) || this.#refuse(), this.numbers);
    }
  }

  #object(depth: number): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    this.#at += 1;
    if (this.#takes("}")) return members;
    do {
      this.#match(SPACE);
      if (this.text[this.#at] !== '"') this.#refuse();
      const name = this.#string();
      if (!this.#takes(":")) this.#refuse();
      const value = this.#value(depth);
      // A plain assignment to this name would change the prototype.
      if (name === "__proto__") Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
      else members[name] = value;
    } while (this.#takes(","));
    return this.#takes("}") ? members : this.#refuse();
  }

  #list(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    if (this.#takes("]")) return items;
    do items.push(this.#value(depth));
    while (this.#takes(","));
    return this.#takes("]") ? items : this.#refuse();
  }

  /** From quote to quote; `JSON.parse` reads the escapes. */
  #string(): string {
    const begin = this.#at;
    let end = begin;
    do {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) this.#refuse();
    } while (this.#isEscaped(end));
    this.#at = end + 1;
    return JSON.parse(this.text.slice(begin, end + 1)) as string;
  }

  #isEscaped(at: number): boolean {
    let slashes = 0;
    while (this.text[at - 1 - slashes] === "\\") slashes += 1;
    return slashes % 2 === 1;
  }

  #takes(sign: string): boolean {
    this.#match(SPACE);
    if (this.text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #refuse(): never {
    throw new SyntaxError(`not JSON at character ${this.#at}`);
  }
}

function numberOf(token: string, numbers: Numbers): string | number | bigint {
  if (numbers === "text") return token;
  const value = Number(token);
  return INTEGER.test(token) && !Number.isSafeInteger(value) ? BigInt(token) : value;
}
