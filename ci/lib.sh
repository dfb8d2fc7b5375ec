# Shared by the scripts of this folder; sourced, never run.
#
# Owns: where tools lie, how steps are printed and timed, how a script gives up.
# Guards against: scripts that disagree about paths, and silence during long steps.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS="$ROOT/.tools"
WASM_ENV="$TOOLS/wasm.env"
WASM_TARGET=wasm32-unknown-unknown
NODE_BIN="$ROOT/end2end/node_modules/.bin"
# The same folder that `cargo leptos` uses: server and browser builds never
# rebuild each other, and whoever has cargo-leptos shares what is compiled.
FRONT_TARGET_DIR="${CARGO_TARGET_DIR:-$ROOT/target}/front"
export PATH="$TOOLS/bin:$PATH"
# A missing toolchain is a sentence of ours, not a silent download.
export RUSTUP_AUTO_INSTALL=0

say() { printf '%s\n' "$*"; }

# Ends the script with one plain sentence.
give_up() {
    printf '%s: cannot go on: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# What a scan of the supply holds for: the commit, and the locks and rules as they lie here, committed or not.
supply_mark() {
    local judged=(Cargo.lock server/fuzz/Cargo.lock end2end/package-lock.json ci/fixtures/vulnerable/Cargo.lock
        deny.toml ci/supply.sh)
    say "$(git -C "$ROOT" rev-parse HEAD 2>/dev/null || say none)+$(cd "$ROOT" && cat "${judged[@]}" | git hash-object --stdin)"
}

# step WHAT COMMAND… : says what happens, does it, says how long it took.
step() {
    local what=$1 started=$SECONDS
    shift
    say "→ $what"
    "$@" || return $?
    say "  done in $((SECONDS - started)) s"
}

# quietly LOG COMMAND… : keeps a tool's chatter in a file, shows its end on failure.
quietly() {
    local log=$1
    shift
    if ! "$@" >"$log" 2>&1; then
        tail -n 25 "$log" >&2
        return 1
    fi
}

# at_least VERSION MINIMUM : dotted numbers, compared part by part.
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$2" ]
}

# The version of a package in the lock file.
locked_version() {
    awk -v name="$1" '$0 == "name = \"" name "\"" { getline; gsub(/[^0-9.]/, "", $3); print $3; exit }' \
        "$ROOT/Cargo.lock"
}

# The folder that holds PostgreSQL's server binaries, version 15 or newer, the newest first.
postgres_bin() {
    local dir version
    # PATH first, as the program itself looks.
    for dir in "$(dirname "$(command -v initdb 2>/dev/null || echo /none/x)")" "$(pg_config --bindir 2>/dev/null)" \
        $(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin \
            /usr/local/opt/postgresql*/bin /home/linuxbrew/.linuxbrew/opt/postgresql*/bin \
            /Applications/Postgres.app/Contents/Versions/*/bin 2>/dev/null | sort -rV); do
        [ -n "$dir" ] && [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] || continue
        version=$("$dir/postgres" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
        if [ "${version:-0}" -ge 15 ]; then
            say "$dir"
            return 0
        fi
    done
    return 1
}

# The folder of pgbench: beside the server itself, wherever a link to it stands, else in PATH.
pgbench_bin() {
    local server dir
    server=$(postgres_bin)/postgres
    for dir in "$(dirname "$server")" "$(dirname "$(readlink -f "$server")")" \
        "$(dirname "$(command -v pgbench || echo /none/x)")"; do
        if [ -x "$dir/pgbench" ]; then
            say "$dir"
            return 0
        fi
    done
    return 1
}

# A browser that is on the machine already; Playwright's own is looked for by Playwright.
system_chromium() {
    local candidate
    for candidate in "${ONCEOVER_CHROMIUM:-}" /usr/bin/chromium /usr/bin/chromium-browser \
        /usr/bin/google-chrome "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        if [ -n "$candidate" ] && [ -x "$candidate" ]; then
            say "$candidate"
            return 0
        fi
    done
    return 1
}
