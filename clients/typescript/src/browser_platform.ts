/** Browsers and other places with Web APIs only. Downloads go into a `WritableStream`. */

import { base64, sleep } from "./platform.js";
import type { Platform } from "./platform.js";

export const browserPlatform: Platform = {
  // A header of our own would have to be allowed by the server's preflight.
  headers: {},
  async checkPath() {
    throw new TypeError("download: paths need Node; give a WritableStream here");
  },
  async openPath() {
    throw new TypeError("download: paths need Node; give a WritableStream here");
  },
  async sha256(pieces) {
    // Pages without TLS have no digests; the length is compared in any case.
    if (globalThis.crypto.subtle === undefined) return null;
    const whole = new Uint8Array(await new Blob([...pieces] as BlobPart[]).arrayBuffer());
    return base64(new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", whole)));
  },
  randomBytes: (count) => globalThis.crypto.getRandomValues(new Uint8Array(count)),
  random: Math.random,
  now: Date.now,
  sleep,
};
