#!/usr/bin/env bash
# Advisories, licences, bans and sources of every locked crate, by cargo-deny (deny.toml); advisories of
# the web tools by npm, where its registry answers.
#
# Owns: where the advisory database comes from and that its date is told. A copy on this
# machine first (ONCEOVER_ADVISORY_DB: a folder or a .tgz; else a shared folder
# beside the clone), then the network, else one sentence: an audit that cannot
# run must not look like one that found nothing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
# cargo-deny reads a clone by this name, the one it would fetch from the default address.
export ONCEOVER_DENY_DB="$TOOLS/advisory-db"
CLONE="$ONCEOVER_DENY_DB/advisory-db-3157b0e258782691"

local_copy() {
    local found=${ONCEOVER_ADVISORY_DB:-}
    [ -n "$found" ] || found=$(ls -d ../*/data/rustsec-advisory-db-*.tgz 2>/dev/null | sort | tail -n 1 || true)
    [ -e "$found" ] && say "$found"
}

# A plain copy becomes the clone that cargo-deny asks for: one commit, said to be fetched now.
adopt() {
    local source=$1 mark crates
    mark=$(find "$source" -maxdepth 1 -exec cksum {} + 2>/dev/null | cksum)
    [ "$(cat "$CLONE/.git/onceover-source" 2>/dev/null)" = "$mark" ] && return 0
    rm -rf "$ONCEOVER_DENY_DB" && mkdir -p "$CLONE"
    if [ -f "$source" ]; then tar -xzf "$source" -C "$ONCEOVER_DENY_DB"; else cp -R "$source/." "$ONCEOVER_DENY_DB"; fi
    crates=$(find "$ONCEOVER_DENY_DB" -maxdepth 3 -type d -name crates | head -n 1)
    [ -n "$crates" ] || return 1
    mv "$crates" "$CLONE/crates"
    git -C "$CLONE" init --quiet
    git -C "$CLONE" add --all
    git -C "$CLONE" -c user.name=onceover -c user.email=onceover@localhost commit --quiet --message "a copy of $(basename "$source")"
    git -C "$CLONE" rev-parse HEAD >"$CLONE/.git/FETCH_HEAD"
    say "$mark" >"$CLONE/.git/onceover-source"
}

newest_advisory() {
    grep -rhoE '^date = "[0-9-]+"' "$CLONE/crates" | sort | tail -n 1 | cut -d'"' -f2
}

limited() { if have timeout; then timeout 120 "$@"; else "$@"; fi; }

# Nothing is fetched while scanning: what the lock names is brought before.
crates() { cargo fetch --locked --quiet --manifest-path "$1"; }

# The fuzzer's lock: nothing of it is linked into what ships, so its licences are its own affair; an
# exception of ours that it does not need is no fault there.
fuzzers_lock() {
    local judged=(bans sources)
    [[ " $* " != *" advisories "* ]] || judged+=(advisories)
    crates server/fuzz/Cargo.toml || give_up "the crates of server/fuzz/Cargo.lock could not be fetched"
    cargo deny --manifest-path server/fuzz/Cargo.toml --config deny.toml --log-level error --frozen \
        check --hide-inclusion-graph --allow advisory-not-detected "${judged[@]}"
}

# npm ends with 1 for a fault that is known as for a registry that answers no audits: its report tells.
web_tools() {
    local report="$TOOLS/log/npm-audit.json"
    limited npm audit --prefix end2end --package-lock-only --json >"$report" 2>"$TOOLS/log/npm-audit.log" || true
    node - "$report" <<'END'
const text = require('node:fs').readFileSync(process.argv[2], 'utf8')
let report = {}
try { report = JSON.parse(text) } catch {}
if (!report.auditReportVersion) {
  console.log('web tools: advisories SKIPPED, the registry of npm answers no audits here')
  process.exit(0)
}
const found = Object.values(report.vulnerabilities).map((each) => `${each.name} (${each.severity})`)
console.log(found.length ? `web tools: known faults in ${found.join(', ')}` : 'web tools: no known fault')
process.exit(found.length ? 1 : 0)
END
}

# A lock with a known fault must be refused, or the scan proves nothing.
scanner_sees() {
    crates ci/fixtures/vulnerable/Cargo.toml || give_up "the crates of the scan's fixture could not be fetched"
    if cargo deny --manifest-path ci/fixtures/vulnerable/Cargo.toml --config deny.toml --frozen \
        check advisories >"$TOOLS/log/deny-fixture.log" 2>&1; then
        give_up "the scan lets chrono 0.4.19 pass, which has a known fault"
    fi
    grep -q RUSTSEC-2020-0159 "$TOOLS/log/deny-fixture.log" ||
        give_up "the scan refused its fixture for another reason than the known fault (see .tools/log/deny-fixture.log)"
}

# report TRIED [WHY] : for the table of threats at the end of the tests (ci/threats.mjs), with what it holds
# for; WHY where the scan could not be tried. Only after our own locks were judged: an earlier line would
# stand as a yes beside a scan that failed.
report() {
    mkdir -p target
    say "T45 $1 0 ci/supply.sh $MARK${2:+ $2}" >target/threats.check
}

# What an earlier scan found goes before anything can end this one; the mark is taken before the locks are read.
rm -f target/threats.check
MARK=$(supply_mark)
# Before all that cargo-deny is needed for.
web_tools || give_up "npm knows of faults in what end2end/package-lock.json names"
checks=(bans licenses sources)
have cargo-deny || {
    say "supply: SKIPPED, cargo-deny is not installed (run ci/setup.sh check)"
    report 0 "cargo-deny is not installed (run ci/setup.sh check)"
    exit 0
}
if source=$(local_copy); then
    adopt "$source" || give_up "$source holds no advisories"
    say "advisories: $(basename "$source"), newest advisory of $(newest_advisory)"
    checks+=(advisories)
elif limited cargo deny fetch db >"$TOOLS/log/deny-fetch.log" 2>&1; then
    say "advisories: fetched from the network, newest of $(newest_advisory)"
    checks+=(advisories)
else
    say "advisories: SKIPPED, no copy of the database is here and the network does not reach it (name one in ONCEOVER_ADVISORY_DB)"
fi
[[ " ${checks[*]} " != *" advisories "* ]] || scanner_sees
crates Cargo.toml || give_up "the crates of Cargo.lock could not be fetched"
cargo deny --log-level error --frozen check --hide-inclusion-graph "${checks[@]}"
fuzzers_lock "${checks[@]}"
if [[ " ${checks[*]} " == *" advisories "* ]]; then
    report 1
else
    report 0 "no advisory database is here (name one in ONCEOVER_ADVISORY_DB)"
fi
