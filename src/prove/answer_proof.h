/* answer_proof.h: the certificate of a mode that models are run in and not trained in (bf16, int8).
 *
 * The logits of every token: how far they lie from those in f32, and then their bits, whatever the plan, the threads and the
 * instructions; and by sequences as a session runs them: out of panels and as the file lies, in pieces, and beside others. */
#ifndef HN_PROVE_ANSWER_PROOF_H
#define HN_PROVE_ANSWER_PROOF_H

#include "prove/model_proof.h"

/* Whether nothing is trained in it. */
bool hn_answers_only(hn_numerics numerics);

/* Of stretches of the sequences of `all`, that together have few tokens. */
hn_status hn_answer_prove(const hn_model *model, const hn_batch *all, const hn_model_proof_options *options,
                          hn_report *report, hn_str *left_out);

#endif
