#!/usr/bin/env bash
# Packs both clients and installs them into empty environments, as their READMEs say.
#
#     tests/packages/clients.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

packaging/build.sh wheel
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet dist/mercato-*.whl
[[ $("$folder/venv/bin/mercato-client" --version) == "mercato-client $version" ]]
[[ ! -e $folder/venv/bin/mercato ]] || { echo "the client hides the server's program"; exit 1; }
"$folder/venv/bin/python" -c "import mercato; assert mercato.__version__ == '$version', mercato.__version__"

packaging/build.sh npm
mkdir "$folder/npm"
echo '{"private": true, "type": "module"}' >"$folder/npm/package.json"
package=$(realpath dist/mercato-client-*.tgz)
(cd "$folder/npm" && npm install --silent --no-audit --no-fund "$package")
cat >"$folder/npm/check.mjs" <<'END'
import { readFileSync } from "node:fs";
import { Client } from "@mercato/client";
new Client("http://127.0.0.1:1").dataset("sales");
console.log(JSON.parse(readFileSync("node_modules/@mercato/client/package.json", "utf8")).version);
END
[[ $(cd "$folder/npm" && node check.mjs) == "$version" ]]
(cd dist && ls -l mercato-*.whl mercato-client-*.tgz)
