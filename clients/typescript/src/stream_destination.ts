/** A `WritableStream` as the destination of a download. */

import type { Destination, Platform } from "./platform.js";

/** Bytes that are kept for a checksum. The server names checksums of files of at most 1 MiB. */
const CHECKED_BYTES_MAX = 8 << 20;

export class StreamDestination implements Destination {
  bytes = 0;
  /** `null` once the file is too long to be kept. */
  #kept: Uint8Array[] | null = [];
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;

  constructor(
    stream: WritableStream<Uint8Array>,
    private readonly platform: Platform,
  ) {
    this.#writer = stream.getWriter();
  }

  async write(piece: Uint8Array): Promise<void> {
    await this.#writer.ready;
    await this.#writer.write(piece);
    this.bytes += piece.length;
    if (this.bytes > CHECKED_BYTES_MAX) this.#kept = null;
    this.#kept?.push(piece.slice());
  }

  async sha256(): Promise<string | null> {
    return this.#kept === null ? null : this.platform.sha256(this.#kept);
  }

  async finish(): Promise<void> {
    await this.#writer.close();
  }

  async abandon(error: unknown): Promise<void> {
    // The stream may be the one that failed.
    await this.#writer.abort(error).catch(() => undefined);
  }
}
