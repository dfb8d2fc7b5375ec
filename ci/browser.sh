#!/usr/bin/env bash
# The browser tests against the built release: a demo of its own, on a free port,
# with a data folder of its own. Arguments go to Playwright.
#
# Guards against: tests that pass against a development build or somebody's demo,
# and a demo that does not stop when asked.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
eval "$(node ci/leptos-metadata.mjs)"
[ -x "$SERVER" ] || give_up "the release is not built; run ci/build-release.sh"
DATA="$ROOT/target/browser-data"
LOG="$ROOT/target/browser-demo.log"
START_LIMIT=180
STOP_LIMIT=30

# Below the ports that systems take for outgoing connections (from 32,768 on): one of those may be
# taken when the program comes to listen.
free_port() {
    node -e '
        const look = () => {
            const port = 20000 + Math.floor(Math.random() * 10000)
            const server = require("net").createServer().on("error", look)
            server.listen(port, "127.0.0.1", () => server.close(() => console.log(port)))
        }
        look()'
}

# The identity provider of one test, which starts it there (end2end/provider.mjs); to all others it is
# a provider that does not answer.
export ONCEOVER_OIDC_ISSUER="http://127.0.0.1:$(free_port)" ONCEOVER_OIDC_NAME=Corp \
    ONCEOVER_OIDC_CLIENT_ID=console ONCEOVER_OIDC_CLIENT_SECRET=v4Xq9Lm2Rt7Kp1Zs8Wd3Hb6Nc5Jf0Gy2 \
    ONCEOVER_OIDC_SCOPES=email,profile,groups ONCEOVER_OIDC_ROLES=payments=acme:operator

rm -rf "$DATA" end2end/artefacts
: >"$LOG"
# DATABASE_URL is left out on purpose: this demo has a PostgreSQL of its own.
# Job control for this line: without it the demo would be started deaf to Ctrl-C.
set -m
env -u DATABASE_URL -u ONCEOVER_MIGRATE_URL ONCEOVER_ADDR="127.0.0.1:$(free_port)" ONCEOVER_DATA="$DATA" \
    ONCEOVER_SITE_ROOT="$SITE_ROOT" "$SERVER" demo >"$LOG" 2>&1 &
demo=$!
set +m

# Asks the demo to stop and waits; says so where it must be killed.
stop_demo() {
    local waited=0
    kill -INT "$demo" 2>/dev/null || return 0
    while kill -0 "$demo" 2>/dev/null; do
        if [ "$waited" -ge "$STOP_LIMIT" ]; then
            kill -KILL "$demo"
            say "the demo did not stop within $STOP_LIMIT s of Ctrl-C"
            return 1
        fi
        sleep 1
        waited=$((waited + 1))
    done
}
trap 'stop_demo || true' EXIT

url=
for _ in $(seq "$START_LIMIT"); do
    url=$(sed -n 's/^ready: \(http.*\)$/\1/p' "$LOG" | head -n 1)
    [ -z "$url" ] || break
    kill -0 "$demo" 2>/dev/null || {
        tail -n 30 "$LOG" >&2
        give_up "the demo ended before it was ready"
    }
    sleep 1
done
[ -n "$url" ] || {
    tail -n 30 "$LOG" >&2
    give_up "the demo was not ready within $START_LIMIT s"
}

code=0
chromium=$(system_chromium || true)
(cd end2end && ONCEOVER_E2E_URL="${url%/}" ONCEOVER_E2E_DEMO="$DATA/demo.json" ONCEOVER_CHROMIUM="$chromium" \
    node_modules/.bin/playwright test "$@") || code=$?
trap - EXIT
stop_demo || code=1
[ "$code" = 0 ] || say "what the demo printed is in target/browser-demo.log, what the browser saw in end2end/artefacts"
exit "$code"
