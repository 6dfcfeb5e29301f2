#!/usr/bin/env bash
# Installs the Debian package into an empty root, follows docs/FIRST_DAY.md there word for word, and purges the package.
#
#     tests/packages/debian.sh dist/mercato_*.deb
#
# Needs root and mmdebstrap. The root has no network but its own loopback, and no systemd that runs: a `systemctl` of the test
# starts what the units say, as their users.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

package=$(realpath "$1")
root=$(mktemp -d "${TMPDIR:-/tmp}/mercato-debian.XXXXXX")
trap 'rm -rf "$root"' EXIT
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mmdebstrap --quiet --variant=minbase --include=systemd,prometheus,curl,iproute2 "$release" "$root"
mkdir "$root/test"
cp "$package" "$root/test"
cp docs/FIRST_DAY.md tests/packages/{inside.sh,systemctl} docs/grafana/mercato.json "$root/test"
unshare --mount --pid --net --fork --kill-child --root="$root" --wd=/test bash inside.sh
# Grafana's part of the page: the panels, with the figures of that Prometheus.
python3 tests/packages/panels.py "$root/test/panels.json"
