/* Options may stand anywhere; `--` ends them; "--name value" and "--name=value" are the same. */
#include "cli/command.h"

#include "base/nearest.h"
#include "base/option_value.h"

#include <string.h>

static const hn_option *find(const hn_command *command, const char *name, size_t length)
{
    for (const hn_option *o = command->options; o && o->kind != HN_OPTION_KIND_END; o++)
        if (*o->name && strlen(o->name) == length && !memcmp(o->name, name, length))
            return o;
    return NULL;
}

static bool is_sink(const hn_option *o)
{
    return o->kind == HN_OPTION_KIND_OUT || o->kind == HN_OPTION_KIND_FOLDER ||
           o->kind == HN_OPTION_KIND_RESULT;
}

static bool writes(const hn_command *command)
{
    for (const hn_option *o = command->options; o && o->kind != HN_OPTION_KIND_END; o++)
        if (is_sink(o))
            return true;
    return false;
}

const hn_option *hn_options_find(const hn_command *command, const char *name)
{
    const hn_option *o = find(command, name, strlen(name));
    return o || strcmp(name, "overwrite") != 0 || !writes(command) ? o : &hn_option_overwrite;
}

const hn_option hn_option_overwrite = {
    HN_OPTION_KIND_FLAG, "overwrite", 0, NULL, "replace files that are there already (never an input)", 0, 0
};

/* What others call what hone has under another name. */
static const char *const synonyms[][2] = {
    { "lr", "rate" },           { "learning-rate", "rate" },   { "temp", "temperature" },
    { "batch-size", "batch" },  { "ctx", "context" },          { "ctx-size", "context" },
    { "n-ctx", "context" },     { "n-predict", "count" },      { "max-tokens", "count" },
    { "num-epochs", "epochs" }, { "lora-r", "rank" },          { "lora-rank", "rank" },
    { "r", "rank" },            { "lora-alpha", "alpha" },     { "max-seq-length", "max-length" },
    { "max-steps", "steps" },   { "grad-clip", "clip" },       { "val", "held" },
    { "eval-data", "held" },    { "output", "out" },           { "dataset", "data" },
    { "adapter", "lora" },      { "wd", "weight-decay" },      { "warmup-steps", "warmup" },
    { "num-threads", "threads" }, { "n-threads", "threads" },
    { "lr-scheduler", "schedule" }, { "force", "overwrite" },
};

static hn_status fail_unknown(const hn_command *command, const char *name, size_t n)
{
    char text[HN_NEAREST_TEXT];
    hn_nearest near = hn_nearest_to(name, n);
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strlen(synonyms[i][0]) == n && !memcmp(synonyms[i][0], name, n) &&
            (find(command, synonyms[i][1], strlen(synonyms[i][1])) ||
             (!strcmp(synonyms[i][1], "overwrite") && writes(command))))
            return hn_fail(HN_ERR_ARGUMENT, "unknown option --%.*s: here it is --%s", (int)n, name,
                           synonyms[i][1]);
    for (const hn_option *o = command->options; o && o->kind != HN_OPTION_KIND_END; o++)
        hn_nearest_try(&near, o->name);
    if (writes(command))
        hn_nearest_try(&near, "overwrite");
    hn_nearest_try(&near, "help");
    return hn_fail(HN_ERR_ARGUMENT, "unknown option --%.*s%s", (int)(n > 60 ? 60 : n), name,
                   hn_nearest_text(&near, "--", text));
}

/* `--overwrite`, which every command has that writes. */
static bool is_overwrite(const hn_command *command, const char *word)
{
    return !strcmp(word, "--overwrite") && !find(command, word + 2, strlen(word + 2)) && writes(command);
}

/* What may be written over stands beside every name; files that are there are refused now, not when
 * the work is done. */
static hn_status settle_sinks(const hn_command *command, bool may_overwrite, void *args, int n_operands,
                              char **operands)
{
    for (const hn_option *o = command->options; o && o->kind != HN_OPTION_KIND_END; o++) {
        if (!is_sink(o))
            continue;
        hn_sink *sink = (hn_sink *)(void *)((char *)args + o->at);
        if (o->kind == HN_OPTION_KIND_RESULT && o->low < n_operands)
            sink->path = operands[o->low];
        if (may_overwrite)
            sink->over = HN_OVER_OLD;
        if (sink->path && o->kind != HN_OPTION_KIND_FOLDER)
            HN_TRY(hn_sink_check(*sink));
    }
    return HN_OK;
}

static hn_status store(const hn_option *o, const char *value, void *args)
{
    void *field = (char *)args + o->at;
    switch (o->kind) {
    case HN_OPTION_KIND_FLAG:
        *(bool *)field = true;
        return HN_OK;
    case HN_OPTION_KIND_TEXT:
        *(const char **)field = value;
        return HN_OK;
    case HN_OPTION_KIND_INT:
        return hn_option_int(o->name, value, o->low, o->high, field);
    case HN_OPTION_KIND_REAL:
        return hn_option_real(o->name, value, field);
    case HN_OPTION_KIND_LIST: {
        hn_list *list = field;
        HN_REQUIRE(list->n < HN_MAX_LIST, HN_ERR_ARGUMENT, "--%s: given more than %d times",
                   o->name, HN_MAX_LIST);
        list->at[list->n++] = value;
        return HN_OK;
    }
    case HN_OPTION_KIND_OUT:
    case HN_OPTION_KIND_FOLDER:
        HN_REQUIRE(*value, HN_ERR_ARGUMENT, "--%s: expected a name", o->name);
        ((hn_sink *)field)->path = value;
        return HN_OK;
    case HN_OPTION_KIND_GROUP:
    case HN_OPTION_KIND_RESULT:
    case HN_OPTION_KIND_END:
        break;
    }
    return hn_fail(HN_ERR_ARGUMENT, "--%s: no such option", o->name);
}

/* What -x stands for; NULL if nothing. */
static const hn_option *find_letter(const hn_command *command, const char *word)
{
    if (word[0] != '-' || !word[1] || word[2])
        return NULL;
    for (const char *at = command->letters; at && *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (at[0] == word[1])
            return find(command, at + 2, n - 2);
        at += n;
    }
    return NULL;
}

static hn_status read_option(const hn_command *command, int argc, char **argv, int *i, void *args)
{
    const char *word = argv[*i] + 2;
    size_t length = strcspn(word, "=");
    const hn_option *o = find_letter(command, argv[*i]);
    if (o)
        length = 0;
    else
        o = find(command, word, length);
    if (!o)
        return fail_unknown(command, word, length);
    const char *value = word[length] ? word + length + 1 : NULL;
    if (o->kind == HN_OPTION_KIND_FLAG) {
        HN_REQUIRE(!value, HN_ERR_ARGUMENT, "--%s takes no value", o->name);
        return store(o, NULL, args);
    }
    if (!value) {
        HN_REQUIRE(*i + 1 < argc, HN_ERR_ARGUMENT, "--%s: expected a value (%s)", o->name,
                   o->value);
        value = argv[++*i];
    }
    return store(o, value, args);
}

hn_status hn_options_parse(const hn_command *command, int argc, char **argv, void *args,
                           int *n_operands, char **operands, bool *wants_help)
{
    *n_operands = 0;
    *wants_help = false;
    bool only_operands = false, may_overwrite = false;
    memset(args, 0, command->args_size);
    if (command->defaults)
        memcpy(args, command->defaults, command->args_size);
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            *wants_help = true;
            return HN_OK;
        }
    for (int i = 0; i < argc; i++) {
        if (!only_operands && !strcmp(argv[i], "--")) {
            only_operands = true;
        } else if (!only_operands && is_overwrite(command, argv[i])) {
            may_overwrite = true;
        } else if (!only_operands && ((argv[i][0] == '-' && argv[i][1] == '-') ||
                                      find_letter(command, argv[i]))) {
            HN_TRY(read_option(command, argc, argv, &i, args));
        } else {
            HN_REQUIRE(*n_operands < HN_MAX_OPERANDS, HN_ERR_ARGUMENT, "more than %d operands",
                       HN_MAX_OPERANDS);
            operands[(*n_operands)++] = argv[i];
        }
    }
    HN_REQUIRE(*n_operands >= command->min_operands, HN_ERR_ARGUMENT, "expected %s",
               command->operands);
    HN_REQUIRE(*n_operands <= command->max_operands, HN_ERR_ARGUMENT, "'%s' is one operand too many",
               operands[command->max_operands]);
    return settle_sinks(command, may_overwrite, args, *n_operands, operands);
}

int hn_options_glance(const hn_command *command, int argc, char **argv, const char *name,
                      const char **value)
{
    int n = 0;
    *value = NULL;
    for (int i = 0; i < argc; i++) {
        const hn_option *o = find_letter(command, argv[i]);
        const size_t length = !strncmp(argv[i], "--", 2) ? strcspn(argv[i] + 2, "=") : 0;
        const char *given = length && argv[i][2 + length] ? argv[i] + 3 + length : NULL;
        if (!o && length)
            o = find(command, argv[i] + 2, length);
        if (!o) {
            n += length == 0 && argv[i][0] != '-';
            continue;
        }
        if (o->kind != HN_OPTION_KIND_FLAG && !given && i + 1 < argc)
            given = argv[++i];
        if (!strcmp(o->name, name))
            *value = given ? given : "";
    }
    return n;
}
