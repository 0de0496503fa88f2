/* The cases of an op, one after the other; an alias that no case exercised is a failure too. */
#include "prove/check_op.h"

hn_status hn_check_op(hn_prove_env *env, const hn_op *op)
{
    hn_alias_tally tally = { 0 };
    int n = 0;
    for (; op->cases && op->cases[n]; n++) {
        hn_case c;
        HN_TRY(hn_case_parse(op, op->cases[n], &c));
        hn_status status = hn_check_gradient(env, &c);
        if (status == HN_OK)
            status = hn_check_bits(env, &c, &tally);
        if (status == HN_OK)
            status = hn_check_outputs(env, &c);
        if (status == HN_OK)
            status = hn_check_finite(env, &c);
        if (hn_is_no_answer(status))
            return status;
        if (status != HN_OK) /* a case that cannot be run is a failed check, not a skipped one */
            hn_report_note(env->report, op->name, HN_CHECK_RUNS, 1, 0, "%s: %s", c.text,
                           hn_error_message());
        else
            hn_report_note(env->report, op->name, HN_CHECK_RUNS, 0, 0, "%s", c.text);
    }
    hn_report_note(env->report, op->name, HN_CHECK_RUNS, n ? 0 : 1, 0, "%d cases", n);
    for (int i = 0; i < HN_MAX_IN; i++)
        if (tally.allowed >> i & 1)
            hn_report_note(env->report, op->name, HN_CHECK_ALIASES, tally.taken >> i & 1 ? 0 : 1, 0,
                           "no graph made the planner overwrite input %d", i);
    return HN_OK;
}
