/** The differences between Node and browsers, which tests replace too: files, checksums, randomness, time. */

/** A file on the server, pinned before the first paid byte. */
export interface RemoteFile {
  /** The strong entity tag: other content, format or version has another tag. */
  readonly etag: string;
  readonly version: string;
}

/** The target of the bytes of a download. */
export interface Destination {
  /** Bytes that are there already. */
  readonly bytes: number;
  /** Appends a piece. */
  write(piece: Uint8Array): Promise<void>;
  /** Forgets all bytes, where that is possible. */
  clear?(): Promise<void>;
  /** SHA-256 of all bytes in Base64; `null` where nobody can compute it. */
  sha256(): Promise<string | null>;
  /** Publishes what was checked. */
  finish(): Promise<void>;
  /** Ends without a result. `keep` says whether the bytes are good for a later resumption. */
  abandon(error: unknown, keep: boolean): Promise<void>;
}

export interface Platform {
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Throws where the platform has no files, or a `FileExistsError`, before anything is asked of the server. */
  checkPath(path: string): Promise<void>;
  /** The part of the file that an earlier download left, or a new one. */
  openPath(path: string, file: RemoteFile, resume: boolean): Promise<Destination>;
  /** SHA-256 of a text's or file's bytes in Base64; `null` where the platform offers none. */
  sha256(pieces: readonly Uint8Array[]): Promise<string | null>;
  /** Cryptographically random bytes. */
  randomBytes(count: number): Uint8Array;
  /** In [0, 1), for jitter. */
  random(): number;
  /** Milliseconds since 1970. */
  now(): number;
  /** Throws the signal's reason as soon as it is aborted. */
  sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
}

/** Shared by both platforms. */
export function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Base64 without Node's `Buffer`. */
export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
