#!/bin/sh
# sabotage.sh BUILD SOURCE: plants one bug at a time in a copy of one source file, links hone with it,
# and expects `hone prove` to fail and to name the culprit. A bug that is not found fails this test.
set -u
build=$1 source=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
fail() { echo "FAILED: $*"; exit 1; }

# compiled NAME FILE OUTPUT SED: the file with the edit, as planted.o; OUTPUT picks the compilation
# (kernels have several)
compiled() {
    name=$1 file=$2 output=$3 edit=$4
    sed "$edit" "$source/$file" >"$dir/planted.c"
    cmp -s "$source/$file" "$dir/planted.c" && fail "$name: the edit changes nothing in $file"
    command=$(grep -o "\"command\": \".*$output[^ ]* -c [^\"]*$file\"" "$build/compile_commands.json" |
        head -n 1 | sed 's/^"command": "//; s/"$//; s/\\"/"/g; s/ -o [^ ]* -c [^ ]*$//; s/\\\\"/\\"/g')
    [ -n "$command" ] || fail "$name: no compile command for $file"
    (cd "$build" && eval "$command -w -o $dir/planted.o -c $dir/planted.c") || fail "$name: does not compile"
}

# number NAME FILE SED TEST ARGS...: the test, linked with the planted file, fails
number() {
    what=$1 edited=$2 change=$3 test=$4
    shift 4
    compiled "$what" "$edited" "$(basename "$edited")" "$change"
    ${CC:-cc} $(find "$build/tests/CMakeFiles/test_$(echo "$test" | tr / _).dir" -name '*.o') "$dir/planted.o" \
        "$build/tests/libhn_harness.a" "$build/libhone.a" -lm -lpthread -o "$dir/planted" || fail "$what: does not link"
    "$dir/planted" "$@" >"$dir/out" 2>&1 && fail "$what: $test found nothing"
    told=$(grep -m 1 '\.c:[0-9]*: ' "$dir/out" || grep -m 1 ': ' "$dir/out")
    echo "found: $what: $(echo "$told" | cut -c 1-150)"
    n=$((n + 1))
}

# The program's objects: those of its sources, and not what a source that is gone has left in the build.
objects=$(grep -E '^src/(cli/|base/os/[a-z]*/program/)' "$build/sources.txt" | sed "s|.*|$build/CMakeFiles/hn_cli.dir/&.o|")
objects="$objects $(grep '^src/server/' "$build/sources.txt" | sed "s|.*|$build/CMakeFiles/hn_server.dir/&.o|")"

# plant NAME FILE OUTPUT SED CULPRIT ARGS...: hone prove fails, and names the culprit
plant() {
    compiled "$1" "$2" "$3" "$4"
    culprit=$5
    shift 5
    ${CC:-cc} $objects "$dir/planted.o" "$build/libhone.a" \
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
plant "two steps of a reduction swapped" src/kernels/reduce/reduce_text.c "$level" \
    '/HN_KERNEL_FN(sum_f32)/,/^}/s/\*y = (float)total;/float back = 0; for (int64_t i = n; i-- > 0;) back += x[i]; *y = back;/' \
    'sum, levels' --time-limit 0 --ops 'sum'
plant "a state updated before its last reader" src/graph/plan.c plan.c \
    's/    return hn_plan_offsets(plan);/    for (int s = 1; s < plan->n_steps; s++) if (plan->steps[s].op->updates[0] \&\& !plan->steps[s - 1].op->updates[0] \&\& plan->steps[s-1].out[0] >= 0) { hn_step t = plan->steps[s]; plan->steps[s] = plan->steps[s - 1]; plan->steps[s - 1] = t; plan->values[plan->steps[s].out[0]].step = s; plan->values[t.out[0]].step = s - 1; }\n    return hn_plan_offsets(plan);/' \
    'old version of cache' --time-limit 0
plant "a part of an architecture without its gradient" src/models/smollm3.c smollm3.c \
    's/nn_swiglu(b, h)/nn_add(b, nn_swiglu(b, h), hn_stop_gradient(b->g, h))/' 'smollm3, .*directions' --time-limit 0

plant "a row that is no number, passed over" src/backend/cpu/products.c products \
    's/    if (b < blocks)/    if (false)/' 'linear_int8, finite' --time-limit 0 --ops 'linear_int8'
plant "another row than the first that is no number" src/backend/cpu/products.c products \
    's/hn_cpu_refuse_row(task, row);/hn_cpu_refuse_row(task, row + 1);/' 'linear_int8, finite' --time-limit 0 --ops 'linear_int8'
plant "one that no kernel sees" src/backend/cpu/cpu.c cpu/cpu.c \
    's/, !binding || !binding->sees_rows, fault/, false, fault/' 'linear_int8, finite' --time-limit 0 --ops 'linear_int8'

# What an op gives must not hang on which of its outputs are read.
plant "a sink that counts where its share is read" src/ops/softmax.c softmax \
    's/= sinks ? hn_get/= sinks \&\& call->out[1] ? hn_get/' 'softmax, outputs' --time-limit 0 --ops 'softmax'
plant "the same of a kernel's binding" src/backend/cpu/bind_softmax.c bind_softmax \
    's/mask, sinks ? &sink : NULL, y/mask, sinks \&\& shares ? \&sink : NULL, y/' 'softmax, outputs' --time-limit 0 --ops 'softmax'
plant "a bias summed where gains are" src/backend/cpu/bind_norm.c bind_norm \
    's/return call->out\[1\] || bias_sum(call) ?/return call->out[1] ?/' 'layer_norm_grad, outputs' --time-limit 0 --ops 'layer_norm_grad'

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
# Of a mode that nothing is trained in: its logits.
"$build/hone" convert "$models/qwen3moe" "$dir/q8.gguf" --type q8_0 >"$dir/out" 2>&1 || fail "q8.gguf: $(cat "$dir/out")"
whole="$dir/q8.gguf --data $dir/data.jsonl --plain --numerics int8"
plant "a scale of 126 for 127 at one level" src/kernels/int8/int8_text.c "$level" 's|f_div(f_set1(127.0f), largest)|f_div(f_set1(126.0f), largest)|' 'logits, levels' $whole
plant "what goes into a product, half as large" src/backend/cpu/products.c products \
    's|^    int64_t b = 0;|    for (int64_t i = 0; i < blocks; i++) to->d[i] *= 0.5f;\n    int64_t b = 0;|' 'logits, distance' $whole
plant "the last of many rows, rounded as the first" src/backend/cpu/products.c products \
    's|quantise(k, (const float \*)x->data + row \* k|quantise(k, (const float *)x->data + (row \&\& row == hn_rows(\&x->type) - 1 ? 0 : row) * k|' 'logits, cuts' $whole
# The certificate in the library: a wrong gradient is an error of the call, and so is nothing else.
certified="e2e/library_prove --hone $build/hone"
number "a norm's gradient one per cent too large, in a host's proof" src/ops/rms_norm.c \
    's/    d->din\[0\] = dx;/    d->din[0] = hn_scale(d->g, dx, 1.01f, 0);/' $certified
number "a failed check that a host is not told of" src/engine/prove.c 's/HN_REQUIRE(!c->sum.n_failed,/HN_REQUIRE(true,/' $certified
number "a proof that cannot be ended" src/engine/examples_prove.c 's/ \.ends = &ends,//' $certified
# Numbers that no certificate knows: each is held by a closed formula.
held=failures/unheld_number
number "wsd a step early" src/train/schedule.c 's/s->steps - s->decay;/s->steps - s->decay - 1;/' $held
number "a cosine as long as the run" src/train/schedule.c 's/left(s, step - s->warm, s->steps - s->warm)/left(s, step - s->warm, s->steps)/' $held
number "a warm-up that begins with something" src/train/schedule.c 's/(double)step \/ (double)s->warm/(double)(step + 1) \/ (double)s->warm/' $held
number "a rate that goes down to nothing" src/train/schedule.c 's/return s->least + (1 - s->least) \* share;/return share;/' $held
number "the epsilon of clipping" src/ops/clip_factor.c 's/+ 1e-6);/+ 1e-3);/' $held
number "no clipping" src/ops/clip_factor.c 's/factor > 1 ? 1 : factor/1.0/' $held
number "a penalty that helps what is unlikely" src/infer/sampler.c 's/logit > 0 ? logit \/ o->repetition : logit \* o->repetition/logit \/ o->repetition/' $held
number "a penalty for each time" src/infer/sampler.c 's/        s->counts\[t\] = 0;//' $held
number "a frequency that counts once" src/infer/sampler.c 's/o->frequency \* (float)count/o->frequency/' $held
number "accuracy of the wrong row" src/train/evaluator.c 's/== e->micro.labels\[from + i\]/== e->micro.labels[from]/' $held
number "a loss by the number of tokens" src/train/evaluator.c 's/sums->weight += (double)e->micro.weights\[from + i\];/sums->weight += 1;/' $held
number "one count for all experts" src/infer/imatrix.c 's/t->counts\[expert\]++;/t->counts[0]++;/' $held
number "patience lost on resume" src/train/run.c 's/    r->state = found;/    r->state = found; r->state.n_worse = 0;/' e2e/finetune --hone "$build/hone"
number "decay of vectors" src/train/learner.c 's/rank >= 2 ? usual : 0/rank >= 1 ? usual : 0/' failures/stored_form_decay
number "decay of a stored form" src/train/learner.c 's/of->base->is_shifted ? 1 : 0/0/' failures/stored_form_decay
number "balance by the experts a token" src/train/objective.c 's/o->o.balance \* used/o->o.balance/' failures/stored_form_decay
# Losses and optimisers: formulas in float64.
formula=differential/preferences
number "odds the wrong way round" src/train/goal_orpo.c 's/log_odds(g, chosen), log_odds(g, rejected)/log_odds(g, rejected), log_odds(g, chosen)/' $formula
number "an answer's sum for its mean" src/train/batch.c 's/(double)weight \/ whole/(double)weight/' $formula
number "half of orpo's beta" src/train/goal_orpo.c 's/hn_objective_beta(o), 0/hn_objective_beta(o) * 0.5f, 0/' $formula
number "a pair that counts once for twice" src/train/goal_orpo.c 's/hn_mul(g, each, o->pair_weights)/each/' $formula
number "an anchor below nothing" src/train/evaluator.c 's/mean > 0 ? (float)mean : 0/(float)mean/' $formula
number "no anchor" src/train/evaluator.c 's/\*out = mean > 0 ? (float)mean : 0/*out = 0/' $formula
number "an answer of its own prompt" src/train/batch.c 's/hn_batch_sequence(b, (i ? i : b->n_examples) - 1)/hn_batch_sequence(b, i)/' $formula
number "a label that is lost" src/train/batch.c 's/batch->labels\[i\] < 0 ? -1 : 1/1/' $formula
number "what labels count, exchanged" src/train/goal_kto.c 's/(desirable - undesirable) \/ 2/(undesirable - desirable) \/ 2/' $formula
number "an example's weight twice" src/train/batch.c 's/\* even)/* 1)/' $formula
number "half of dpo's beta" src/train/goal_dpo.c 's/-hn_objective_beta(o), 0/-hn_objective_beta(o) * 0.5f, 0/' $formula
number "one of lion's betas for both" src/backend/cpu/bind_optim.c 's/at->beta2), .rate = (float)lr,/at->beta1), .rate = (float)lr,/' differential/model_ops
number "decay of lion that adds" src/backend/cpu/bind_optim.c 's/(1 - lr \* (double)at->decay), .toward = at->toward$/(1 + lr * (double)at->decay), .toward = at->toward/' differential/model_ops
plant "lion against a gradient's sign" src/ops/lion.c lion.c 's/mixed < 0 ? -1 :/mixed < 0 ? 1 :/' 'lion' --time-limit 0 --ops 'lion'
# Guesses: what is drawn, where, after what, and from which keys.
ahead="property/drafts --quick"
number "draws of one number for all guesses" src/engine/lm_draft.c 's/ids, before + i, &drawn\[i\]/ids, before, \&drawn[i]/' $ahead
number "penalties for what was guessed wrong" src/engine/lm_draft.c 's/, ids, before + i, &drawn\[i\]/, ids + (i ? 1 : 0), before + i, \&drawn[i]/' $ahead
number "guesses that stay in a sequence" src/engine/lm_draft.c 's/before + \*n - 1);/length);/' $ahead
number "a guess that need not be what is drawn" src/engine/lm_draft.c 's/if (i + 1 < rows && drawn\[i\] != ids\[before + i\])/if (false)/' $ahead
number "keys of wrong guesses" src/infer/session.c 's/    return n > s->n && hn_sequences_logits(s->all, n - 1 - s->rows_from) && common_with(s, tokens, n) == n;/    return n > s->n \&\& hn_sequences_logits(s->all, n - 1 - s->rows_from);/' $ahead
number "the first guess's logits for all" src/infer/session.c 's/    s->row = n - 1 - s->rows_from;/    s->row = 0;/' $ahead
number "guesses in a session's file" src/infer/session.c 's/> s->n) \/\* guesses/> s->n + 100) \/* guesses/' $ahead
number "a number too many for the draft model" src/infer/drafter.c 's/number + (uint64_t)i, options/number + (uint64_t)i + 1, options/' $ahead
number "no step without guesses that cannot be run" src/infer/session.c 's/if (n_guess && status != HN_OK && status != HN_ERR_CANCELLED)/if (false)/' failures/non_finite_weight
number "a number that is none, without its weight" src/models/finite.c 's/ \.met = met,//' failures/int8_not_finite
number "rows of another x, kept" src/backend/cpu/cpu.c 's/return x->data == then->data \&\& /return /' property/kept_rows
number "more than rows, kept" src/backend/cpu/bind_experts.c 's/(linear_id_int8, 2, IDS)/(linear_id_int8, 3, IDS)/' property/kept_rows
number "rows in the order of other ids, kept" src/backend/cpu/bind_experts.c 's/(linear_id_int8, 2, IDS)/(linear_id_int8, 2, 0)/' property/kept_rows
number "a session of another definition" src/infer/sequences_file.c 's/    HN_TRY(check_key(meta, KEY_NUMERICS.*//' failures/old_numerics --hone "$build/hone"
number "logits of another definition" src/infer/perplexity.c 's/    HN_TRY(check_definition(j));//' failures/old_numerics --hone "$build/hone"
number "an adapter whose word counts for nothing" src/infer/adapter_test.c 's/    then.numerics = out->recorded;/    out->recorded = HN_NUMERICS_F32;/' failures/old_numerics --hone "$build/hone"
number "an adapter in another mode, without its budget" src/infer/adapter_test.c 's/    HN_REQUIRE(out->kl <= out->budget, /    HN_REQUIRE(true, /' failures/old_numerics --hone "$build/hone"
number "a draft model's session that stays" src/engine/lm_draft.c 's/^    hn_session_free(d->session);//' fault/drafts
number "guessing that allocates" src/infer/drafter.c 's/^    close_guess(d);/    close_guess(d); hn_free(d->heap, hn_alloc(d->heap, HN_TAG_STATE, 8));/' fault/drafts
number "a draft model that is let go too late" src/engine/lm_draft.c 's/^    hn_lm_let_go(model);//' fault/drafts
# The same answer for everybody: whose adapter, whose keys, which draw.
served=property/serve
number "the first adapter for everybody" src/server/answer.c 's/? &a->adapter->number : NULL/? \&a->model->adapters->number : NULL/' $served
number "the first adapter for every row that has one" src/infer/sequences.c 's/b->adapter_ids\[at\] = s->slot;/b->adapter_ids[at] = s->slot < 0 ? s->slot : 0;/' property/scheduler --quick
number "a beginning of another adapter" src/engine/beginnings.c 's/node->whose.adapter == whose.adapter/true/' $served
number "a stale block for the second of a beginning" src/infer/sequences_lend.c 's/keys\[i\]->all/keys[i ? i - 1 : 0]->all/g' $served
number "a draw of the number after" src/engine/scheduler.c 's/hn_lm_sampler_begin(r->sampler, o->n, 0)/hn_lm_sampler_begin(r->sampler, o->n, 1)/' $served
number "a choice with the seed of the next" src/server/answer.c 's/c->index % a->n_each);/c->index % a->n_each + 1);/' $served
number "a guess that is taken for what is drawn, among others" src/engine/lm_draft.c 's/if (i + 1 < rows \&\& drawn\[i\] != ids\[before + i\])/if (false)/' $served
echo "$n passed, 0 failed, 0 skipped"
