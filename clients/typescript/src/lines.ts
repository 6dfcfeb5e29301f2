/** Cuts pieces of bytes into lines of text. Knows no rows. */

import { IntegrityError } from "./errors.js";

/** Characters of one line. A row is far shorter. */
const LINE_CHARACTERS_MAX = 64 << 20;

/** Every whole line, without its end. What follows the last line end is no line. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string[], void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LINE_CHARACTERS_MAX) throw new IntegrityError(`a line is longer than ${LINE_CHARACTERS_MAX} characters`);
    if (lines.length > 0) yield lines;
  }
}
