/** Node: files, checksums over any length, and a name for the server's log. */

import { createHash, webcrypto } from "node:crypto";
import { constants } from "node:fs";
import { link, lstat, open, rename, unlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";

import { FileExistsError } from "./errors.js";
import { sleep } from "./platform.js";
import type { Destination, Platform, RemoteFile } from "./platform.js";

/** Bytes that are read at once for a checksum. */
const PIECE_BYTES = 1 << 20;
/** Characters of the entity tag's hash in the name of an unfinished file. */
const NAME_DIGITS = 16;
/** File systems without hard links say one of these. */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

export const nodePlatform: Platform = {
  headers: { "User-Agent": "mercato-client-typescript" },
  async checkPath(path) {
    if (await isThere(path)) throw exists(path);
  },
  openPath,
  async sha256(pieces) {
    const hash = createHash("sha256");
    for (const piece of pieces) hash.update(piece);
    return hash.digest("base64");
  },
  randomBytes: (count) => webcrypto.getRandomValues(new Uint8Array(count)),
  random: Math.random,
  now: Date.now,
  sleep,
};

/**
 * Bytes arrive in a file beside the target, which gets its name only when it is whole. The name of that file holds the entity
 * tag, so bytes of different content never meet.
 */
async function openPath(path: string, file: RemoteFile, resume: boolean): Promise<Destination> {
  const tag = createHash("sha256").update(file.etag).digest("hex").slice(0, NAME_DIGITS);
  const partial = `${path}.${tag}.part`;
  if (!resume) await unlink(partial).catch(unless("ENOENT"));
  // Never through a symbolic link that somebody else may have put there.
  const flags = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);
  const handle = await open(partial, flags, 0o666);
  try {
    return new FileDestination(path, partial, handle, (await handle.stat()).size);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

class FileDestination implements Destination {
  constructor(
    private readonly path: string,
    private readonly partial: string,
    private readonly handle: FileHandle,
    public bytes: number,
  ) {}

  async write(piece: Uint8Array): Promise<void> {
    let done = 0;
    while (done < piece.length) {
      const { bytesWritten } = await this.handle.write(piece, done, piece.length - done, this.bytes);
      done += bytesWritten;
      this.bytes += bytesWritten;
    }
  }

  async clear(): Promise<void> {
    await this.handle.truncate(0);
    this.bytes = 0;
  }

  async sha256(): Promise<string> {
    const hash = createHash("sha256");
    const piece = new Uint8Array(PIECE_BYTES);
    for (let at = 0; at < this.bytes; ) {
      const { bytesRead } = await this.handle.read(piece, 0, PIECE_BYTES, at);
      if (bytesRead === 0) break;
      hash.update(piece.subarray(0, bytesRead));
      at += bytesRead;
    }
    return hash.digest("base64");
  }

  async finish(): Promise<void> {
    await this.handle.sync();
    await this.handle.close();
    try {
      // Unlike a rename, a link never replaces a file that appeared meanwhile.
      await link(this.partial, this.path);
      await unlink(this.partial);
    } catch (error) {
      if (codeOf(error) === "EEXIST") throw exists(this.path);
      if (!NO_LINKS.has(codeOf(error))) throw error;
      await this.#moveWithoutLinks();
    }
  }

  async #moveWithoutLinks(): Promise<void> {
    const placeholder = await open(this.path, "wx").catch((error: unknown) => {
      throw codeOf(error) === "EEXIST" ? exists(this.path) : error;
    });
    await placeholder.close();
    await rename(this.partial, this.path);
  }

  async abandon(_error: unknown, keep: boolean): Promise<void> {
    await this.handle.close();
    if (!keep || this.bytes === 0) await unlink(this.partial).catch(unless("ENOENT"));
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function exists(path: string): FileExistsError {
  return new FileExistsError(`${path}: is there already; a download replaces no file`);
}

function unless(code: string): (error: unknown) => void {
  return (error) => {
    if (codeOf(error) !== code) throw error;
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
