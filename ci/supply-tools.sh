# The scanner of dependencies: sourced by setup.sh, never run.
#
# Owns: getting cargo-deny. It is compiled without optimisation that it does not
# need (two CPU-minutes) and kept in .tools/.

CARGO_DENY_VERSION=0.20.2

supply_tools() {
    [ "$(cargo-deny --version 2>/dev/null)" = "cargo-deny $CARGO_DENY_VERSION" ] && return 0
    step "compiling cargo-deny $CARGO_DENY_VERSION (a minute or two)" \
        build_locked_or_newest cargo-deny cargo-deny --no-default-features --version "$CARGO_DENY_VERSION" ||
        say "  cargo-deny could not be compiled; the scan of dependencies will be skipped (see .tools/log/cargo-deny.log)"
    rm -rf "$TOOLS/build-cargo-deny"
}
