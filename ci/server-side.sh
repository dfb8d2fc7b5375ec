# The packages of the machine's side: sourced, never run.
#
# One list for lints and tests. Together they may share features; the browser's
# crate must never join them: Leptos with `ssr` and `hydrate` at once drops its
# event handlers. One list also means one build: no stage recompiles for another.
# Crash points are in all that is linted and tested, and never in a release (ci/build-release.sh).
SERVER_SIDE=(-p domain -p app -p engine -p cluster -p sandbox -p testkit -p server --features app/ssr,server/crash-points)
