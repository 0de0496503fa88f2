#!/bin/sh
# sabotage.sh BUILD SOURCE: plants one bug at a time in a copy of one source file, links hone with it,
# and expects `hone prove` to fail and to name the culprit. A bug that is not found fails this test.
set -u
build=$1 source=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
fail() { echo "FAILED: $*"; exit 1; }

# plant NAME FILE OUTPUT SED CULPRIT ARGS...: OUTPUT picks the compilation (kernels have several)
plant() {
    name=$1 file=$2 output=$3 edit=$4 culprit=$5
    shift 5
    sed "$edit" "$source/$file" >"$dir/planted.c"
    cmp -s "$source/$file" "$dir/planted.c" && fail "$name: the edit changes nothing in $file"
    command=$(grep -o "\"command\": \".*$output[^ ]* -c [^\"]*$file\"" "$build/compile_commands.json" |
        head -n 1 | sed 's/^"command": "//; s/"$//; s/\\"/"/g; s/ -o [^ ]* -c [^ ]*$//; s/\\\\"/\\"/g')
    [ -n "$command" ] || fail "$name: no compile command for $file"
    (cd "$build" && eval "$command -w -o $dir/planted.o -c $dir/planted.c") || fail "$name: does not compile"
    ${CC:-cc} $(find "$build/CMakeFiles/hone_program.dir" -name '*.o') "$dir/planted.o" "$build/libhone.a" \
        -lm -lpthread -o "$dir/planted" || fail "$name: does not link"
    if "$dir/planted" prove "$@" >"$dir/out" 2>"$dir/err"; then
        fail "$name: hone prove found nothing"
    fi
    grep -q "^FAILED.*$culprit" "$dir/out" || {
        grep FAILED "$dir/out" | head -n 5
        fail "$name: the culprit ($culprit) is not named"
    }
    echo "found: $name: $(grep -m 1 "^FAILED.*$culprit" "$dir/out" | cut -c 1-150)"
    n=$((n + 1))
}

plant "a term of a backward dropped" src/ops/silu_grad.c silu_grad \
    's/return dy \* silu_slope(x);/return dy * sigmoid_of(x);/' 'silu, gradient' --time-limit 0 --ops 'silu*'
plant "an alias contract widened" src/ops/linear.c linear.c \
    's/^    \.cases = cases,/    .may_overwrite = { HN_IN(0) }, .cases = cases,/' 'linear, aliases' --time-limit 0 --ops 'linear'
plant "a buffer freed early" src/graph/plan_lifetimes.c plan_lifetimes \
    '0,/root->last = s;/s//root->last = s - (s > 2);/' 'which hold the result of' --time-limit 0 --ops 'mul'
level=avx2
[ "$(uname -m)" = aarch64 ] && level=neon
plant "two steps of a reduction swapped" src/kernels/reduce/reduce.c "$level" \
    '/HN_KERNEL_FN(sum_f32)/,/^}/s/\*y = (float)total;/float back = 0; for (int64_t i = n; i-- > 0;) back += x[i]; *y = back;/' \
    'sum, levels' --time-limit 0 --ops 'sum'
plant "a state updated before its last reader" src/graph/plan.c plan.c \
    's/    return hn_plan_offsets(plan);/    for (int s = 1; s < plan->n_steps; s++) if (plan->steps[s].op->updates[0] \&\& !plan->steps[s - 1].op->updates[0] \&\& plan->steps[s-1].out[0] >= 0) { hn_step t = plan->steps[s]; plan->steps[s] = plan->steps[s - 1]; plan->steps[s - 1] = t; plan->values[plan->steps[s].out[0]].step = s; plan->values[t.out[0]].step = s - 1; }\n    return hn_plan_offsets(plan);/' \
    'old version of cache' --time-limit 0

# The same of a model's own certificate: no op is run by itself there.
models=$source/tests/differential/models
printf '{"prompt":"what is it? ","completion":"a certificate."}\n{"prompt":"for whom? ","completion":"for you."}\n' >"$dir/data.jsonl"
plant "rope turned the wrong way back" src/ops/rope.c rope.c \
    's/    back.inverse = !back.inverse;//' 'attn_q.*, along' "$models/llama" --data "$dir/data.jsonl" --plain
plant "a norm's gradient one per cent too large" src/ops/rms_norm.c rms_norm.c \
    's/    d->din\[0\] = dx;/    d->din[0] = hn_scale(d->g, dx, 1.01f, 0);/' 'attn_v.*, along' \
    "$models/llama" --data "$dir/data.jsonl" --plain
plant "no gradient for keys" src/ops/attention.c attention.c \
    's/d->din\[i\] = hn_output(dq, i);/d->din[i] = hn_scale(d->g, hn_output(dq, i), i == K ? 0.0f : 1.0f, 0);/' \
    'attn_k.*, gradient' "$models/qwen3moe" --data "$dir/data.jsonl" --plain
plant "no gradient for a router's weights" src/ops/combine.c combine.c \
    's/d->din\[WEIGHTS\] = hn_output(dx, 1);/d->din[WEIGHTS] = hn_scale(d->g, hn_output(dx, 1), 0, 0);/' \
    'ffn_gate_inp.*, gradient' "$models/gemma4-moe" --data "$dir/data.jsonl" --plain
echo "$n passed, 0 failed, 0 skipped"
