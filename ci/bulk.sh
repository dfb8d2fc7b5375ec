#!/usr/bin/env bash
# The long form of the bulk of 50,000 records: all are frozen, looked at and decided, and how many
# minutes each took is printed.
#
#   ci/bulk.sh
#
# Owns: nothing that is kept. The short form, in every run of the tests, decides a few batches of as
# many.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/server-side.sh"
cd "$ROOT"
ci/setup.sh test
CLUSTER="${CARGO_TARGET_DIR:-$ROOT/target}/debug/cluster"

# The packages and features of the other tests: nothing is compiled a second time.
build() { cargo build --quiet "${SERVER_SIDE[@]}" --bin cluster --bin onceover; }
suite() {
    "$CLUSTER" run -- cargo test --quiet "${SERVER_SIDE[@]}" --test it -- \
        --ignored --exact bulk::large::long_form
}

step "building the tests" build
suite || give_up "not every record of the bulk was decided once"
