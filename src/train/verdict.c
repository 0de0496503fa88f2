/* A run helped if what was held out says so; without that only the training loss is left, and the words say which
 * it was. What steps say of learning does not stand against what is held out: each step has other examples. */
#include "train/verdict.h"

#include <math.h>

/* Of the last steps: one alone may be of an odd example. */
static double loss_at_end(const hn_verdict_input *in)
{
    const size_t most = in->n / 4 + 1 < 10 ? in->n / 4 + 1 : 10;
    double sum = 0;
    size_t n = 0;
    for (size_t i = in->n; i-- > 0 && n < most;)
        if (isfinite(in->losses[i])) {
            sum += in->losses[i];
            n++;
        }
    return n ? sum / (double)n : (double)NAN;
}

static bool any_improved(const hn_verdict_input *in)
{
    for (size_t i = 1; i < in->n; i++)
        if (in->losses[i] < in->losses[0])
            return true;
    return false;
}

static void judge_held(const hn_verdict_input *in, hn_str *out)
{
    size_t best = in->n_held - 1;
    for (size_t i = in->n_held - 1; i-- > 1;)
        best = in->held[i] < in->held[best] ? i : best;
    const double first = in->held[0], last = in->held[in->keeps_best ? best : in->n_held - 1];
    if (last < first)
        hn_str_print(out, "The held-out loss fell from %.4f to %.4f: training helped.", first, last);
    else if (last > first)
        hn_str_print(out, "The held-out loss rose from %.4f to %.4f: the result is worse than what it "
                          "began with.", first, last);
    else
        hn_str_print(out, "The held-out loss is what it was before training, %.4f: nothing was learned "
                          "that helps.", first);
    if (in->held[best] < last && in->held[best] < first)
        hn_str_print(out, " It was lowest after step %.0f, %.4f, and has risen since: fewer steps, or "
                          "--patience, would keep that.", in->held_steps[best], in->held[best]);
}

void hn_verdict_write(const hn_verdict_input *in, hn_str *out)
{
    const double end = loss_at_end(in);
    if (in->n_held > 1)
        judge_held(in, out);
    else if (in->n > 1 && any_improved(in))
        hn_str_print(out, "The loss went from %.4f to %.4f on what was trained. Nothing was held out, so "
                          "nothing says what it is worth elsewhere (--held-fraction).", in->losses[0], end);
    if (in->n == 1)
        hn_str_print(out, "%sOne step was made, of which no more can be said.", out->length ? " " : "");
    else if (in->n > 1 && !any_improved(in))
        hn_str_print(out, "%sNo step had a lower loss than the first, %.4f%s. A lower --rate, or other --targets, may do%s.",
                     out->length ? " " : "", in->losses[0], in->n_held > 1 ? "" : ": nothing was learned",
                     in->n_held > 1 ? " better" : "");
    if (end > in->blind.loss)
        hn_str_print(out, " The loss at the end, %.4f, is above %s, %.4f: %s.", end, in->blind.of,
                     in->blind.loss, in->blind.means);
}
