/* The cases of an op, one after the other; an alias that no case exercised is a failure too. Gradients are proved in double,
 * once for all devices; what each device computes is proved of each. */
#include "prove/check_op.h"

/* On env->one. */
static hn_status check_device(hn_prove_env *env, const hn_case *c, hn_alias_tally *tally)
{
    HN_TRY(hn_check_bits(env, c, tally));
    HN_TRY(hn_check_outputs(env, c));
    return hn_check_finite(env, c);
}

/* tallies[0] is the processor's, the next those of the others. */
static hn_status check_case(hn_prove_env *env, const hn_case *c, hn_alias_tally *tallies)
{
    HN_TRY(hn_check_gradient(env, c));
    HN_TRY(check_device(env, c, &tallies[0]));
    for (int i = 0; i < env->n_others; i++) {
        hn_prove_env on = hn_prove_on_begin(env, i);
        const hn_status status = check_device(&on, c, &tallies[1 + i]);
        if (status != HN_OK && !hn_is_no_answer(status)) /* what cannot be run is a failed check, of this device */
            hn_report_note(env->report, c->op->name, HN_CHECK_RUNS, 1, 0, "%s: %s", c->text, hn_error_message());
        hn_prove_on_end(&on);
        if (hn_is_no_answer(status))
            return status;
    }
    return HN_OK;
}

static void note_aliases(hn_report *report, const hn_op *op, const hn_alias_tally *tally)
{
    for (int i = 0; i < HN_MAX_IN; i++)
        if (tally->allowed >> i & 1)
            hn_report_note(report, op->name, HN_CHECK_ALIASES, tally->taken >> i & 1 ? 0 : 1, 0,
                           "no graph made the planner overwrite input %d", i);
}

hn_status hn_check_op(hn_prove_env *env, const hn_op *op)
{
    hn_alias_tally tallies[1 + HN_MAX_DEVICES] = { { 0 } };
    int n = 0;
    for (; op->cases && op->cases[n]; n++) {
        hn_case c;
        HN_TRY(hn_case_parse(op, op->cases[n], &c));
        const hn_status status = check_case(env, &c, tallies);
        if (hn_is_no_answer(status))
            return status;
        if (status != HN_OK) /* a case that cannot be run is a failed check, not a skipped one */
            hn_report_note(env->report, op->name, HN_CHECK_RUNS, 1, 0, "%s: %s", c.text,
                           hn_error_message());
        else
            hn_report_note(env->report, op->name, HN_CHECK_RUNS, 0, 0, "%s", c.text);
    }
    hn_report_note(env->report, op->name, HN_CHECK_RUNS, n ? 0 : 1, 0, "%d cases", n);
    note_aliases(env->report, op, &tallies[0]);
    for (int i = 0; i < env->n_others; i++) {
        const hn_prove_env on = hn_prove_on_begin(env, i);
        note_aliases(env->report, op, &tallies[1 + i]);
        hn_prove_on_end(&on);
    }
    return HN_OK;
}
