#!/usr/bin/env bash
# The figures of docs/performance.md, in one run on this machine.
#
#   ci/bench.sh                  all of them, a few minutes
#   ci/bench.sh --full           the long form
#   ci/bench.sh life outbox      only these
#
# DATABASE_URL, where set, is the server used (databases onceover_bench_* only); otherwise a
# private one lives as long as the run. The table says `over budget` where one is missed; that is
# no failure of the run.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
ci/setup.sh bench
PATH="$(pgbench_bin):$PATH"
export PATH SQLX_OFFLINE=true
BENCH_COMMIT="$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
[ -z "$(git status --porcelain 2>/dev/null)" ] || BENCH_COMMIT="$BENCH_COMMIT with changes"
BENCH_RUST=$(rustc --version | awk '{ print $2 }')
export BENCH_COMMIT BENCH_RUST

step "building the bench (release)" cargo build --quiet --release --package bench
# Its own, which no other run builds: how a miss is told, and what a ratio is.
step "testing how it counts" quietly "$TOOLS/log/bench-tests.log" cargo test --quiet --release --package bench ||
    give_up "the bench miscounts (see .tools/log/bench-tests.log)"
exec "${CARGO_TARGET_DIR:-$ROOT/target}/release/bench" --json "$ROOT/target/bench.json" "$@"
