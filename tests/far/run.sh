#!/bin/sh
# far/run.sh BUILD SOURCE [--quick | --all [PATTERN]]: tests that take a device, on devices whose memory the host may not touch.
# Each must pass as it does on cpu: the bits that it compares with are the host's own. What is not switched off
# may not run on the host, and the host may not wait in the middle of a step, whoever else works beside far. Counts are printed: calls on
# far, how many were captured for them, calls on the host in its place, and how often it was made a fence. Some by turns in every layout; --quick: one of each kind; --all: every test that CTest has (tests/far/names, which CMake writes), on each
# list of devices, in layouts by turns. Nobody lists them: what runs nothing on any device by default is told and left, and
# those that cannot are named in tests/far/exceptions.txt with the reason. One that runs on far alone and leaves it idle
# beside another device fails, unless it is named there for that list: such runs are counted apart. PATTERN: names to be tried of all.
set -u
build=$(cd "$1" && pwd) source=$(cd "$2" && pwd) all=${3:-} pattern=${4:-.}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
# The build as scripts find it, with far in the program.
mkdir "$dir/build" && ln -s "$build"/* "$dir/build" && rm "$dir/build/hone" && ln -s "$build/tests/far/hone" "$dir/build/hone" || exit 1
n=0 failed=0 turn=0 test=0 none=0 idle=0
layout_of() { # NUMBER: of these by turns
    case $(($1 % 4)) in 0) echo mixed ;; 1) echo own ;; 2) echo panel16 ;; *) echo plain ;; esac
}
fails() { echo "FAILED: $*"; failed=$((failed + 1)); }
counts() { awk '{ far += $1; host += $5; captured += $(NF - 3); fenced += $(NF - 5) } END { print far + 0, host + 0, captured + 0, fenced + 0 }' "$dir/counts"; }
runs() { # DEVICES OFF LAYOUT COMMAND...: what it counted is in `far`, `host` and `captured`
    devices=$1 off=$2 layout=$3
    shift 3
    : >"$dir/counts"
    HN_TEST_DEVICES=$devices HN_FAR_OFF=$off HN_FAR_LAYOUT=$layout HN_FAR_COUNTS="$dir/counts" "$@" >"$dir/out" 2>&1 </dev/null
    status=$?
    # shellcheck disable=SC2046
    set -- $(counts)
    far=$1 host=$2 captured=$3 fenced=$4
    return $status
}
tell() { echo "$1: $far calls on far, of $captured captured, $host on the host; the host a fence $fenced times"; }
try() { # DEVICES OFF NAME COMMAND...
    devices=$1 off=$2 name=$3
    shift 3
    turn=$((turn + 1))
    layout=$(layout_of $turn)
    what="$name on $devices${off:+ without $off}, $layout"
    if ! runs "$devices" "$off" $layout "$@"; then
        fails "$what"
        grep -E 'FAILED|:[0-9]+: ' "$dir/out" | head -n 5 | cut -c 1-300
        return
    fi
    tell "$what"
    n=$((n + 1))
    if [ "$far" -eq 0 ] || { [ -z "$off" ] && [ "$host" -ne 0 ]; } || { [ -n "$off" ] && [ "$host" -eq 0 ]; }; then
        fails "$what: not where it belongs"
    fi
    [ "$fenced" -eq 0 ] || fails "$what: the host was a fence $fenced times"
}
program() { try "$1" "$2" "$3" "$build/tests/$3"; }
script() { try "$1" "$2" "$3" sh "$source/tests/$3.sh" "$dir/build" "$source"; }

# ---- beside the processors: what `hone prove --device` says of far, and of a kernel of its own that is wrong ----

proves() { # NAME HONE'S WORDS...
    what="prove of $1 beside the processors"
    shift
    runs cpu "" plain "$build/tests/far/hone" prove "$@" || fails "$what"
    tell "$what"
    n=$((n + 1))
    [ "$far" -gt 0 ] && [ "$host" -eq 0 ] || fails "$what: not where it belongs"
    grep -q 'far too, which promises the CPU.s bits' "$dir/out" || fails "$what: it does not say so"
    for kind in devices plans; do
        grep -q "^$kind .* 0  0 " "$dir/out" || fails "$what: no $kind"
    done
}
finds() { # OP FAILURE HONE'S WORDS...: of which far's kernel is wrong in the last bits
    HN_FAR_WRONG=$1 && export HN_FAR_WRONG
    what="prove with far's $1 wrong" failure=$2
    shift 2
    runs cpu "" plain "$build/tests/far/hone" prove "$@" && fails "$what: it passes"
    unset HN_FAR_WRONG
    grep -q "^FAILED $failure" "$dir/out" || fails "$what: $(grep -E '^FAILED|^hone' "$dir/out" | head -n 1)"
    n=$((n + 1))
}
proofs() {
    model="$source/tests/differential/models/qwen3moe --data $dir/chats.jsonl --plain"
    printf '{"prompt":"what is it? ","completion":"a certificate."}\n{"prompt":"for whom? ","completion":"for you."}\n' >"$dir/chats.jsonl"
    proves "every op" --ops '*' --time-limit 0 --device far
    # shellcheck disable=SC2086
    for more in '--device far,far' '--device far --numerics mixed' '--device far --numerics bf16'; do
        proves "a model, $more" $model $more
        case $more in *bf16) wrong=round_to ;; *) wrong=linear ;; esac # what is rounded has no other last bits
        finds $wrong '.*devices: ' $model $more
    done
    finds silu 'silu on far, devices: ' --ops 'silu*' --time-limit 0 --device far
    finds rms_norm_grad 'rms_norm on far, devices: .* gradient' --ops 'rms_norm' --time-limit 0 --device far
    [ "$all" = --quick ] || proves "all" --time-limit 0 --device far
}

# ---- every test that there is ----

exceptions=$source/tests/far/exceptions.txt lists='far cpu,far far,far'
reason() { sed -n "s|^$1 \\(.*\\)|\\1|p" "$exceptions"; }     # NAME: why it is tried on no list
idles() { sed -n "s|^$1@$2 \\(.*\\)|\\1|p" "$exceptions"; }    # NAME DEVICES: why it leaves far idle there
on_every_list() { # NAME COMMAND...: one that runs nothing on far, alone, takes no device
    name=$1
    shift
    test=$((test + 1))
    for devices in $lists; do
        turn=$((turn + 1)) # another layout from list to list, and from test to test on one list
        layout=$(layout_of $((turn + test)))
        what="$name on $devices, $layout"
        runs $devices "" $layout timeout 1800 "$@"
        got=$?
        [ $got -eq 77 ] && echo "$name is skipped" && return
        if [ $got -ne 0 ]; then
            fails "$what: status $got"
            grep -E 'FAILED|:[0-9]+: ' "$dir/out" | head -n 5 | cut -c 1-300
            continue
        fi
        if [ "$devices" = far ] && [ "$far" -eq 0 ]; then
            [ "$host" -eq 0 ] || fails "$what: all on the host"
            none=$((none + 1))
            return
        fi
        why=$(idles "$name" "$devices")
        if [ "$far" -eq 0 ]; then
            echo "$what: nothing ran on far${why:+: $why}"
            idle=$((idle + 1))
            [ -n "$why" ] || fails "$what: nothing ran on far"
        else
            tell "$what"
            n=$((n + 1))
            [ -z "$why" ] || fails "$what: $far calls on far, and tests/far/exceptions.txt says that it has none: $why"
        fi
        [ "$host" -eq 0 ] || fails "$what: not where it belongs"
        [ "$fenced" -eq 0 ] || fails "$what: the host was a fence $fenced times"
    done
}
all_tests() {
    while read -r name _; do
        case $name in '' | '#'*) continue ;; esac
        grep -q "^${name%@*} " "$build/tests/far/names" || fails "$name of tests/far/exceptions.txt: no such test"
        case $name in *@*) case " $lists " in *" ${name#*@} "*) ;; *) fails "$name of tests/far/exceptions.txt: no such list of devices" ;; esac ;; esac
    done <"$exceptions"
    grep -E -- "$pattern" "$build/tests/far/names" >"$dir/names"
    while read -r name kind <&3; do
        if [ -n "$(reason "$name")" ]; then
            echo "$name is left out: $(reason "$name")"
        elif [ "$kind" = script ]; then
            on_every_list "$name" sh "$source/tests/${name%.sh}.sh" "$dir/build" "$source"
        elif [ "$kind" = hone ]; then
            on_every_list "$name" "$build/tests/$name" --hone "$build/tests/far/hone"
        else
            on_every_list "$name" "$build/tests/$name"
        fi
    done 3<"$dir/names"
}
if [ "$all" = --all ] && [ "$pattern" != . ]; then
    all_tests
    echo "$n passed, $failed failed, $none take no device, in $idle runs nothing ran on far"
    [ "$failed" -eq 0 ]
    exit
fi

try far "" "prove of every op" "$build/tests/far/hone" prove --ops '*' --time-limit 0
proofs
if [ "$all" = --quick ]; then
    for name in property/session differential/gradients differential/fused failures/stale_state; do
        program far "" $name
    done
    program far linear,set_rows property/session
    script far "" e2e/train
    script far,far "" e2e/run
    script cpu,far "" failures/resume_loss
    echo "$n passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
fi
try far,far "" "prove of every op" "$build/tests/far/hone" prove --ops '*' --time-limit 0
try cpu,far "" "prove of every op" "$build/tests/far/hone" prove --ops '*' --time-limit 0
for name in property/session differential/logits differential/gradients differential/preferences differential/parity \
    differential/fused unit/conversation property/rounding failures/long_decode failures/lost_bf16 \
    failures/accumulation_norm failures/non_finite_success failures/non_finite_weight failures/stale_state \
    failures/stored_form_decay failures/unheld_number e2e/cancel; do
    program far "" $name
done
program far linear,set_rows property/session
program far gather,rms_norm property/session
program far "" property/sequences
program far low_rank property/sequences
program far linear property/sequences # four times: in every layout
program far linear property/sequences
program far linear property/sequences
program far linear property/sequences
program far linear_id,top_k,attention_grad differential/gradients
program far adamw,cross_entropy_grad,add failures/stored_form_decay
for name in e2e/session e2e/run e2e/train e2e/chat failures/resume_loss failures/sampled_fingerprint failures/untried_adapter; do
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
    for off in linear attention attention_blocks rms_norm rope gather set_rows add mul silu swiglu top_k linear_id combine router \
        cross_entropy cross_entropy_grad attention_grad linear_back outer sum_sq adamw scatter_add; do
        on_host=0
        for name in property/session differential/gradients; do
            turn=$((turn + 1))
            runs far $off "$(layout_of $turn)" "$build/tests/$name" || fails "$name without $off"
            tell "$name on far without $off, $(layout_of $turn)"
            on_host=$((on_host + host)) n=$((n + 1))
        done
        [ "$on_host" -gt 0 ] || fails "without $off: nothing of it ran on the host"
    done
    all_tests
fi
echo "$n passed, $failed failed${all:+, $none take no device, in $idle runs nothing ran on far}"
[ "$failed" -eq 0 ]
