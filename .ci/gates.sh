# gates.sh: what .ci/run and .ci/nightly share.
passed=0 failed=0

# gate NAME COMMAND...: its time, and the end of what it printed if it failed
gate() {
    local name=$1 log start=$SECONDS
    shift
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name ($((SECONDS - start)) s)"
    else
        failed=$((failed + 1))
        echo "FAILED  $name ($((SECONDS - start)) s)"
        tail -n 40 "$log"
    fi
    rm -f "$log"
}
