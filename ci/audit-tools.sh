# The advisory scanner: sourced by setup.sh, never run.
#
# Owns: getting cargo-audit. It is compiled without optimisation that it does not
# need (four CPU-minutes instead of ten) and kept in .tools/.

CARGO_AUDIT_VERSION=0.22.2

audit_tools() {
    have cargo-audit && return 0
    step "compiling cargo-audit $CARGO_AUDIT_VERSION (a few minutes)" \
        build_locked_or_newest cargo-audit cargo-audit --no-default-features --version "$CARGO_AUDIT_VERSION" ||
        say "  cargo-audit could not be compiled; the audit will be skipped (see .tools/log/cargo-audit.log)"
    rm -rf "$TOOLS/build-cargo-audit"
}
