# The wasm32 target: sourced by setup.sh, never run.
#
# Owns: getting a standard library for wasm32, and $WASM_ENV, the file that tells
# the build which cargo to use for the browser's side.
# First `rustup target add`, which most machines can do. Where the network holds
# only package registries, Debian's security archive has a newer Rust with its
# sources: the library is compiled from them into a sysroot of our own. Only the
# browser's side uses that Rust; the server stays with rustup's.

wasm_rustup() {
    have rustup || return 1
    rustup target list --installed 2>/dev/null | grep -qx "$WASM_TARGET" ||
        quietly "$TOOLS/log/rustup.log" rustup target add "$WASM_TARGET" || return 1
    printf '# Written by ci/setup.sh: rustup has the target.\n' >"$WASM_ENV"
}

# A Rust without rustup (a distribution's) may have the target, too.
wasm_plain() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$WASM_TARGET/lib" ] || return 1
    printf '# Written by ci/setup.sh: the Rust in PATH has the target.\n' >"$WASM_ENV"
}

# The newest lld that apt offers, as a number.
newest_lld() { apt-cache search --names-only '^lld-[0-9]+$' | sed 's/^lld-\([0-9]*\).*/\1/' | sort -n | tail -n 1; }

wasm_debian_packages() {
    local lld=$1
    [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && have "wasm-ld-$lld" &&
        dpkg -s rustc-web cargo-web rust-web-src >/dev/null 2>&1 && return 0
    apt_install rustc-web cargo-web rust-web-src "lld-$lld"
}

# Compiles std for wasm32 from Debian's sources; the throw-away crate that
# demands it is never linked, only its dependencies are kept. With bitcode, for the
# release optimises across crates when it links; small, for a browser loads it.
wasm_debian_std() {
    local sysroot=$1 lld=$2 work="$TOOLS/build-wasm-std"
    local lib="$sysroot/lib/rustlib/$WASM_TARGET/lib"
    # What was compiled against an earlier library does not fit the new one.
    rm -rf "$work" "$sysroot" "$FRONT_TARGET_DIR"
    mkdir -p "$work/src" "$lib"
    printf '[package]\nname = "throwaway"\nversion = "0.0.0"\nedition = "2021"\n[lib]\ncrate-type = ["cdylib"]\n[workspace]\n' \
        >"$work/Cargo.toml"
    : >"$work/src/lib.rs"
    (
        cd "$work"
        RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_DIR="$work/target" \
            CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="wasm-ld-$lld" \
            CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=-Cembed-bitcode=yes CARGO_PROFILE_RELEASE_OPT_LEVEL=s \
            /usr/bin/cargo build --release -Zbuild-std=std,panic_abort --target "$WASM_TARGET"
    ) || return 1
    cp "$work/target/$WASM_TARGET/release/deps/"*.rlib "$lib/"
    rm -f "$lib/libthrowaway"*
    [ -n "$(ls "$lib"/libstd-*.rlib 2>/dev/null)" ] || return 1
    rm -rf "$work"
}

wasm_debian() {
    is_debian_root || return 1
    [ -n "$(newest_lld)" ] || quietly "$TOOLS/log/apt-update.log" apt-get update || return 1
    local lld wanted found sysroot
    lld=$(newest_lld)
    [ -n "$lld" ] || return 1
    step "installing Rust and lld-$lld from Debian for the browser's side" wasm_debian_packages "$lld" || return 1
    found=$(/usr/bin/rustc --version | awk '{ print $2 }')
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    at_least "$found" "$wanted" ||
        give_up "Debian offers Rust $found, this project needs $wanted, and rustup could not fetch $WASM_TARGET"
    sysroot="$TOOLS/wasm-sysroot-$found"
    [ -n "$(ls "$sysroot/lib/rustlib/$WASM_TARGET/lib"/libstd-*.rlib 2>/dev/null)" ] ||
        step "compiling the standard library for $WASM_TARGET with Rust $found" \
            quietly "$TOOLS/log/wasm-std.log" wasm_debian_std "$sysroot" "$lld" || return 1
    cat >"$WASM_ENV" <<ENV
# Written by ci/setup.sh: Debian's Rust $found builds the browser's side.
export RUSTC=/usr/bin/rustc
export WASM_CARGO=/usr/bin/cargo
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-$lld
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="--sysroot $sysroot"
ENV
}

# ONCEOVER_WASM=debian takes Debian's way at once (to try it where rustup works).
wasm_target() {
    if [ "${ONCEOVER_WASM:-}" != debian ]; then
        wasm_rustup && return 0
        wasm_plain && return 0
    elif grep -q "Debian's Rust" "$WASM_ENV" 2>/dev/null; then
        return 0
    fi
    say "  rustup cannot fetch $WASM_TARGET here (see .tools/log/rustup.log); taking it from Debian"
    wasm_debian && return 0
    give_up "no way to $WASM_TARGET was found: 'rustup target add $WASM_TARGET' failed and Debian's Rust could not stand in"
}
