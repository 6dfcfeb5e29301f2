/** The entry for browsers, workers and other places with Web APIs. */

import { BaseClient } from "./base_client.js";
import { browserPlatform } from "./browser_platform.js";
import type { ClientOptions } from "./transport.js";

export * from "./surface.js";

/** A marketplace. `new Client("https://data.example.org", { apiKey: "mk_…" })`; what needs no key works without one. */
export class Client extends BaseClient {
  constructor(baseUrl: string | URL, options: ClientOptions = {}) {
    super(baseUrl, options, browserPlatform);
  }
}
