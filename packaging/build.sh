#!/usr/bin/env bash
# Makes packages into dist/, all with the version of Cargo.toml.
#
#     packaging/build.sh deb       Debian package; needs cargo-deb (cargo install cargo-deb --locked)
#     packaging/build.sh image     container image from that package, by buildah, docker or podman
#     packaging/build.sh wheel     Python client
#     packaging/build.sh npm       TypeScript client; needs npm
#     packaging/build.sh sbom      bill of materials; needs cargo-cyclonedx (cargo install cargo-cyclonedx --locked)
#     packaging/build.sh sums      SHA256SUMS of what is in dist/
#
# MERCATO_PROFILE=release (instead of dist) builds the programs of the Debian package quicker, for trying it out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

profile=${MERCATO_PROFILE:-dist}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

main() {
    mkdir -p dist
    case ${1:-} in
        deb) build_deb ;;
        image) build_image ;;
        wheel) build_wheel ;;
        npm) build_npm ;;
        sbom) build_sbom ;;
        sums) (cd dist && sha256sum -- *.deb *.whl *.tgz *.json | tee SHA256SUMS) ;;
        *)
            sed -n '/^#     /s/^# *//p' "$0" >&2
            exit 2
            ;;
    esac
}

build_deb() {
    local target
    target=$(cargo metadata --locked --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
    cargo build --locked --profile "$profile" --features models --package mercato --package mercato-tools
    rm -rf target/packaging
    "$target/$profile/mercato-tools" packaging target/packaging
    gzip --best --no-name target/packaging/man/*
    rm -f dist/mercato_*.deb
    cargo deb --locked --no-build --profile "$profile" --package mercato --output dist/
}

build_image() {
    local builder
    for builder in buildah docker podman; do
        command -v "$builder" >/dev/null && break
    done
    if [[ $builder == buildah ]]; then set -- bud; else set -- build; fi
    "$builder" "$@" --file packaging/Dockerfile --tag "mercato:$version" --tag mercato .
}

build_wheel() {
    rm -f dist/mercato-*.whl
    python3 -m pip wheel --quiet --no-deps --wheel-dir dist clients/python
}

# One for each program.
build_sbom() {
    cargo cyclonedx --quiet --format json --features models --override-filename bill-of-materials
    mv bill-of-materials.json "dist/mercato-$version.cdx.json"
    mv tools/bill-of-materials.json "dist/mercato-tools-$version.cdx.json"
    rm -f crates/*/bill-of-materials.json storage-format/bill-of-materials.json
}

# In a copy, because npm writes the version into package.json.
build_npm() {
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    rm -f dist/mercato-client-*.tgz
    git ls-files clients/typescript | tar -c -T - | tar -x -C "$folder"
    cd "$folder/clients/typescript"
    npm ci --silent --no-audit --no-fund
    npm pkg set "version=$version"
    npm run --silent build
    npm pack --silent --pack-destination "$OLDPWD/dist"
    cd "$OLDPWD"
}

main "$@"
