/* What a run is said to have come to: each sentence for the curve that it is for, and no other. */
#include "base/heap.h"
#include "tests/harness/check.h"
#include "train/objective.h"
#include "train/verdict.h"

#include <math.h>
#include <string.h>

static hn_heap heap;

static void says(const hn_verdict_input *in, const char *const *words, int n, const char *not)
{
    hn_str text = hn_str_on(&heap);
    hn_verdict_write(in, &text);
    for (int i = 0; i < n; i++)
        CHECK_THAT(strstr(text.text, words[i]), "'%s' lacks '%s'", text.text, words[i]);
    CHECK_THAT(!not || !strstr(text.text, not), "'%s' has '%s'", text.text, not);
    hn_str_free(&text);
}
#define SAYS(in, not, ...) says(in, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), not)

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    const double falls[] = { 3, 2, 1, 1, 1, 1, 1, 1 }, rises[] = { 3, 4, 5, 6, 7, 8, 9, 9 };
    const double steps[] = { 0, 2, 4, 8 };
    hn_verdict_input in = { .losses = falls, .n = 8, .blind = hn_goal_spec_of(HN_GOAL_SFT)->blind(320, &(hn_objective_options){ .beta = 0.1f }) };
    SAYS(&in, "ln(vocabulary)", "went from 3.0000 to 1.0000", "Nothing was held out");

    in.losses = rises; /* ln 320 is 5.77 */
    SAYS(&in, "training helped", "No step had a lower loss than the first, 3.0000",
         "at the end, 8.6667, is above ln(vocabulary), 5.7683");

    const double flat[] = { 3, 3, 3, 3, 3, 3, 3, 3 };
    in.losses = flat;
    SAYS(&in, "went from", "No step had a lower loss than the first, 3.0000");

    double many[60]; /* the end of a long run is its last ten steps */
    for (int i = 0; i < 60; i++)
        many[i] = i < 50 ? 2 : 1;
    in.losses = many, in.n = 60;
    SAYS(&in, "No step", "went from 2.0000 to 1.0000");

    in.losses = falls, in.n = 8;
    in.held_steps = steps, in.n_held = 1; /* one alone compares nothing */
    in.held = flat;
    SAYS(&in, "held-out loss", "went from 3.0000 to 1.0000");
    const double better[] = { 4.197, 3.9, 3.8, 3.744 }, worse[] = { 4, 4.1, 4.2, 4.3 };
    const double turned[] = { 4, 3, 3.1, 3.9 }, same[] = { 4, 4, 4, 4 };
    in.held_steps = steps, in.n_held = 4;
    in.held = better;
    SAYS(&in, "lowest", "fell from 4.1970 to 3.7440: training helped");
    in.losses = rises; /* of which it is not said that nothing was learned */
    SAYS(&in, "nothing was learned", "training helped", "No step had a lower loss than the first, 3.0000. A lower --rate");
    in.losses = falls;
    in.held = worse;
    SAYS(&in, "lowest", "rose from 4.0000 to 4.3000: the result is worse");
    in.keeps_best = true; /* of its steps: what it was before them is no result */
    SAYS(&in, "lowest", "rose from 4.0000 to 4.1000: the result is worse");
    in.keeps_best = false;
    in.held = turned;
    SAYS(&in, NULL, "fell from 4.0000 to 3.9000", "lowest after step 2, 3.0000");
    in.keeps_best = true;
    SAYS(&in, "lowest", "fell from 4.0000 to 3.0000");
    in.keeps_best = false;
    in.held = same;
    SAYS(&in, "helped", "what it was before training, 4.0000");

    const double odd[] = { 3, (double)NAN, 2, (double)NAN };
    in = (hn_verdict_input){ .losses = odd, .n = 4, .blind = hn_goal_spec_of(HN_GOAL_SFT)->blind(320, &(hn_objective_options){ .beta = 0.1f }) };
    SAYS(&in, "nan", "went from 3.0000 to 2.5000");
    in.n = 1;
    SAYS(&in, "No step", "One step was made");

    const double pairs[] = { 0.7, 0.69, 0.8, 0.8 };
    in = (hn_verdict_input){ .losses = pairs, .n = 4, .blind = hn_goal_spec_of(HN_GOAL_DPO)->blind(320, &(hn_objective_options){ .beta = 0.1f }) };
    SAYS(&in, "vocabulary", "above ln 2, 0.6931: the rejected answers are preferred");
    return check_close();
}
