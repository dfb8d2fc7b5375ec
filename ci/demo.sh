#!/usr/bin/env bash
# From whatever the machine has to the demo's first page. The demo takes this
# process's place, so Ctrl-C reaches it and stops all of it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
started=$SECONDS
ci/setup.sh demo
ci/build-release.sh
eval "$(node ci/leptos-metadata.mjs)"
say "set-up and build took $((SECONDS - started)) s; starting the demo"
# Whoever waits for the first page is told how long it took. The demo takes this process's place, so
# another looks at the clock; it ends with the demo.
kept="${ONCEOVER_DATA:-$ROOT/.data}/demo.json"
marker="$ROOT/target/demo-began"
: >"$marker"
(
    until [ "$kept" -nt "$marker" ]; do
        kill -0 $$ 2>/dev/null || exit 0
        sleep 0.2
    done
    say "from the start to the first page: $((SECONDS - started)) s"
) &
ONCEOVER_SITE_ROOT="$SITE_ROOT" exec "$SERVER" demo
