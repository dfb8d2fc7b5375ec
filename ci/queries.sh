#!/usr/bin/env bash
# The query cache of the engine (server/engine/.sqlx).
#
#   ci/queries.sh           renews it
#   ci/queries.sh --check   fails where it is not what the migrations and queries give
#
# The macros write the cache themselves when they compile against a database and
# SQLX_OFFLINE_DIR is set. The migrations go in by psql: a stale cache keeps the
# program that could apply them from compiling.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
CACHE="$ROOT/server/engine/.sqlx"
CLUSTER="${CARGO_TARGET_DIR:-$ROOT/target}/debug/cluster"
# A folder of its own: the macros must run anew without disturbing other builds.
CHECK_DIR="${CARGO_TARGET_DIR:-$ROOT/target}/queries"
mode=${1:-renew}

if [ -z "${DATABASE_URL:-}" ]; then
    [ -x "$CLUSTER" ] || cargo build --quiet -p cluster --bin cluster
    exec "$CLUSTER" run -- "$0" "$@"
fi

PSQL="$(postgres_bin 2>/dev/null || true)/psql"
[ -x "$PSQL" ] || PSQL=$(command -v psql) || give_up "psql is missing"
database="onceover_test_queries_$$"
# The same server, another database: whatever follows the name (?host=…) stays.
own_url=$(node -e 'const url = new URL(process.argv[1]); url.pathname = process.argv[2]; console.log(url.href)' \
    "$DATABASE_URL" "$database")
fresh="$CHECK_DIR/sqlx"
sql() { "$PSQL" --no-psqlrc --quiet --set ON_ERROR_STOP=1 "$@"; }
trap 'sql "$DATABASE_URL" -c "drop database if exists $database" >/dev/null 2>&1 || true' EXIT

sql "$DATABASE_URL" -c "create database $database"
for migration in migrations/*.sql; do
    if head -n 1 "$migration" | grep -qx -- '-- no-transaction'; then whole=; else whole=--single-transaction; fi
    PGOPTIONS='-c client_min_messages=warning' sql $whole "$own_url" -f "$migration" >/dev/null ||
        give_up "$migration cannot be applied"
done

rm -rf "$fresh" && mkdir -p "$fresh"
cargo clean --quiet -p engine --target-dir "$CHECK_DIR" 2>/dev/null || true
SQLX_OFFLINE=false SQLX_OFFLINE_DIR="$fresh" DATABASE_URL="$own_url" \
    cargo check --quiet -p engine --target-dir "$CHECK_DIR"

count=$(find "$fresh" -name 'query-*.json' | wc -l | tr -d ' ')
if [ "$mode" = --check ]; then
    diff -rq "$fresh" "$CACHE" || give_up "server/engine/.sqlx is not what migrations and queries give; run make queries"
    say "the query cache holds exactly the $count statements of the engine"
else
    mkdir -p "$CACHE"
    find "$CACHE" -name 'query-*.json' -delete
    [ "$count" = 0 ] || cp "$fresh"/query-*.json "$CACHE/"
    say "wrote $count statements to server/engine/.sqlx"
fi
