#!/usr/bin/env bash
# Builds the release: the server, the browser's module, the site.
#
# Owns: the order of the tools. The two sides are built one package at a time
# (together their features would unify and Leptos would drop its event handlers).
# What is up to date is left alone, so a second run takes seconds.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
started=$SECONDS
[ -f "$WASM_ENV" ] || give_up "the set-up has not run; run 'ci/setup.sh demo' first"
eval "$(node ci/leptos-metadata.mjs)"
BINDGEN_DIR="$FRONT_TARGET_DIR/bindgen"

build_server() { cargo build --release --package "$BIN_PACKAGE" --bin "$BIN_TARGET"; }

# In a subshell: where Debian's Rust builds this side, the server must not see it.
build_wasm() (
    . "$WASM_ENV"
    "${WASM_CARGO:-cargo}" build --package "$LIB_PACKAGE" --lib --profile "$WASM_PROFILE" \
        --target "$WASM_TARGET" --target-dir "$FRONT_TARGET_DIR"
)

# Built alone, one package at a time: a feature of the tests that leaked in would let an
# environment variable kill the program. The suite checks that the mark is in its own program.
no_crash_points() {
    ! grep -q onceover-crash-points-are-compiled-in "$SERVER" ||
        give_up "$SERVER has crash points: the feature crash-points must not be in a release"
}

checksum() { cksum "$@" | tr -s ' \n' '_'; }

# -Os, for -Oz makes the module smaller but what brotli leaves of it larger.
# wasm-opt's features are those that rustc's wasm32 target has on by default.
glue_and_shrink() {
    local key new="$BINDGEN_DIR.new"
    key="$(checksum "$WASM_BUILT" end2end/package-lock.json ci/build-release.sh)$(wasm-bindgen --version)"
    if [ -f "$BINDGEN_DIR.key" ] && [ "$(cat "$BINDGEN_DIR.key")" = "$key" ]; then
        say "  the module is up to date"
        return 0
    fi
    rm -rf "$new" "$BINDGEN_DIR" "$BINDGEN_DIR.key"
    wasm-bindgen --target web --no-typescript --out-name "$OUTPUT_NAME" --out-dir "$new" "$WASM_BUILT" || return 1
    "$NODE_BIN/wasm-opt" -Os --converge --enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext \
        --enable-mutable-globals --enable-reference-types --enable-multivalue \
        "$new/${OUTPUT_NAME}_bg.wasm" -o "$new/${OUTPUT_NAME}_bg.wasm" || return 1
    mv "$new" "$BINDGEN_DIR"
    printf '%s' "$key" >"$BINDGEN_DIR.key"
}

step "building the server (release)" build_server
step "looking for crash points in the release" no_crash_points
step "building the browser's module" build_wasm
step "wasm-bindgen and wasm-opt" glue_and_shrink
step "putting the site together" node ci/site.mjs "$BINDGEN_DIR"
node ci/check-leptos-metadata.mjs
say "the release is built after $((SECONDS - started)) s: ${SERVER#"$ROOT"/} with ${SITE_ROOT#"$ROOT"/}"
