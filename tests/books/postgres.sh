#!/usr/bin/env bash
# Starts a PostgreSQL server in a temporary directory and runs a command beside it; without one, the tests of the books:
# once, and once more where every transaction is serializable.
#
#     tests/books/postgres.sh
#     tests/books/postgres.sh cargo test --workspace --test books claims::
#
# Needs PostgreSQL 13 or newer (Debian: apt-get install postgresql). The command finds the server in MERCATO_TEST_POSTGRES.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

main() {
    local programs owner=()
    programs=$(find_programs)
    folder=$(mktemp -d "${TMPDIR:-/tmp}/mercato-postgres.XXXXXX")
    trap stop EXIT
    # PostgreSQL refuses to run as root.
    if [[ $(id -u) == 0 ]]; then
        owner=(env --chdir=/ setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$folder")
        chown nobody:nogroup "$folder"
    fi
    "${owner[@]}" "$programs/initdb" --pgdata="$folder/data" --username=mercato --auth=trust --encoding=UTF8 --locale=C \
        --no-sync >/dev/null
    "${owner[@]}" "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off \
        -c max_connections=300 -c log_min_messages=fatal &
    server=$!
    for _ in $(seq 100); do
        "$programs/pg_isready" --quiet --host="$folder" --username=mercato --dbname=postgres && break
        sleep 0.1
    done
    export MERCATO_TEST_BOOKS=postgres MERCATO_TEST_POSTGRES="postgres://mercato@${folder//\//%2F}/postgres"
    if (($# > 0)); then
        "$@"
        return
    fi
    cargo test --locked --workspace --test books -- --skip damage:: --skip disk_full::
    MERCATO_TEST_POSTGRES_OPTIONS="-c default_transaction_isolation=serializable" \
        cargo test --locked --workspace --test books -- --skip damage:: --skip disk_full::
}

# The folder with initdb and postgres, which is not in every path.
find_programs() {
    local place
    for place in "$(pg_config --bindir 2>/dev/null)" /usr/lib/postgresql/*/bin "$(dirname "$(command -v postgres || echo /)")"; do
        if [[ -x $place/initdb && -x $place/postgres ]]; then
            echo "$place"
            return
        fi
    done
    echo "postgres.sh: no PostgreSQL server; install one (Debian: apt-get install postgresql)" >&2
    return 1
}

stop() {
    local code=$?
    if [[ -n ${server:-} ]]; then
        kill -INT "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "${folder:?}"
    exit "$code"
}

main "$@"
