#!/usr/bin/env bash
# Starts a PostgreSQL server in a temporary directory and runs a command beside it; without one, the tests of the books, of the
# API and the site, and of crashes; those of books and crashes once more where every transaction is serializable.
#
#     tests/books/postgres.sh
#     tests/books/postgres.sh cargo test --workspace --test books claims:: -- --include-ignored
#     tests/books/postgres.sh --durable cargo bench --bench books_database      a commit waits for the disk
#
# Needs PostgreSQL 13 or newer (Debian: apt-get install postgresql) and openssl. The command finds the server in
# MERCATO_TEST_POSTGRES, over its Unix socket; over TLS it is at localhost:MERCATO_TEST_POSTGRES_PORT, with a certificate of the
# authority in MERCATO_TEST_POSTGRES_ROOTS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

main() {
    local programs fsync=off owner=()
    if [[ ${1:-} == --durable ]]; then
        fsync=on
        shift
    fi
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
    make_certificates "$folder"
    port=$(free_port)
    "${owner[@]}" "$programs/postgres" -D "$folder/data" -k "$folder" -p "$port" -c listen_addresses=127.0.0.1 \
        -c fsync="$fsync" -c max_connections=800 -c log_min_messages=fatal -c ssl=on -c ssl_cert_file="$folder/server.crt" \
        -c ssl_key_file="$folder/server.key" &
    server=$!
    for _ in $(seq 100); do
        "$programs/pg_isready" --quiet --host="$folder" --port="$port" --username=mercato --dbname=postgres && break
        sleep 0.1
    done
    export MERCATO_TEST_BOOKS=postgres MERCATO_TEST_POSTGRES="postgres://mercato@${folder//\//%2F}:$port/postgres"
    export MERCATO_TEST_POSTGRES_PORT=$port MERCATO_TEST_POSTGRES_ROOTS=$folder/root.crt
    if (($# > 0)); then
        "$@"
        return
    fi
    test_books
    # An object store is not here.
    cargo test --locked --workspace --test api -- --include-ignored --skip object_stores:: --skip releases::
    MERCATO_TEST_POSTGRES_OPTIONS="-c default_transaction_isolation=serializable" test_books
}

# Damaged files, full disks, backups and what is on the disk are those of books in files. A child is started by its test.
test_books() {
    cargo test --locked --workspace --test books -- --include-ignored --skip damage:: --skip disk_full:: \
        --skip restores_backup --skip off_disk --skip sells_as_child
    cargo test --locked --workspace --test crash
}

# An authority, a certificate of it for localhost, and another authority.
make_certificates() {
    local name
    for name in root other; do
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$name of the tests" \
            -addext basicConstraints=critical,CA:TRUE -keyout "$1/$name.key" -out "$1/$name.crt" 2>/dev/null
    done
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=localhost" -keyout "$1/server.key" \
        -out "$1/server.csr" 2>/dev/null
    openssl x509 -req -in "$1/server.csr" -CA "$1/root.crt" -CAkey "$1/root.key" -CAcreateserial -days 2 \
        -extfile <(printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n') -out "$1/server.crt" 2>/dev/null
    chmod 600 "$1/server.key"
    if [[ $(id -u) == 0 ]]; then chown nobody:nogroup "$1"/server.*; fi
    chmod 644 "$1"/*.crt
}

# A port of this machine that nobody uses.
free_port() {
    local port
    while port=$((20000 + RANDOM % 12000)); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
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
