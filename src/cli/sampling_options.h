/* sampling_options.h: the options of every command that draws tokens, in one table. */
#ifndef HN_CLI_SAMPLING_OPTIONS_H
#define HN_CLI_SAMPLING_OPTIONS_H

#include "cli/command.h"
#include "hone/sampler.h"

typedef struct hn_sampling_args {
    int64_t top_k, last_n, seed;
    double temperature, top_p, min_p, repetition, frequency, presence;
    hn_list logit_bias;
    const char *grammar, *json_schema, *regex;
} hn_sampling_args;

/* Of a command whose args have a field `sampling`. */
#define HN_SAMPLING_OPTIONS(type)                                                              \
    HN_REAL(type, sampling.temperature, "temperature", "X",                                    \
            "default 0.8; 0 takes the likeliest"),                                             \
        HN_INT(type, sampling.top_k, "top-k", "N", 0, INT32_MAX, "default 40; 0: all"),        \
        HN_REAL(type, sampling.top_p, "top-p", "X", "default 0.95"),                           \
        HN_REAL(type, sampling.min_p, "min-p", "X", "default 0.05"),                           \
        HN_REAL(type, sampling.repetition, "repetition", "X",                                  \
                "divides what was said; default 1"),                                           \
        HN_REAL(type, sampling.frequency, "frequency", "X",                                    \
                "taken off for each time; default 0"),                                         \
        HN_REAL(type, sampling.presence, "presence", "X", "taken off once; default 0"),        \
        HN_INT(type, sampling.last_n, "last", "N", 0, INT32_MAX,                               \
               "how far back these look; default 64; 0: everything"),                          \
        HN_LIST(type, sampling.logit_bias, "logit-bias", "ID=X",                               \
                "added to this token's logit; -inf: never"),                                   \
        HN_TEXT(type, sampling.json_schema, "json-schema", "FILE", "only JSON that is valid by it"),                 \
        HN_TEXT(type, sampling.regex, "regex", "TEXT", "only what matches it, whole"),                               \
        HN_TEXT(type, sampling.grammar, "grammar", "FILE", "only what has this GBNF"),                               \
        HN_INT(type, sampling.seed, "seed", "N", 0, INT64_MAX, "default 0")

/* Of their rules. The likeliest token passes every filter. */
#define HN_SAMPLING_RULES                                                                      \
    { "last", HN_ONLY_WITH, "repetition|frequency|presence", NULL },                           \
        { "top-k|top-p|min-p", HN_NOT_WITH, "temperature=0", "the likeliest token is taken" },  \
        { "json-schema", HN_NOT_WITH, "regex|grammar", "expected one of --json-schema, --regex and --grammar" }, \
        { "regex", HN_NOT_WITH, "grammar", "expected one of --json-schema, --regex and --grammar" }

/* hn_lm_sampling_default's, which e2e/library holds these to: --help shows them. */
#define HN_SAMPLING_DEFAULTS                                                                   \
    {                                                                                          \
        .temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05, .repetition = 1, .last_n = 64 \
    }

/* `bias` has room for HN_MAX_LIST, and lives until the sampler is made. */
hn_status hn_sampling_read(const hn_sampling_args *args, hn_lm_bias *bias, hn_lm_sampling *out);

/* The grammar that is asked for, or NULL; the caller's, with hn_lm_grammar_free. */
hn_status hn_sampling_grammar(const hn_sampling_args *args, hn_engine *engine, hn_lm_grammar **out);

#endif
