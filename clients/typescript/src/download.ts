/**
 * Downloads of whole versions. Version and entity tag are pinned before the first paid byte; every request names both, so a part
 * of another file is never appended. What breaks off goes on by range and is paid once; a file without ranges begins anew.
 */

import type { Answer } from "./answer.js";
import { CostLimitError, IntegrityError, cutShort } from "./errors.js";
import type { Estimate, OperationTypes } from "./generated.js";
import type { Destination, RemoteFile } from "./platform.js";
import { StreamDestination } from "./stream_destination.js";
import { checkedIdempotencyKey } from "./transport.js";
import type { CallOptions, Prepared, Transport } from "./transport.js";

/** The formats that the server offers. */
export type DownloadFormat = NonNullable<OperationTypes["downloadDataset"]["query"]["format"]>;

export interface DownloadOptions extends CallOptions {
  /** Default: `csv`. */
  readonly format?: DownloadFormat | undefined;
  /** One of the versions that the dataset's header lists; without it the current one. */
  readonly version?: string | undefined;
  /** Credits at most. A download that costs more is refused before it is sent. */
  readonly maxCredits?: number | undefined;
  /** Whether the bytes that an earlier download to the same path left are used. Default: true. */
  readonly resume?: boolean | undefined;
  /** Called with each piece that is written. */
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
  /** Makes a repetition of the whole free of a second charge, within 24 hours. */
  readonly idempotencyKey?: string | undefined;
}

export interface DownloadProgress {
  /** Bytes that are there, those of an earlier download included. */
  readonly bytes: number;
  /** 0 for Arrow and Excel, whose length is known at the end. */
  readonly totalBytes: number;
}

export interface DownloadResult {
  readonly bytes: number;
  readonly version: string;
  /** Bytes that an earlier download had left. */
  readonly resumedAt: number;
  /** The check that passed: the checksum where the server names one, else the length, or the proper end of a file without one. */
  readonly checked: "end" | "length" | "sha-256";
}

/** Facts of the whole file, which every part repeats. */
interface Part {
  /** `null` for a file without ranges: it comes whole, and ends where its answer ends properly. */
  readonly totalBytes: number | null;
  /** SHA-256 in Base64, where the server names it. */
  readonly sha256: string | null;
  /** Whether nothing is left to read. */
  readonly isEnd: boolean;
}

/** Brings a version to a path or into a stream. */
export async function download(
  transport: Transport,
  slug: string,
  target: string | WritableStream<Uint8Array>,
  options: DownloadOptions,
): Promise<DownloadResult> {
  checkedIdempotencyKey(options.idempotencyKey);
  if (typeof target === "string") await transport.platform.checkPath(target);
  const file = await new Download(transport, slug, options).pin();
  return file.into(target);
}

class Download {
  readonly #call: CallOptions;

  constructor(
    private readonly transport: Transport,
    private readonly slug: string,
    private readonly options: DownloadOptions,
  ) {
    this.#call = { signal: options.signal, timeoutMs: options.timeoutMs };
  }

  /** Asks which file it is, and refuses one that is too dear. Free of credits. */
  async pin(): Promise<PinnedDownload> {
    // Nobody holds "*" in vain: the answer is 304 with the tag of the file, and an error still has its body, unlike that of HEAD.
    const request = this.#request(this.options.version, { "If-None-Match": "*" }, undefined);
    const answer = await this.transport.run(request, async (named) => {
      await named.close();
      return named;
    });
    const [etag, version] = [answer.header("ETag"), answer.header("X-Dataset-Version")];
    if (answer.status !== 304 || etag === null || version === null) throw new IntegrityError("the server does not name the file");
    await this.#checkPrice(version);
    // One key for all parts: together they cost the file once.
    const key = this.options.idempotencyKey ?? this.transport.newIdempotencyKey();
    return new PinnedDownload(this.transport, { etag, version }, this.options, (from) =>
      this.transport.once(this.#request(version, { Range: `bytes=${from}-`, "If-Match": etag }, key)));
  }

  async #checkPrice(version: string): Promise<void> {
    const { maxCredits } = this.options;
    if (maxCredits === undefined) return;
    const input = { path: { slug: this.slug }, body: { for: "download", version } };
    const { creditsRequired }: Estimate = await this.transport.data("estimateQuery", input, this.#call);
    if (creditsRequired <= maxCredits) return;
    const message = `the download costs ${creditsRequired} credits, more than maxCredits ${maxCredits}; nothing was charged`;
    throw new CostLimitError(message, creditsRequired, maxCredits);
  }

  /** Always for a range, because a range and its tag are those of the plain file, never of an encoded one. */
  #request(version: string | undefined, headers: Readonly<Record<string, string>>, idempotencyKey: string | undefined): Prepared {
    const query = { format: this.options.format ?? "csv", version };
    const ranged = { Range: "bytes=0-", ...headers };
    const input = { path: { slug: this.slug }, query, headers: ranged, idempotencyKey, expected: [304, 416] };
    return this.transport.prepare("downloadDataset", input, this.#call);
  }
}

/** A file that cannot change any more. */
class PinnedDownload {
  /** Whether the server sends the file only as a whole. */
  #comesWhole = false;

  constructor(
    private readonly transport: Transport,
    private readonly file: RemoteFile,
    private readonly options: DownloadOptions,
    private readonly open: (from: number) => Promise<Answer>,
  ) {}

  async into(target: string | WritableStream<Uint8Array>): Promise<DownloadResult> {
    const { platform } = this.transport;
    const destination = typeof target === "string"
      ? await platform.openPath(target, this.file, this.options.resume ?? true)
      : new StreamDestination(target, platform);
    const found = destination.bytes;
    try {
      const checked = await this.#filled(destination);
      await destination.finish();
      const resumedAt = this.#comesWhole ? 0 : found;
      return { bytes: destination.bytes, version: this.file.version, resumedAt, checked };
    } catch (error) {
      // Bytes that do not fit the file, or that begin anew, are of no use to a later download.
      await destination.abandon(error, !this.#comesWhole && !(error instanceof IntegrityError));
      throw error;
    }
  }

  /** Fetches what is missing, part by part, and checks the whole. */
  async #filled(destination: Destination): Promise<DownloadResult["checked"]> {
    for (let made = 0; ; made += 1) {
      const before = destination.bytes;
      try {
        const part = await this.#part(destination);
        return await this.#checked(destination, part);
      } catch (error) {
        if (destination.bytes > before) made = 0;
        // What went into a stream cannot be taken back.
        if (this.#comesWhole && destination.bytes > 0 && destination.clear === undefined) throw error;
        await this.transport.pause(made, error, this.options.signal);
      }
    }
  }

  /** From the first missing byte to the end. */
  async #part(destination: Destination): Promise<Part> {
    const from = this.#comesWhole ? 0 : destination.bytes;
    const answer = await this.open(from);
    try {
      const part = partOf(answer, from, this.file);
      if (part.isEnd) return part;
      this.#comesWhole = part.totalBytes === null;
      if (this.#comesWhole && destination.bytes > 0) await destination.clear?.();
      const { totalBytes } = part;
      for await (const piece of answer.pieces()) {
        if (totalBytes !== null && destination.bytes + piece.length > totalBytes) throw new IntegrityError(`more than the ${totalBytes} bytes of the file arrived`);
        await destination.write(piece);
        this.options.onProgress?.({ bytes: destination.bytes, totalBytes: totalBytes ?? 0 });
      }
      if (totalBytes !== null && destination.bytes < totalBytes) throw cutShort("the download");
      return part;
    } finally {
      await answer.close();
    }
  }

  async #checked(destination: Destination, part: Part): Promise<DownloadResult["checked"]> {
    const found = part.sha256 === null ? null : await destination.sha256();
    if (found === null) return part.totalBytes === null ? "end" : "length";
    if (found !== part.sha256) throw new IntegrityError(`SHA-256 of the file is ${found}, the server says ${part.sha256}`);
    return "sha-256";
  }
}

/** The headers of a part. Throws where it may not be appended. */
function partOf(answer: Answer, from: number, file: RemoteFile): Part {
  const found = answer.header("Content-Range");
  // No byte lies behind the last one: an earlier download had them all, or the file has none.
  if (answer.status === 416 && found === `bytes */${from}`) return { totalBytes: from, sha256: null, isEnd: true };
  if (answer.header("ETag") !== file.etag) throw new IntegrityError(`expected the file ${file.etag}, found ${answer.header("ETag")}`);
  if (answer.status === 200 && answer.header("Accept-Ranges") === "none") return { totalBytes: null, sha256: null, isEnd: false };
  if (answer.status !== 206) throw new IntegrityError(`expected a part of the file (206), found status ${answer.status}`);
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(found ?? "");
  if (range === null || Number(range[1]) !== from || Number(range[2]) + 1 !== Number(range[3])) {
    throw new IntegrityError(`asked for the bytes from ${from}, found \`${found}\``);
  }
  const digest = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):/.exec(answer.header("Repr-Digest") ?? "");
  return { totalBytes: Number(range[3]), sha256: digest?.[1] ?? null, isEnd: false };
}
