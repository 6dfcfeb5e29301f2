#!/usr/bin/env bash
# Checks packaging/Dockerfile, builds its last stage from the Debian package on a base image of mmdebstrap, and starts the image.
#
#     tests/packages/image.sh dist/mercato_*.deb
#
# Needs root, buildah and mmdebstrap, and no registry of images: the first stage, which compiles, is left to the package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

package=$(realpath "$1")
folder=$(mktemp -d "${TMPDIR:-/tmp}/mercato-image.XXXXXX")
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot BUILDAH_FORMAT=docker
buildah() { command buildah --root "$folder/storage" --runroot "$folder/run" "$@"; }
trap 'buildah rm --all >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT

! command -v hadolint >/dev/null || hadolint packaging/Dockerfile
mmdebstrap --quiet --variant=minbase bookworm "$folder/base.tar"
base=$(buildah from scratch)
buildah add --quiet "$base" "$folder/base.tar" / >/dev/null
buildah commit --quiet "$base" docker.io/library/debian:bookworm-slim >/dev/null

mkdir -p "$folder/build/dist"
cp "$package" "$folder/build/dist"
sed -n '/^FROM debian/,$p' packaging/Dockerfile >"$folder/Dockerfile"
buildah bud --quiet --pull-never --build-context "build=$folder/build" --file "$folder/Dockerfile" --tag mercato "$folder/build"
buildah inspect --type image mercato >"$folder/image.json"
python3 - "$folder/image.json" <<'END'
import json, sys
config = json.load(open(sys.argv[1]))["Docker"]["config"]
assert config["User"] == "10001" and config["Volumes"] == {"/var/lib/mercato": {}}, config
assert config["Healthcheck"]["Test"][:2] == ["CMD", "curl"], config
assert set(config["ExposedPorts"]) == {"8080/tcp", "9464/tcp"}, config
print("\n".join(config["Entrypoint"]), file=open(f"{sys.argv[1]}.entrypoint", "w"))
print("\n".join(config["Healthcheck"]["Test"][1:]), file=open(f"{sys.argv[1]}.health", "w"))
END

# Started as its configuration says, in a network of its own.
mapfile -t entrypoint <"$folder/image.json.entrypoint"
mapfile -t health <"$folder/image.json.health"
container=$(buildah from --pull-never mercato)
inside() { buildah run --user 10001 "$container" -- "$@"; }
# The process of that name among the descendants of another.
named() {
    local process
    for process in $(pgrep --parent "$2"); do
        if [[ $(cat "/proc/$process/comm") == "$1" ]]; then echo "$process"; else named "$1" "$process"; fi
    done
}
start() {
    ip link set lo up
    inside "${entrypoint[@]}" >"$folder/log" 2>&1 &
    local server=$!
    for _ in $(seq 60); do
        inside "${health[@]}" 2>/dev/null && break
        kill -0 "$server" 2>/dev/null || break
        sleep 0.5
    done
    inside "${health[@]}" || { cat "$folder/log"; return 1; }
    curl --silent --fail http://127.0.0.1:9464/metrics | grep '^mercato_ledger_serving 1$'
    inside mercato-tools account create --name ACME --data /var/lib/mercato
    kill -TERM "$(named mercato "$server")"
    wait "$server"
    grep '"message":"stopped"' "$folder/log"
}
# Both parts are functions of this script, so the shell in that network is told of them.
unshare --net bash -euo pipefail -c "$(declare -p entrypoint health container folder); $(declare -f buildah inside named start); start"
mounted=$(buildah mount "$container")
size=$(du -s --block-size=1M "$mounted" | cut -f 1)
printf 'image: %d MiB, of which the base is %d\n' "$size" "$(($(stat -c %s "$folder/base.tar") >> 20))"
