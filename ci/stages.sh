# Stages with a share of the CI's 90 minutes: sourced, never run.
#
# Owns: printing what each stage took against its share, and remembering failures
# so that one broken stage does not hide what the others would have said.

STAGES_FILE=${ONCEOVER_STAGES_FILE:-}
if [ -z "$STAGES_FILE" ]; then
    mkdir -p "$ROOT/target"
    STAGES_FILE="$ROOT/target/stages"
    : >"$STAGES_FILE"
    : >"$STAGES_FILE.failed"
    : >"$STAGES_FILE.notrun"
fi
export ONCEOVER_STAGES_FILE=$STAGES_FILE

minutes() { awk -v seconds="$1" 'BEGIN { printf "%.1f", seconds / 60 }'; }

# stage NAME SHARE COMMAND… : SHARE in minutes. Returns the command's exit code.
stage() {
    local name=$1 share=$2 started=$SECONDS code=0 took verdict=passed over=
    shift 2
    printf '\n== %s (share: %s min)\n' "$name" "$share"
    "$@" || code=$?
    took=$((SECONDS - started))
    [ "$code" = 0 ] || verdict=FAILED
    [ "$took" -le $((share * 60)) ] || over=', OVER ITS SHARE'
    printf '== %s %s: %s of %s min%s\n' "$name" "$verdict" "$(minutes "$took")" "$share" "$over"
    printf '%s|%s|%s|%s\n' "$name" "$took" "$share" "$verdict" >>"$STAGES_FILE"
    return "$code"
}

# The table of all stages so far, and by name what failed in them or could not run on this machine; fails
# where one failed.
stages_summary() {
    [ ! -s "$STAGES_FILE.notrun" ] || { printf '\nnot run on this machine:\n'; cut -c-300 "$STAGES_FILE.notrun"; }
    [ ! -s "$STAGES_FILE.failed" ] || { printf '\nfailed:\n'; cut -c-700 "$STAGES_FILE.failed" | head -n 8; }
    printf '\nstage                        minutes  share\n'
    awk -F'|' '{
        printf "%-28s %7.1f %6d%s%s\n", $1, $2 / 60, $3, ($4 == "passed" ? "" : "  " $4), ($2 > $3 * 60 ? "  over its share" : "")
        total += $2
        if ($4 != "passed") failed = failed (failed == "" ? "" : ", ") $1
    } END {
        printf "%-28s %7.1f\n", "total", total / 60
        if (failed != "") { printf "failed: %s\n", failed; exit 1 }
    }' "$STAGES_FILE"
}
