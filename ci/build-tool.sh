# Compiles a tool of the trade from crates.io into .tools/: sourced, never run.
#
# Owns: at what cost. A tool that is there is never compiled again.

# Optimisation costs more to compile than this short-lived program saves.
build_tool() {
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
        CARGO_TARGET_DIR="$TOOLS/build-$1" \
        cargo install --quiet --root "$TOOLS" --no-track --force "$@"
}

# A tool's own lock may name versions that a registry has lost: then the newest that fit.
build_locked_or_newest() {
    local log="$TOOLS/log/$1.log"
    shift
    build_tool "$@" --locked >"$log" 2>&1 || quietly "$log" build_tool "$@"
}
