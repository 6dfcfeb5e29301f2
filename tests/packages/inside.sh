#!/usr/bin/env bash
# The part of debian.sh that runs inside the root.
set -euo pipefail
mount -t proc proc /proc
ip link set lo up
install systemctl /usr/local/bin/systemctl

# The page, one command after the other in one shell.
sed -n '/^```sh$/,/^```$/{/^```/!p}' FIRST_DAY.md >page.sh
grep -c . page.sh
bash -euxo pipefail page.sh >page.log 2>&1 || { cat page.log /run/*.log; exit 1; }

# What the page promises of its commands' output.
said() { grep -q -- "$1" page.log || { cat page.log; echo "FIRST_DAY.md: no line with $1"; exit 1; }; }
said '"rowsReturned":2'
said '"alerts":\[\]'
[[ $(grep -c '^{} => 1\|=> 1 @' page.log) -ge 2 ]] || { cat page.log; echo "FIRST_DAY.md: Prometheus has no server that is up"; exit 1; }
ls /var/backups/mercato/ledger-*.backup

systemd-analyze verify --man=no /lib/systemd/system/mercato.service
[[ $(stat -c %U:%G:%a /var/lib/mercato) == mercato:mercato:750 ]]
[[ $(stat -c %U:%G:%a /etc/mercato) == root:mercato:750 ]]
for file in man/man1/mercato-serve.1.gz man/man1/mercato-tools-publish.1.gz bash-completion/completions/mercato \
    zsh/vendor-completions/_mercato-tools fish/vendor_completions.d/mercato.fish mercato/grafana/mercato.json; do
    [[ -s /usr/share/$file ]] || { echo "not in the package: $file"; exit 1; }
done
bash -n /usr/share/bash-completion/completions/mercato-tools

# What the dashboard would show.
curl --silent --get http://127.0.0.1:9090/api/v1/label/__name__/values >names.json
while IFS= read -r expression; do
    curl --silent --fail --get http://127.0.0.1:9090/api/v1/query --data-urlencode "query=$expression"
    echo
done <<<"$(sed -n 's/^ *"expr": "\(.*\)",$/\1/p' mercato.json | sed 's/\\"/"/g; s/\$__rate_interval/1m/g; s/\$instance/.*/g')" >panels.json

systemctl stop mercato
apt-get purge -y -q mercato >purge.log
[[ -s /var/lib/mercato/ledger/log/0000000001.log ]]
[[ ! -e /usr/bin/mercato && ! -e /etc/mercato/mercato.toml && ! -e /lib/systemd/system/mercato.service ]]
grep 'is left as it is' purge.log
