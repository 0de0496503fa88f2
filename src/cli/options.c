/* Options may stand anywhere; `--` ends them; "--name value" and "--name=value" are the same. */
#include "cli/command.h"

#include "base/nearest.h"
#include "base/number.h"
#include "base/option_value.h"

#include <stdio.h>
#include <string.h>

/* ---- the table, with the library's in it ---- */

/* A setting as an option; its words are checked as any option's, and kept. */
static hn_option option_of(const hn_option *place, const hn_setting *s)
{
    static const hn_option_kind kinds[] = {
        [HN_SETTING_GROUP] = HN_OPTION_KIND_GROUP, [HN_SETTING_FLAG] = HN_OPTION_KIND_FLAG,
        [HN_SETTING_TEXT] = HN_OPTION_KIND_TEXT,   [HN_SETTING_PATH] = HN_OPTION_KIND_TEXT,
        [HN_SETTING_INT] = HN_OPTION_KIND_INT,     [HN_SETTING_REAL] = HN_OPTION_KIND_REAL,
        [HN_SETTING_TEXTS] = HN_OPTION_KIND_LIST,  [HN_SETTING_PATHS] = HN_OPTION_KIND_LIST,
    };
    return (hn_option){ .kind = kinds[s->kind], .name = s->name ? s->name : "", .at = place->at, .value = s->value,
                        .help = place->help ? place->help : s->help, .low = s->low, .high = s->high, .setting = s,
                        .otherwise = place->low ? NULL : s->otherwise };
}

hn_option_walk hn_options_of(const hn_command *command)
{
    return (hn_option_walk){ .at = command->options };
}

bool hn_options_next(hn_option_walk *w)
{
    for (; w->at && w->at->kind != HN_OPTION_KIND_END; w->at++, w->i = 0) {
        const hn_setting *s = w->at->table ? w->at->table(w->i) : NULL;
        if (!w->at->table) {
            w->found = *w->at++;
            return true;
        }
        for (; s; s = w->at->table(w->i)) {
            w->i++;
            if (w->at->kind == HN_OPTION_KIND_SETTING && (!s->name || strcmp(s->name, w->at->name) != 0))
                continue;
            if (w->at->kind == HN_OPTION_KIND_TABLE && w->at->value && s->name && !strcmp(s->name, w->at->value))
                continue;
            w->found = option_of(w->at, s);
            return true;
        }
    }
    return false;
}

static bool find(const hn_command *command, const char *name, size_t length, hn_option *out)
{
    for (hn_option_walk w = hn_options_of(command); hn_options_next(&w);)
        if (*w.found.name && strlen(w.found.name) == length && !memcmp(w.found.name, name, length)) {
            *out = w.found;
            return true;
        }
    return false;
}

static bool has(const hn_command *command, const char *name)
{
    hn_option unused;
    return find(command, name, strlen(name), &unused);
}

static bool is_sink(const hn_option *o)
{
    return o->kind == HN_OPTION_KIND_OUT || o->kind == HN_OPTION_KIND_FOLDER ||
           o->kind == HN_OPTION_KIND_RESULT;
}

/* Others' files, which it may replace only where that is asked for. */
static bool writes(const hn_command *command)
{
    for (const hn_option *o = command->options; o && o->kind != HN_OPTION_KIND_END; o++)
        if (is_sink(o))
            return true;
    return false;
}

bool hn_options_overwrite(const hn_command *command, hn_option *out)
{
    *out = (hn_option){ .kind = HN_OPTION_KIND_FLAG, .name = "overwrite",
                        .help = "replace files that are there already (never an input)" };
    return writes(command);
}

bool hn_options_find(const hn_command *command, const char *name, hn_option *out)
{
    return find(command, name, strlen(name), out) ||
           (!strcmp(name, "overwrite") && hn_options_overwrite(command, out));
}

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
            (has(command, synonyms[i][1]) ||
             (!strcmp(synonyms[i][1], "overwrite") && writes(command))))
            return hn_fail(HN_ERR_ARGUMENT, "unknown option --%.*s: here it is --%s", (int)n, name,
                           synonyms[i][1]);
    for (hn_option_walk w = hn_options_of(command); hn_options_next(&w);)
        hn_nearest_try(&near, w.found.name);
    if (writes(command))
        hn_nearest_try(&near, "overwrite");
    hn_nearest_try(&near, "help");
    return hn_fail(HN_ERR_ARGUMENT, "unknown option --%.*s%s", (int)(n > 60 ? 60 : n), name,
                   hn_nearest_text(&near, "--", text));
}

/* `--overwrite`, which every command has that writes. */
static bool is_overwrite(const hn_command *command, const char *word)
{
    return !strcmp(word, "--overwrite") && !has(command, word + 2) && writes(command);
}

/* What may be written over stands beside every name; what cannot be written is refused now, not when the work is
 * done. */
static hn_status settle_sinks(const hn_command *command, bool may_overwrite, void *args, int n_operands,
                              char **operands)
{
    bool is_any = false;
    for (const hn_option *o = command->options; o && o->kind != HN_OPTION_KIND_END; o++) {
        hn_sink *sink = (hn_sink *)(void *)((char *)args + o->at);
        if (o->kind == HN_OPTION_KIND_KEPT && sink->path)
            HN_TRY(hn_sink_try(*sink));
        if (!is_sink(o))
            continue;
        if (o->kind == HN_OPTION_KIND_RESULT && o->low < n_operands)
            sink->path = operands[o->low];
        if (may_overwrite)
            sink->over = HN_OVER_OLD;
        is_any = is_any || sink->path;
        if (sink->path)
            HN_TRY(o->kind == HN_OPTION_KIND_FOLDER ? hn_sink_try_folder(sink->path) : hn_sink_try(*sink));
    }
    HN_REQUIRE(is_any || !may_overwrite, HN_ERR_ARGUMENT, "--overwrite: no option names a file to be written");
    return HN_OK;
}

/* A setting's value is checked as an option's is, and then kept as it was given. */
static hn_status tell(const hn_option *o, const char *value, hn_settings *told)
{
    int64_t integer;
    double real;
    int n = 0;
    if (o->kind == HN_OPTION_KIND_INT)
        HN_TRY(hn_option_int(o->name, value, o->low, o->high, &integer));
    if (o->kind == HN_OPTION_KIND_REAL)
        HN_TRY(hn_option_real(o->name, value, &real));
    for (int i = 0; i < told->n; i++)
        n += told->at[i].of == o->setting;
    if (n && o->kind != HN_OPTION_KIND_LIST) {
        for (int i = 0; i < told->n; i++)
            if (told->at[i].of == o->setting)
                told->at[i].value = value;
        return HN_OK;
    }
    HN_REQUIRE(n < HN_MAX_LIST, HN_ERR_ARGUMENT, "--%s: given more than %d times", o->name, HN_MAX_LIST);
    HN_REQUIRE(told->n < HN_MAX_GIVEN, HN_ERR_ARGUMENT, "--%s: more than %d settings", o->name, HN_MAX_GIVEN);
    told->at[told->n++] = (hn_setting_given){ o->setting, value };
    return HN_OK;
}

static hn_status store(const hn_option *o, const char *value, void *args)
{
    void *field = (char *)args + o->at;
    if (o->setting)
        return tell(o, value, field);
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
    case HN_OPTION_KIND_KEPT:
        HN_REQUIRE(*value, HN_ERR_ARGUMENT, "--%s: expected a %s's name, found none", o->name,
                   o->kind == HN_OPTION_KIND_FOLDER ? "folder" : "file");
        *(hn_sink *)field = o->kind == HN_OPTION_KIND_KEPT ? hn_sink_own(value) : hn_sink_new(value);
        return HN_OK;
    case HN_OPTION_KIND_GROUP:
    case HN_OPTION_KIND_RESULT:
    case HN_OPTION_KIND_TABLE:
    case HN_OPTION_KIND_SETTING:
    case HN_OPTION_KIND_END:
        break;
    }
    return hn_fail(HN_ERR_ARGUMENT, "--%s: no such option", o->name);
}

/* What -x stands for. */
static bool find_letter(const hn_command *command, const char *word, hn_option *out)
{
    if (word[0] != '-' || !word[1] || word[2])
        return false;
    for (const char *at = command->letters; at && *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (at[0] == word[1])
            return find(command, at + 2, n - 2, out);
        at += n;
    }
    return false;
}

/* The option at word *i, which is moved to its last, and what it is given: NULL of a flag. */
static hn_status take_option(const hn_command *command, int argc, char **argv, int *i, hn_option *o, const char **value)
{
    const char *word = argv[*i] + 2;
    size_t length = strcspn(word, "=");
    if (find_letter(command, argv[*i], o))
        length = 0;
    else if (!find(command, word, length, o))
        return fail_unknown(command, word, length);
    *value = word[length] ? word + length + 1 : NULL;
    if (o->kind == HN_OPTION_KIND_FLAG) {
        HN_REQUIRE(!*value, HN_ERR_ARGUMENT, "--%s takes no value", o->name);
        return HN_OK;
    }
    if (!*value) {
        HN_REQUIRE(*i + 1 < argc, HN_ERR_ARGUMENT, "--%s: expected a value (%s)", o->name, o->value);
        *value = argv[++*i];
    }
    return HN_OK;
}

static bool is_option(const hn_command *command, const char *word)
{
    hn_option letter;
    return (word[0] == '-' && word[1] == '-') || find_letter(command, word, &letter);
}

/* ---- rules ---- */

/* What was said: from word `first` on it was typed. */
typedef struct said {
    const hn_command *command;
    int first, n;
    char **words;
} said;

/* Numbers are the same however they are written. */
static bool is_value(const hn_option *o, const char *value, const char *wanted, size_t bytes)
{
    double a, b;
    if ((o->kind == HN_OPTION_KIND_INT || o->kind == HN_OPTION_KIND_REAL) && hn_number_read(wanted, bytes, &a) == bytes &&
        hn_number_parse(value, &b))
        return a == b;
    return strlen(value) == bytes && !memcmp(value, wanted, bytes);
}

/* Whether NAME, NAME=VALUE or NAME!=VALUE was given from word `from` on. The words were read before: no more is wrong with them. */
static bool is_given(const said *s, int from, const char *what, size_t bytes)
{
    const char *equals = memchr(what, '=', bytes), *not = memchr(what, '!', bytes);
    const size_t name = not ? (size_t)(not - what) : equals ? (size_t)(equals - what) : bytes;
    bool is = false;
    for (int i = from; i < s->n && strcmp(s->words[i], "--") != 0; i++) {
        hn_option o;
        const char *value;
        if (is_overwrite(s->command, s->words[i])) {
            is = is || (bytes == strlen("overwrite") && !memcmp(what, "overwrite", bytes));
            continue;
        }
        if (!is_option(s->command, s->words[i]) || take_option(s->command, s->n, s->words, &i, &o, &value) != HN_OK)
            continue;
        if (strlen(o.name) == name && !memcmp(o.name, what, name)) /* the last is the one that counts */
            is = !equals || (value && is_value(&o, value, equals + 1, (size_t)(what + bytes - equals - 1)) == !not);
    }
    return is;
}

/* "--a" or "--a VALUE" for each of "a|a!=VALUE|a=VALUE", with "or" between them. */
static void name_all(const char *names, char *out, size_t room)
{
    size_t used = 0;
    for (const char *at = names; *at && used < room;) {
        const size_t n = strcspn(at, "|");
        used += (size_t)snprintf(out + used, room - used, "%s--%.*s", at == names ? "" : " or ", (int)strcspn(at, "|!"), at);
        at += n + (at[n] == '|');
    }
    for (char *c = out; (c = strchr(c, '=')); c++)
        *c = ' ';
}

static hn_status check_rule(const said *s, const hn_option_rule *rule, const char *option, int bytes)
{
    char all[400], name[100];
    bool is_any = false;
    name_all(rule->others, all, sizeof all);
    for (const char *at = rule->others; *at;) {
        const size_t n = strcspn(at, "|");
        const bool is = is_given(s, rule->kind == HN_NOT_WITH ? s->first : 0, at, n);
        is_any = is_any || is;
        if (is && rule->kind == HN_NOT_WITH) {
            snprintf(all, sizeof all, "%.*s", (int)n, at);
            name_all(all, name, sizeof name);
            return hn_fail(HN_ERR_ARGUMENT, "--%.*s beside %s: %s", bytes, option, name,
                           rule->reason ? rule->reason : "expected one of them");
        }
        at += n + (at[n] == '|');
    }
    if (is_any || rule->kind == HN_NOT_WITH)
        return HN_OK;
    if (rule->reason)
        return hn_fail(HN_ERR_ARGUMENT, "--%.*s without %s: %s", bytes, option, all, rule->reason);
    return hn_fail(HN_ERR_ARGUMENT, "--%.*s: it is for %s, which is not given", bytes, option, all);
}

static hn_status check_rules(const said *s)
{
    for (const hn_option_rule *r = s->command->rules; r && r->options; r++)
        for (const char *at = r->options; *at;) {
            const size_t n = strcspn(at, "|");
            if (is_given(s, s->first, at, n))
                HN_TRY(check_rule(s, r, at, (int)n));
            at += n + (at[n] == '|');
        }
    return HN_OK;
}

/* Takes back what a setting was told. */
static void forget(const hn_command *command, const char *name, size_t bytes, void *args)
{
    hn_option o;
    if (!find(command, name, bytes, &o) || !o.setting)
        return;
    hn_settings *told = (hn_settings *)(void *)((char *)args + o.at);
    int n = 0;
    for (int i = 0; i < told->n; i++)
        if (told->at[i].of != o.setting)
            told->at[n++] = told->at[i];
    told->n = n;
}

/* What is typed comes after a run file, and so instead of what a rule does not let stand beside it there. */
static void forget_replaced(const said *s, void *args)
{
    for (const hn_option_rule *r = s->first ? s->command->rules : NULL; r && r->options; r++)
        for (const char *at = r->options; *at && r->kind == HN_NOT_WITH;) {
            const size_t n = strcspn(at, "|");
            const bool is_typed = is_given(s, s->first, at, n);
            for (const char *other = r->others; *other;) {
                const size_t bytes = strcspn(other, "|");
                if (is_typed)
                    forget(s->command, other, strcspn(other, "|=!"), args);
                else if (is_given(s, s->first, other, bytes))
                    forget(s->command, at, strcspn(at, "|=!"), args);
                other += bytes + (other[bytes] == '|');
            }
            at += n + (at[n] == '|');
        }
}

/* One that was typed before: its value there would change nothing. What a run file says may be typed anew. */
static hn_status check_once(const said *s, const hn_option *option)
{
    HN_REQUIRE(option->kind == HN_OPTION_KIND_LIST || !is_given(s, s->first, option->name, strlen(option->name)), HN_ERR_ARGUMENT,
               "--%s: given twice: expected it once", option->name);
    return HN_OK;
}

/* ---- all of it ---- */

hn_status hn_options_parse(const hn_command *command, int n_told, int argc, char **argv, void *args,
                           int *n_operands, char **operands, bool *wants_help)
{
    *n_operands = 0;
    *wants_help = false;
    bool only_operands = false, may_overwrite = false;
    hn_option option;
    const char *value;
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
            HN_REQUIRE(!may_overwrite, HN_ERR_ARGUMENT, "--overwrite: given twice: expected it once");
            may_overwrite = true;
        } else if (!only_operands && is_option(command, argv[i])) {
            const int word = i;
            HN_TRY(take_option(command, argc, argv, &i, &option, &value));
            HN_TRY(check_once(&(said){ command, n_told, word, argv }, &option));
            HN_TRY(store(&option, value, args));
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
    const said all = { command, n_told, argc, argv };
    HN_TRY(check_rules(&all));
    forget_replaced(&all, args);
    return settle_sinks(command, may_overwrite, args, *n_operands, operands);
}

int hn_options_glance(const hn_command *command, int argc, char **argv, const char *name,
                      const char **value)
{
    int n = 0;
    *value = NULL;
    for (int i = 0; i < argc; i++) {
        hn_option o;
        bool is_known = find_letter(command, argv[i], &o);
        const size_t length = !strncmp(argv[i], "--", 2) ? strcspn(argv[i] + 2, "=") : 0;
        const char *given = length && argv[i][2 + length] ? argv[i] + 3 + length : NULL;
        if (!is_known && length)
            is_known = find(command, argv[i] + 2, length, &o);
        if (!is_known) {
            n += length == 0 && argv[i][0] != '-';
            continue;
        }
        if (o.kind != HN_OPTION_KIND_FLAG && !given && i + 1 < argc)
            given = argv[++i];
        if (!strcmp(o.name, name))
            *value = given ? given : "";
    }
    return n;
}

int hn_options_operand(const hn_command *command, int argc, char **argv)
{
    bool only_operands = false;
    for (int i = 0; i < argc; i++) {
        hn_option option;
        const char *value;
        if (only_operands || !is_option(command, argv[i]))
            return i;
        only_operands = !strcmp(argv[i], "--");
        if (!only_operands && !is_overwrite(command, argv[i]) &&
            take_option(command, argc, argv, &i, &option, &value) != HN_OK)
            continue; /* whoever parses them says so */
    }
    return -1;
}
