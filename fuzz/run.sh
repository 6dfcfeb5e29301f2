#!/usr/bin/env bash
# Builds the fuzz targets and runs them: every seed first, then new inputs for so many seconds each.
#
#     fuzz/run.sh [SECONDS] [TARGET...]        15 seconds and all targets, unless said otherwise
#     FUZZ_BUILD_ONLY=1 fuzz/run.sh            only builds
#     FUZZ_SEED=1 fuzz/run.sh                  the same inputs each time, as far as the time allows
#
# Needs a C++ compiler and no nightly toolchain: the flags are those of cargo-fuzz without a sanitizer, which the only
# unsafe code of the workspace, one memory map, would not repay. New inputs go to fuzz/corpus, findings to
# fuzz/artifacts; both are ignored by git. A finding ends the script with an error and names its file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

seconds=${1:-15}
shift || true
targets=("$@")
if [[ ${#targets[@]} -eq 0 ]]; then
    mapfile -t targets < <(sed -n 's/^name = "\(.*\)"$/\1/p' Cargo.toml | grep -v '^mercato-fuzz$')
fi
host=$(rustc -vV | sed -n 's/^host: //p')
coverage=(
    --cfg fuzzing
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
)
# The slowest input that is still an answer, and the most memory that one may take.
timeout_seconds=60
memory_mebibytes=2048

# Everything that the server uses has the server's version; the fuzzer's own crates are pinned in Cargo.toml.
cp ../Cargo.lock Cargo.lock
# With a target named, build scripts and procedural macros are built without the flags.
RUSTFLAGS="${coverage[*]}" cargo build --release --target "$host" --target-dir target
[[ -n ${FUZZ_BUILD_ONLY:-} ]] && exit

# What targets write goes to memory where that exists: they sync files, and nobody wants to wait for a disk.
[[ -w /dev/shm ]] && export TMPDIR=/dev/shm

# Seeds first, then new inputs. The log is shown where the target ends with a finding.
run_target() {
    local target=$1 log=target/$1.log dictionary=()
    mkdir -p "corpus/$target" "artifacts/$target"
    [[ -f dictionaries/$target.dict ]] && dictionary=("-dict=dictionaries/$target.dict")
    local limits=("-timeout=$timeout_seconds" "-rss_limit_mb=$memory_mebibytes" "-max_len=65536")
    # A decoder that takes too much ends the worker of a conversion, and here a process of its own.
    [[ $target == parquet_convert ]] && limits+=("-fork=1" "-ignore_ooms=1" "-ignore_timeouts=1")
    if ! "target/$host/release/$target" "corpus/$target" "seeds/$target" "${dictionary[@]}" "${limits[@]}" \
        "-max_total_time=$seconds" "-seed=${FUZZ_SEED:-0}" "-artifact_prefix=artifacts/$target/" -print_final_stats=1 \
        -close_fd_mask=1 >"$log" 2>&1; then
        tail -n 40 "$log"
        echo "$target: a finding; see fuzz/artifacts/$target" >&2
        return 1
    fi
    echo "-- $target: $(sed -n 's/.*number_of_executed_units: *//p' "$log") inputs, $(sed -n 's/.*peak_rss_mb: *//p' "$log") MiB"
}

# A target uses one core.
cores=$(nproc)
failed=0
for target in "${targets[@]}"; do
    while (($(jobs -rp | wc -l) >= cores)); do wait -n || failed=1; done
    run_target "$target" &
done
while [[ -n $(jobs -p) ]]; do wait -n || failed=1; done
exit "$failed"
