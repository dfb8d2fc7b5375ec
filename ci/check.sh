#!/usr/bin/env bash
# Everything that needs no database: format, lints of both sides, query cache,
# audits and house rules. Runs them all and names those that failed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/server-side.sh"
. "$(dirname "$0")/stages.sh"
cd "$ROOT"
# The query macros read the committed cache: a query without an entry does not compile.
export SQLX_OFFLINE=true
failed=()
# The bench, too, though no test builds it.
LINTED=("${SERVER_SIDE[@]}" -p bench)

rule() {
    local name=$1
    shift
    printf '→ %s\n' "$name"
    "$@" || failed+=("$name")
}

# Tests may unwrap; what ships may not.
lint_server() {
    cargo clippy --quiet "${LINTED[@]}" --lib --bins -- -D warnings &&
        cargo clippy --quiet "${LINTED[@]}" --tests -- -D warnings -A clippy::unwrap_used
}

# On the browser's target where clippy's own toolchain has it; else on this machine's,
# where the same code compiles with the same features.
lint_browser() {
    local target=()
    [ -d "$(rustc --print sysroot)/lib/rustlib/$WASM_TARGET/lib" ] && target=(--target "$WASM_TARGET")
    cargo clippy --quiet -p frontend --lib ${target[@]+"${target[@]}"} --target-dir "$FRONT_TARGET_DIR" -- -D warnings || return 1
    # The islands, too: clippy only speaks of packages that are named.
    cargo clippy --quiet -p app --features app/hydrate --lib ${target[@]+"${target[@]}"} \
        --target-dir "$FRONT_TARGET_DIR" -- -D warnings
}

query_cache() {
    local files
    files=$(find server/engine/.sqlx -name 'query-*.json' 2>/dev/null | wc -l | tr -d ' ')
    [ "$files" -gt 0 ] || {
        say "server/engine/.sqlx is empty; run make queries"
        return 1
    }
    cargo check --quiet "${LINTED[@]}" && say "  $files statements are in the cache"
}

scripts_parse() {
    local file
    for file in ci/*.sh .ci/run; do bash -n "$file" || return 1; done
    for file in ci/*.mjs; do node --check "$file" || return 1; done
}

all() {
    rule "format" cargo fmt --all --check
    rule "house rules" node ci/rules.mjs
    rule "scripts parse" scripts_parse
    rule "leptos metadata" node ci/check-leptos-metadata.mjs
    rule "types of the browser tests" "$NODE_BIN/tsc" --noEmit -p end2end
    rule "query cache" query_cache
    rule "lints, server side" lint_server
    rule "lints, browser side" lint_browser
    rule "licences of the web tools" node ci/licences.mjs
    rule "supply" ci/supply.sh
    [ ${#failed[@]} = 0 ] || {
        say "make check failed: $(printf '%s; ' "${failed[@]}")"
        return 1
    }
}

stage check 8 all
