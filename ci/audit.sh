#!/usr/bin/env bash
# Looks up every locked crate in the RustSec advisory database.
#
# Owns: where the database comes from and that its date is told. A copy on this
# machine first (ONCEOVER_ADVISORY_DB: a folder or a .tgz; else a shared folder
# beside the clone), then the network, else one sentence: an audit that cannot
# run must not look like one that found nothing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
CACHE="$TOOLS/advisory-db"
# Unmaintained and unsound crates count; exceptions stand with reasons in .cargo/audit.toml.
DENY=(--deny unmaintained --deny unsound)

local_copy() {
    local found=${ONCEOVER_ADVISORY_DB:-}
    [ -n "$found" ] || found=$(ls -d ../*/data/rustsec-advisory-db-*.tgz 2>/dev/null | sort | tail -n 1 || true)
    [ -e "$found" ] && say "$found"
}

# Unpacks an archive once; prints the folder that holds crates/.
folder_of() {
    local source=$1 crates
    if [ -f "$source" ]; then
        if [ "$(cat "$CACHE/source" 2>/dev/null)" != "$(cksum <"$source")" ]; then
            rm -rf "$CACHE" && mkdir -p "$CACHE"
            tar -xzf "$source" -C "$CACHE"
            cksum <"$source" >"$CACHE/source"
        fi
        source=$CACHE
    fi
    crates=$(find "$source" -maxdepth 2 -type d -name crates | head -n 1)
    [ -n "$crates" ] && dirname "$crates"
}

newest_advisory() {
    grep -rhoE '^date = "[0-9-]+"' "$1/crates" | sort | tail -n 1 | cut -d'"' -f2
}

# A lock with a known fault must be refused, or the audit proves nothing.
scanner_sees() {
    local probe="$TOOLS/audit-probe.lock"
    printf 'version = 4\n\n[[package]]\nname = "chrono"\nversion = "0.4.19"\nsource = "registry+https://github.com/rust-lang/crates.io-index"\n' >"$probe"
    if cargo audit "$@" --file "$probe" >/dev/null 2>&1; then
        give_up "the advisory audit lets chrono 0.4.19 pass, which has a known fault"
    fi
}

limited() { if have timeout; then timeout 120 "$@"; else "$@"; fi; }

have cargo-audit || {
    say "advisories: SKIPPED, cargo-audit is not installed (run ci/setup.sh check)"
    exit 0
}
if source=$(local_copy); then
    db=$(folder_of "$source") || give_up "$source holds no advisories"
    options=(--db "$db" --no-fetch --stale --no-yanked)
    say "advisories: $(basename "$source"), newest advisory of $(newest_advisory "$db")"
elif limited cargo audit --quiet --file Cargo.lock >/dev/null 2>"$TOOLS/log/audit-fetch.log" ||
    ! grep -qiE 'fetch|network|resolve|connect|timed out|git operation' "$TOOLS/log/audit-fetch.log"; then
    options=(--no-fetch)
    say "advisories: fetched from the network"
else
    say "advisories: SKIPPED, no copy of the database is here and the network does not reach it (name one in ONCEOVER_ADVISORY_DB)"
    exit 0
fi
scanner_sees "${options[@]}"
cargo audit "${options[@]}" "${DENY[@]}"
