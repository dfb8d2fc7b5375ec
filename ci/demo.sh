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
ONCEOVER_SITE_ROOT="$SITE_ROOT" exec "$SERVER" demo
