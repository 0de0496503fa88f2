#!/bin/sh
# far/run.sh BUILD SOURCE [--all]: tests that take a device, on devices whose memory the host may not touch.
# Each must pass as it does on cpu: the bits that it compares with are the host's own. What is not switched off
# may not run on the host. Counts are printed: calls on far, how many were captured for them, and calls on the host in its
# place.
set -u
build=$1 source=$2 all=${3:-}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
n=0 failed=0 turn=0
try() { # DEVICES OFF NAME COMMAND...
    devices=$1 off=$2 name=$3
    shift 3
    turn=$((turn + 1))
    layout=panel16
    [ $((turn % 2)) -eq 0 ] && [ "$name" != e2e/session ] && [ "$name" != e2e/train ] && layout=plain
    : >"$dir/counts"
    if HN_TEST_DEVICES=$devices HN_FAR_OFF=$off HN_FAR_LAYOUT=$layout HN_FAR_COUNTS="$dir/counts" "$@" >"$dir/out" 2>&1; then
        counts=$(awk '{ far += $1; host += $5; captured += $(NF - 3) } END { print far + 0, host + 0, captured + 0 }' "$dir/counts")
    else
        echo "FAILED: $name on $devices${off:+ without $off}, $layout"
        grep -E 'FAILED|:[0-9]+: ' "$dir/out" | head -n 5
        failed=$((failed + 1))
        return
    fi
    # shellcheck disable=SC2086
    set -- $counts
    far=$1 host=$2
    echo "$name on $devices${off:+ without $off}, $layout: $far calls on far, of $3 captured, $host on the host"
    n=$((n + 1))
    if [ "$far" -eq 0 ] || { [ -z "$off" ] && [ "$host" -ne 0 ]; } || { [ -n "$off" ] && [ "$host" -eq 0 ]; }; then
        echo "FAILED: $name on $devices${off:+ without $off}: not where it belongs"
        failed=$((failed + 1))
    fi
}
program() { try "$1" "$2" "$3" "$build/tests/$3"; }
script() { try "$1" "$2" "$3" sh "$source/tests/$3.sh" "$build/tests/far" "$source"; }

try far "" "prove of every op" "$build/tests/far/hone" prove --ops '*' --time-limit 0
try far,far "" "prove of every op" "$build/tests/far/hone" prove --ops '*' --time-limit 0
try cpu,far "" "prove of every op" "$build/tests/far/hone" prove --ops '*' --time-limit 0
for name in property/session differential/logits differential/gradients differential/preferences differential/parity \
    differential/fused unit/conversation property/rounding failures/long_decode failures/lost_bf16 \
    failures/accumulation_norm failures/non_finite_success failures/non_finite_weight failures/stale_state \
    failures/stored_form_decay failures/unheld_number; do
    program far "" $name
done
program far linear,set_rows property/session
program far gather,rms_norm property/session
program far "" property/sequences
program far low_rank property/sequences
program far linear property/sequences # twice: in either layout
program far linear property/sequences
program far linear_id,top_k,attention_grad differential/gradients
program far adamw,cross_entropy_grad,add failures/stored_form_decay
# Not among these: failures/process_kill, whose run is foretold to 6 % and not to 5 on far, where pages of the base that
# were uploaded stay mapped for a while. In plain rows all of them do: so what --memory foretells (e2e/session, e2e/train) is
# held in panels alone.
for name in e2e/chat e2e/run e2e/session e2e/train failures/resume_loss failures/sampled_fingerprint failures/untried_adapter; do
    script far "" $name
done
# A model's layers on several devices: whole commands, which open all that there are.
for devices in cpu,far far,far; do
    for name in e2e/run e2e/parity failures/resume_loss failures/sampled_fingerprint; do
        script $devices "" $name
    done
done
if [ "$all" = --all ]; then
    try far,far "" "prove" "$build/tests/far/hone" prove
    try cpu,far "" "prove" "$build/tests/far/hone" prove
    program far "" property/session_cache
    program far,far "" property/sequences
    for name in e2e/prove e2e/qlora e2e/parity failures/expert_layout failures/merge_erase failures/router_collapse \
        failures/zero_gradient failures/target_miss failures/signal_loss failures/non_determinism failures/backward_abort \
        failures/adapter_no_op failures/mask_dropped failures/non_finite_success failures/packing_leak; do
        script far "" $name
    done
    for off in linear attention attention_blocks rms_norm rope gather set_rows add mul silu swiglu top_k linear_id combine softmax \
        cross_entropy cross_entropy_grad attention_grad linear_back outer sum_sq adamw scatter_add; do
        for name in property/session differential/gradients; do
            HN_TEST_DEVICES=far HN_FAR_OFF=$off "$build/tests/$name" >"$dir/out" 2>&1 || {
                echo "FAILED: $name without $off"
                failed=$((failed + 1))
            }
            n=$((n + 1))
        done
    done
fi
echo "$n passed, $failed failed"
[ "$failed" -eq 0 ]
