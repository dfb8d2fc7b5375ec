#!/usr/bin/env bash
# The long form of the fault suite: 50 kills at every crash point, pauses, races,
# restarts, cut connections, and the controls that show that the suite can fail.
#
#   ci/faults.sh                     a new seed
#   FAULT_SEED=42 ci/faults.sh       the same again
#   FAULT_POINT=P3 FAULT_TIMES=500   one point, more often
#
# Its last line is the sum: kills, doubles, losses, the bound, the longest rescue, the seed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/server-side.sh"
cd "$ROOT"
ci/setup.sh test
CLUSTER="${CARGO_TARGET_DIR:-$ROOT/target}/debug/cluster"
export FAULT_SUM="$ROOT/target/faults.sum"
rm -f "$FAULT_SUM"

# The packages and features of the other tests: nothing is compiled a second time.
build() { cargo build --quiet "${SERVER_SIDE[@]}" --bin cluster --bin onceover; }
suite() {
    "$CLUSTER" run -- cargo test --quiet "${SERVER_SIDE[@]}" --test faults -- \
        --ignored --exact forms::long_form --test-threads=1
}

step "building the program with crash points" build
say "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
suite || give_up "the fault suite found something; FAULT_SEED repeats it"
cat "$FAULT_SUM"
