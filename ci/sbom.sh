#!/usr/bin/env bash
# The bill of materials of a release: what the server and the browser's module are made of.
#
#   ci/sbom.sh        writes target/sbom/{server,browser,web-tools}.cdx.json (CycloneDX 1.5)
#
# Owns: that every crate which is linked stands in it; a bill that lacks one is refused.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
CARGO_CYCLONEDX_VERSION=0.5.9
eval "$(node ci/leptos-metadata.mjs)"
OUT="$ROOT/target/sbom"
mkdir -p "$OUT"

have cargo-cyclonedx || {
    . "$(dirname "$0")/build-tool.sh"
    step "compiling cargo-cyclonedx $CARGO_CYCLONEDX_VERSION (a minute or two)" \
        build_locked_or_newest cargo-cyclonedx cargo-cyclonedx --version "$CARGO_CYCLONEDX_VERSION" ||
        give_up "cargo-cyclonedx could not be compiled (see .tools/log/cargo-cyclonedx.log)"
    rm -rf "$TOOLS/build-cargo-cyclonedx"
}

# bill PACKAGE TARGET NAME : the tool writes beside every manifest of the workspace; one is ours.
bill() {
    local package=$1 target=$2 name=$3 manifest missing
    manifest=$(cargo metadata --no-deps --locked --format-version 1 |
        node -e 'const name = process.argv[1]; process.stdin.toArray().then((all) => console.log(JSON.parse(all.join("")).packages.find((each) => each.name === name).manifest_path))' "$package")
    cargo cyclonedx --quiet --format json --spec-version 1.5 --target "$target" \
        --manifest-path "$manifest" --override-filename onceover-sbom 2>"$TOOLS/log/sbom-$name.log" ||
        give_up "cargo-cyclonedx could not write the bill of $name (see .tools/log/sbom-$name.log)"
    mv "$(dirname "$manifest")/onceover-sbom.json" "$OUT/$name.cdx.json"
    find app server -name onceover-sbom.json -not -path '*/target/*' -delete
    missing=$(comm -23 \
        <(cargo tree --locked --package "$package" --target "$target" --edges normal,no-proc-macro --prefix none --format '{p}' |
            awk '$0 !~ /\// { sub(/^v/, "", $2); print $1 "@" $2 }' | sort -u) \
        <(node -e 'console.log(require(process.argv[1]).components.map((each) => `${each.name}@${each.version}`).join("\n"))' "$OUT/$name.cdx.json" | sort -u))
    [ -z "$missing" ] || give_up "the bill of $name lacks $(tr '\n' ' ' <<<"$missing")"
    say "  $name: $(grep -c '"purl"' "$OUT/$name.cdx.json") components in target/sbom/$name.cdx.json"
}

bill "$BIN_PACKAGE" "$(rustc -vV | awk '/^host/ { print $2 }')" server
bill "$LIB_PACKAGE" "$WASM_TARGET" browser
npm sbom --prefix end2end --sbom-format cyclonedx --package-lock-only >"$OUT/web-tools.cdx.json" ||
    give_up "npm could not write the bill of the web tools"
say "  web tools: target/sbom/web-tools.cdx.json"
