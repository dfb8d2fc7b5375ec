#!/usr/bin/env bash
# Watches the sources and reloads the browser, on the demo's data.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
have cargo-leptos || give_up "make dev needs cargo-leptos. Install it with 'cargo install cargo-leptos --version 0.3.11 --locked --features no_downloads' (about half an hour of CPU time) and run this again; 'make demo' works without it."
ci/setup.sh demo
if [ -s "$WASM_ENV" ] && grep -q WASM_CARGO "$WASM_ENV"; then
    give_up "cargo-leptos builds both sides with one Rust, and the one of rustup lacks $WASM_TARGET here; use 'make demo'"
fi
export PATH="$NODE_BIN:$PATH"
# Plain names: the reload of a changed style finds its link by name.
export LEPTOS_HASH_FILES=false
# A reload waits until the page answers, wherever it was moved to.
export LEPTOS_SITE_ADDR="${ONCEOVER_ADDR:-127.0.0.1:3000}"
exec cargo leptos watch -- demo
