/* draft_options.h: the options of every command that may guess ahead, in one table, and the opening of the model that guesses. */
#ifndef HN_CLI_DRAFT_OPTIONS_H
#define HN_CLI_DRAFT_OPTIONS_H

#include "cli/command.h"
#include "cli/open_model.h"
#include "hone/draft.h"

typedef struct hn_draft_args {
    const char *model, *numerics;
    int64_t ngram, most;
} hn_draft_args;

/* Of a command whose args have a field `draft`. */
#define HN_DRAFT_OPTIONS(type)                                                                 \
    HN_TEXT(type, draft.model, "draft", "MODEL",                                               \
            "a smaller model with the same tokens guesses ahead: the same text, sooner if it is often right"), \
        HN_INT(type, draft.ngram, "draft-ngram", "N", 1, 64,                                   \
               "guess what followed the last tokens, up to N, where they were said before"),   \
        HN_INT(type, draft.most, "draft-max", "N", 1, 64, "guesses at a time; default 8"),      \
        HN_TEXT(type, draft.numerics, "draft-numerics", "MODE", "of the model that guesses; default: those of the other")

/* The options that say so, with the model opened as *lm on the engine of `opened`; it is the caller's to close. *uses is false
 * where nothing is guessed. The model draws by `sampling`, which must live as long as the options. */
hn_status hn_draft_open(const hn_draft_args *args, const hn_opened *opened, const hn_machine_args *machine,
                        const hn_lm_sampling *sampling, hn_lm **lm, hn_lm_draft_options *out, bool *uses);
/* Both counts for a line of figures: "; guessed 120, 80 right", or nothing where nothing is guessed. */
void hn_draft_tell(const hn_draft_args *args, int64_t accepted, int64_t rejected, char *text, size_t room);

#endif
