#!/usr/bin/env bash
# Mutation testing of what decides: would a test notice if the line were another one?
#
#   ci/mutants.sh                 all groups, about an hour on two idle cores
#   ci/mutants.sh server …        only the named: domain engine server
#
# Owns: which files are mutated and which tests judge them. A mutant that no test noticed fails the
# run and stands in target/mutants/GROUP/mutants.out/missed.txt; one whose tests never ended counts as
# noticed. The sources are copied before they are changed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/build-tool.sh"
cd "$ROOT"
CARGO_MUTANTS_VERSION=27.1.0
CLUSTER="${CARGO_TARGET_DIR:-$ROOT/target}/debug/cluster"
OUT="$ROOT/target/mutants"
[ $# -gt 0 ] || set -- domain engine server
for group in "$@"; do
    case $group in domain | engine | server) ;; *) give_up "'$group' is none of domain, engine, server" ;; esac
done
mkdir -p "$TOOLS/bin" "$TOOLS/log" "$OUT"

[ "$(cargo mutants --version 2>/dev/null)" = "cargo-mutants $CARGO_MUTANTS_VERSION" ] || {
    step "compiling cargo-mutants $CARGO_MUTANTS_VERSION (a few minutes)" \
        build_locked_or_newest cargo-mutants cargo-mutants --version "$CARGO_MUTANTS_VERSION" ||
        give_up "cargo-mutants could not be compiled (see .tools/log/cargo-mutants.log)"
    rm -rf "$TOOLS/build-cargo-mutants"
}

# Guard, permits, next state, canonicaliser, verdicts, tokens: pure, judged by their own tests.
domain=(access approval compensation idempotency inbox lease machine operation outbox reconciliation token verdict workflow)
domain_files() {
    local each
    for each in "${domain[@]}"; do say "app/domain/src/$each.rs"; done
    ls app/domain/src/json/*.rs
}
engine_files() { say server/engine/src/backoff.rs && say server/engine/src/operations/classify.rs; }
server_files() { say server/src/security/origin.rs && say server/src/security/location.rs; }

# What classify says shows in answers alone: the engine's tests of these names judge it, too. Of the server's
# tests those beside the guard.
judges() {
    case $1 in
    engine) say --lib --test it -- reserve:: lifetimes backoff classify ;;
    server) say --lib -- security:: ;;
    *) say --lib ;;
    esac
}

# The domain compiles in seconds, twice at once in folders of the tool's own. The others share one
# folder, where libraries are compiled once and not for every run.
mutants() {
    local group=$1 chosen=() file jobs=2
    while read -r file; do chosen+=(--file "$file"); done < <("${group}_files")
    rm -rf "${OUT:?}/$group"
    if [ "$group" = domain ]; then unset CARGO_TARGET_DIR; else export CARGO_TARGET_DIR="$OUT/build" jobs=1; fi
    mkdir -p "$OUT/$group"
    SQLX_OFFLINE=true CARGO_PROFILE_DEV_DEBUG=0 \
        cargo mutants --package "$group" "${chosen[@]}" --output "$OUT/$group" --jobs "$jobs" \
        --minimum-test-timeout 60 --colors never -- $(judges "$group") >"$TOOLS/log/mutants-$group.log" 2>&1
}

# In a private database where tests need one.
if [ -z "${DATABASE_URL:-}" ] && [[ " $* " == *" engine "* ]]; then
    [ -x "$CLUSTER" ] || cargo build --quiet -p cluster --bin cluster
    exec "$CLUSTER" run -- "$0" "$@"
fi

figure() { grep -c . "$OUT/$1/mutants.out/$2.txt" 2>/dev/null || true; }

missed=()
for group in "$@"; do
    started=$SECONDS
    code=0
    (mutants "$group") || code=$?
    # 2: some were missed; 3: some never ended. Whatever else: nothing was judged.
    case $code in
    0 | 2 | 3) ;;
    *)
        tail -n 25 "$TOOLS/log/mutants-$group.log" >&2
        give_up "the mutants of $group were not judged (see .tools/log/mutants-$group.log)"
        ;;
    esac
    say "  $group: $(figure "$group" caught) noticed, $(figure "$group" timeout) endless, $(figure "$group" unviable) do not compile, $(figure "$group" missed) missed, in $(((SECONDS - started) / 60)) min"
    [ "$(figure "$group" missed)" = 0 ] || {
        cat "$OUT/$group/mutants.out/missed.txt"
        missed+=("$group")
    }
done
[ ${#missed[@]} = 0 ] || give_up "no test noticed the mutants above, of ${missed[*]}"
