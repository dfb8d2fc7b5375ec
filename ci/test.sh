#!/usr/bin/env bash
# Every test, in stages.
#
#   ci/test.sh            all of them
#   ci/test.sh plans …    only the named: main faults plans queries fuzz browser
#
# DATABASE_URL, where set, is the server used (databases onceover_test_* only);
# otherwise a private one lives as long as the run.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/server-side.sh"
. "$(dirname "$0")/stages.sh"
cd "$ROOT"
chosen=" ${*:-main faults plans queries fuzz browser} "
for each in $chosen; do
    case $each in main | faults | plans | queries | fuzz | browser) ;; *) give_up "'$each' is no stage of the tests" ;; esac
done
CLUSTER="${CARGO_TARGET_DIR:-$ROOT/target}/debug/cluster"
export ONCEOVER_TEST_PROGRAMS="$ROOT/target/test-programs.json"
# What tests report about threats; the table over all of them stands at the end.
export ONCEOVER_THREATS_FILE="$ROOT/target/threats"
wants() { [[ $chosen == *" $1 "* ]]; }

build_all() {
    # The release is what the browser tests run; the rest is built as the tests need it.
    if wants browser; then ci/build-release.sh || return 1; fi
    step "building the tests" build_tests
}

build_tests() {
    cargo build --quiet "${SERVER_SIDE[@]}" --bin cluster &&
        cargo test "${SERVER_SIDE[@]}" --lib --bins --tests --no-run --message-format json-render-diagnostics \
            >"$ONCEOVER_TEST_PROGRAMS"
}

programs() { "$CLUSTER" run -- node ci/run-tests.mjs "$1" <"$ONCEOVER_TEST_PROGRAMS"; }

main_tests() {
    local code=0
    programs main || code=1
    cargo test --quiet "${SERVER_SIDE[@]}" --doc || code=1
    return "$code"
}

mkdir -p "$ROOT/target"
: >"$ONCEOVER_THREATS_FILE"
stage set-up 8 ci/setup.sh test || exit 1
stage build 16 build_all || exit 1
if wants main; then stage "units, engine, HTTP" 10 main_tests || true; fi
if wants faults; then stage faults 5 programs faults || true; fi
if wants plans; then stage plans 2 programs plans || true; fi
if wants queries; then stage "query cache" 2 ci/queries.sh --check || true; fi
if wants fuzz; then stage "fuzzing, short" 7 ci/fuzz.sh 10 || true; fi
if wants browser; then stage browser 13 ci/browser.sh || true; fi
whole=
if wants main && wants faults && wants browser; then whole=whole; fi
# What the check shows counts for this commit with these locks, and a scan that was skipped shows nothing:
# without it, the scan of the supply is made here.
scanned() { grep -qsxF "T45 1 0 ci/supply.sh $(supply_mark)" target/threats.check; }
if [ -n "$whole" ] && ! scanned; then stage supply 3 ci/supply.sh || true; fi
stage threats 1 node ci/threats.mjs $whole || true
stages_summary
