// Removes folders that a build makes, so that no file of an earlier build is packed or tested.

import { rmSync } from "node:fs";

for (const folder of process.argv.slice(2)) rmSync(new URL(`../${folder}`, import.meta.url), { recursive: true, force: true });
