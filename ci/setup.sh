#!/usr/bin/env bash
# Brings a machine to where the project can be built, tested or checked.
#
#   ci/setup.sh demo    PostgreSQL, the wasm target, wasm-bindgen, the web tools
#   ci/setup.sh test    the same, a browser and a NATS server
#   ci/setup.sh check   what the lints and audits need
#   ci/setup.sh bench   PostgreSQL with pgbench, and a NATS server
#
# Looks before it installs, prints each step and its time, can be run again, and
# ends with a sentence where it cannot go on. As root on Debian it installs
# packages; anywhere else it names the package that is missing.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/build-tool.sh"
. "$(dirname "$0")/wasm-target.sh"
cd "$ROOT"
started=$SECONDS
goal=${1:-demo}
case $goal in demo | test | check | bench) ;; *) give_up "'$goal' is none of demo, test, check, bench" ;; esac
mkdir -p "$TOOLS/bin" "$TOOLS/log"

is_debian_root() { [ "$(id -u)" = 0 ] && have apt-get; }

apt_updated=
apt_install() {
    if [ -z "$apt_updated" ]; then
        quietly "$TOOLS/log/apt-update.log" apt-get -o Acquire::Retries=3 update ||
            say "  apt-get update failed; trying with the lists that are there"
        apt_updated=yes
    fi
    DEBIAN_FRONTEND=noninteractive quietly "$TOOLS/log/apt-install.log" \
        apt-get install -y --no-install-recommends "$@"
}

# need COMMAND APT BREW : installs on Debian as root, else asks for it by name.
need() {
    have "$1" && return 0
    is_debian_root ||
        give_up "'$1' is missing. Install it (Debian: apt-get install $2; macOS: brew install $3) and run this again."
    step "installing $2 from Debian" apt_install $2 || give_up "Debian's package $2 could not be installed"
}

rust_version_fits() {
    have cargo || give_up "cargo is missing. Install Rust from https://rustup.rs and run this again."
    local wanted found
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    found=$(rustc --version | awk '{ print $2 }')
    at_least "${found%%-*}" "$wanted" ||
        give_up "Rust $found is older than the $wanted this project needs. Run 'rustup update stable'."
}

postgres_server() {
    [ -n "${DATABASE_URL:-}" ] && [ "$goal" = demo ] && return 0
    postgres_bin >/dev/null && return 0
    is_debian_root ||
        give_up "PostgreSQL 15 or newer is missing. Install its server (Debian: apt-get install postgresql; macOS: brew install postgresql@17), or set DATABASE_URL, and run this again."
    step "installing PostgreSQL from Debian" apt_install postgresql ||
        give_up "Debian's package postgresql could not be installed"
    postgres_bin >/dev/null || give_up "the PostgreSQL that this Debian offers is older than 15"
}

# The program must be exactly the version of the crate, or it refuses the module.
wasm_bindgen_wanted() { locked_version wasm-bindgen; }

wasm_bindgen_fits() {
    have wasm-bindgen && [ "$(wasm-bindgen --version | awk '{ print $2 }')" = "$(wasm_bindgen_wanted)" ]
}

install_wasm_bindgen() {
    local version
    version=$(wasm_bindgen_wanted)
    build_locked_or_newest wasm-bindgen "wasm-bindgen-cli" --bin wasm-bindgen --version "$version" || return 1
    rm -rf "$TOOLS/build-wasm-bindgen-cli"
}

web_tools() {
    local stamp="$ROOT/end2end/node_modules/.onceover-lock"
    cmp -s "$ROOT/end2end/package-lock.json" "$stamp" && return 0
    step "installing the web tools from npm" \
        quietly "$TOOLS/log/npm.log" npm ci --prefix "$ROOT/end2end" --ignore-scripts --no-audit --no-fund ||
        give_up "npm could not install end2end/package-lock.json (see .tools/log/npm.log)"
    cp "$ROOT/end2end/package-lock.json" "$stamp"
}

# Cargo-leptos and our own build both copy public/ as it is: the fonts lie there for either.
fonts() {
    local family subset from to
    mkdir -p "$ROOT/public/fonts"
    for family in inter jetbrains-mono; do
        from="$ROOT/end2end/node_modules/@fontsource-variable/$family"
        for subset in latin latin-ext cyrillic; do
            to="$ROOT/public/fonts/$family-$subset.woff2"
            cmp -s "$from/files/$family-$subset-wght-normal.woff2" "$to" ||
                cp "$from/files/$family-$subset-wght-normal.woff2" "$to"
        done
        cp "$from/LICENSE" "$ROOT/public/fonts/$family-LICENSE.txt"
    done
}

# Servers lie where only root's PATH looks.
nats_server() {
    PATH="$PATH:/usr/sbin:/usr/local/sbin" need nats-server nats-server nats-server
}

# Debian and Homebrew ship it with the server; elsewhere it may be a package of its own.
pgbench_program() {
    pgbench_bin >/dev/null ||
        give_up "pgbench is missing beside PostgreSQL's server. Install it (Fedora: dnf install postgresql-contrib) and run this again."
}

browser() {
    system_chromium >/dev/null && return 0
    if is_debian_root; then
        step "installing Chromium from Debian" apt_install chromium fonts-liberation ||
            give_up "Debian's package chromium could not be installed"
        return 0
    fi
    step "fetching Playwright's Chromium" \
        quietly "$TOOLS/log/playwright.log" "$NODE_BIN/playwright" install chromium ||
        give_up "no Chromium is here and Playwright could not fetch one; install Chromium or Chrome, or name it in ONCEOVER_CHROMIUM"
}

# For the fault suite's wrong clocks; without it that one scene says that it did not run.
faketime_library() {
    local place
    for place in /usr/lib/*/faketime /usr/lib64/faketime /usr/lib/faketime; do
        [ -e "$place/libfaketime.so.1" ] && return 0
    done
    is_debian_root && step "installing libfaketime from Debian" apt_install faketime && return 0
    say "  libfaketime is not here and could not be installed: the tests of wrong clocks will not run"
}

# For the test that poolers are refused; without it that one test says that it did not run.
pgbouncer_program() {
    PATH="$PATH:/usr/sbin:/usr/local/sbin" have pgbouncer && return 0
    is_debian_root && step "installing pgbouncer from Debian" apt_install pgbouncer && return 0
    say "  pgbouncer is not here and could not be installed: the test that poolers are refused will not run"
}

node_fits() {
    need node "nodejs npm" node
    need npm npm node
    local found
    found=$(node --version | tr -d v)
    at_least "$found" 18.0.0 || give_up "Node.js $found is too old; 18 or newer is needed"
}

rust_version_fits
need cc build-essential gcc
if [ "$goal" = bench ]; then
    postgres_server
    pgbench_program
    nats_server
    say "set-up for '$goal' is complete after $((SECONDS - started)) s"
    exit 0
fi
node_fits

wasm_bindgen_job=
if [ "$goal" != check ] && ! wasm_bindgen_fits; then
    say "→ compiling wasm-bindgen $(wasm_bindgen_wanted) beside the other steps (a few minutes)"
    wasm_bindgen_started=$SECONDS
    # In a process group of its own, so that nothing of it outlives this script.
    set -m
    install_wasm_bindgen &
    wasm_bindgen_job=$!
    set +m
    trap 'kill -- "-$wasm_bindgen_job" 2>/dev/null || true' EXIT
    trap 'exit 130' INT TERM
fi

web_tools
fonts
if [ "$goal" = check ]; then
    # Lints of the browser's side need no browser target: see ci/check.sh.
    . "$(dirname "$0")/supply-tools.sh"
    supply_tools
else
    wasm_target
    postgres_server
    if [ "$goal" = test ]; then
        browser
        nats_server
        faketime_library
        pgbouncer_program
    fi
    if [ -n "$wasm_bindgen_job" ]; then
        wait "$wasm_bindgen_job" ||
            give_up "wasm-bindgen could not be compiled (see .tools/log/wasm-bindgen.log)"
        trap - EXIT INT TERM
        say "  wasm-bindgen done in $((SECONDS - wasm_bindgen_started)) s"
        wasm_bindgen_fits || give_up "another wasm-bindgen stands before .tools/bin in PATH"
    fi
fi
say "set-up for '$goal' is complete after $((SECONDS - started)) s"
