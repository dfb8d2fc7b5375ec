#!/usr/bin/env bash
# Coverage-guided fuzzing of what strangers' bytes reach first (server/fuzz).
#
#   ci/fuzz.sh [SECONDS [TARGET…]]     each target as long (ten minutes), all of them
#
# Owns: where inputs lie. The committed seeds are read and never written; what a run finds
# stays under target/fuzz/, and an input that broke a target belongs among its seeds.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/build-tool.sh"
cd "$ROOT"
CARGO_FUZZ_VERSION=0.13.2
seconds=${1:-600}
shift || true
mkdir -p "$TOOLS/bin" "$TOOLS/log"

have cargo-fuzz || {
    step "compiling cargo-fuzz $CARGO_FUZZ_VERSION (a minute)" \
        build_locked_or_newest cargo-fuzz cargo-fuzz --version "$CARGO_FUZZ_VERSION" ||
        give_up "cargo-fuzz could not be compiled (see .tools/log/cargo-fuzz.log)"
    rm -rf "$TOOLS/build-cargo-fuzz"
}
have c++ || give_up "a C++ compiler is missing (Debian: apt-get install g++), which libFuzzer is built with"

# The stable toolchain has no sanitizer; panics, overflows and the targets' own assertions judge.
fuzz() { SQLX_OFFLINE=true cargo fuzz "$@"; }
options=(--fuzz-dir server/fuzz --sanitizer none --target-dir "$ROOT/target/fuzz")

[ $# -gt 0 ] || set -- $(fuzz list --fuzz-dir server/fuzz)
step "building the fuzz targets" quietly "$TOOLS/log/fuzz-build.log" fuzz build "${options[@]}"
failed=()
for target in "$@"; do
    corpus="$ROOT/target/fuzz/corpus/$target" log="$TOOLS/log/fuzz-$target.log"
    mkdir -p "$corpus"
    fuzz run "${options[@]}" "$target" "$corpus" "server/fuzz/seeds/$target" -- \
        -max_total_time="$seconds" -max_len=4096 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$ROOT/target/fuzz/$target-" >"$log" 2>&1 || {
        failed+=("$target")
        tail -n 25 "$log" >&2
    }
    say "  $target: $(awk '/number_of_executed_units/ { print $2 }' "$log") inputs in $seconds s"
done
[ ${#failed[@]} = 0 ] || give_up "${failed[*]} broke; the inputs lie under target/fuzz/"
