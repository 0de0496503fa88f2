/* What an option takes beside it, of every command: each rule is about options that the command has; without its partner, or
 * beside the one it excludes, an option is refused by a sentence that names both; otherwise it parses. What a run file says is
 * held to none of it. And what a command would write where no file can be made is refused by every one. */
#include "cli/command.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 60, ROOM = 128 };

/* The words of a command line in the making. */
typedef struct line {
    const hn_command *command;
    int n;
    char at[MOST][ROOM];
} line;

typedef struct name {
    char text[ROOM]; /* NAME or NAME=VALUE; NAME too of NAME!=VALUE, whose value add_alone() does not choose */
    char plain[ROOM];
} name;

/* The name at *at of "a|b", which is moved past it; false: there is none. */
static bool next(const char **at, name *out)
{
    const size_t n = strcspn(*at, "|");
    snprintf(out->text, sizeof out->text, "%.*s", (int)strcspn(*at, "|!"), *at);
    snprintf(out->plain, sizeof out->plain, "%.*s", (int)strcspn(out->text, "="), out->text);
    *at += n + ((*at)[n] == '|');
    return n > 0;
}

static bool has(const char *names, const char *plain)
{
    name one;
    for (const char *at = names; next(&at, &one);)
        if (!strcmp(one.plain, plain))
            return true;
    return false;
}

static bool is_there(const line *l, const char *plain)
{
    for (int i = 0; i < l->n; i++)
        if (!strncmp(l->at[i], "--", 2) && !strncmp(l->at[i] + 2, plain, strlen(plain)) && strchr("=", l->at[i][2 + strlen(plain)]))
            return true;
    return false;
}

static void add(line *l, const char *text);

/* What the option needs by the rules of its command but `except`: of each the first other. */
static void add_needs(line *l, const char *plain, const hn_option_rule *except)
{
    name first;
    for (const hn_option_rule *r = l->command->rules; r && r->options; r++) {
        const char *at = r->others;
        if (r != except && r->kind == HN_ONLY_WITH && has(r->options, plain) && next(&at, &first) && !is_there(l, first.plain))
            add(l, first.text);
    }
}

static bool is_written(const hn_option *o)
{
    return o->kind == HN_OPTION_KIND_OUT || o->kind == HN_OPTION_KIND_FOLDER || o->kind == HN_OPTION_KIND_KEPT;
}

/* An option with a value that its table takes. */
static void add_alone(line *l, const char *text)
{
    name of;
    hn_option o = { .kind = HN_OPTION_KIND_FLAG };
    char value[40] = "1";
    const char *at = text;
    next(&at, &of);
    CHECK_THAT(hn_options_find(l->command, of.plain, &o), "%s: --%s is no option of it", l->command->name, of.plain);
    CHECK_THAT(l->n < MOST, "%s: too many words", l->command->name);
    if (o.kind == HN_OPTION_KIND_INT)
        snprintf(value, sizeof value, "%lld", (long long)(o.low > 1 ? o.low : o.high < 1 ? o.high : 1));
    else if (o.kind != HN_OPTION_KIND_REAL)
        snprintf(value, sizeof value, is_written(&o) ? "nosuchfile" : "no/such/file");
    if (strchr(text, '=') || o.kind == HN_OPTION_KIND_FLAG)
        snprintf(l->at[l->n++], ROOM, "--%s", text);
    else
        snprintf(l->at[l->n++], ROOM, "--%s=%s", text, value);
}

static bool declares(const hn_command *c, const char *plain)
{
    for (const hn_option *o = c->options; o && o->kind != HN_OPTION_KIND_END; o++)
        if (!strcmp(o->name, plain))
            return true;
    return false;
}

/* --overwrite is of the files that are named. */
static void add(line *l, const char *text)
{
    name of;
    const char *at = text;
    next(&at, &of);
    add_alone(l, text);
    add_needs(l, of.plain, NULL);
    if (!strcmp(of.plain, "overwrite") && !declares(l->command, "overwrite"))
        add_alone(l, "out");
}

static char operand[ROOM] = "nosuchfile"; /* each one that is needed */

/* `n_told`: of the words, those that stand for a run file's. */
static hn_status parse(const line *l, int n_told)
{
    _Alignas(16) static char args[HN_MAX_ARGS_BYTES];
    char *words[MOST + HN_MAX_OPERANDS], *operands[HN_MAX_OPERANDS];
    int n = 0, n_operands;
    bool wants_help;
    for (int i = 0; i < l->n; i++)
        words[n++] = (char *)(uintptr_t)l->at[i];
    for (int i = 0; i < l->command->min_operands; i++)
        words[n++] = operand;
    return hn_options_parse(l->command, n_told, n, words, args, &n_operands, operands, &wants_help);
}

/* Refused for this rule, with both names. */
static void check_refused(const line *l, const char *option, const char *other)
{
    char words[2 * ROOM];
    const hn_status status = parse(l, 0);
    snprintf(words, sizeof words, "--%s", option);
    CHECK_FAILS(status, HN_ERR_ARGUMENT, words);
    snprintf(words, sizeof words, "--%s", other);
    for (char *c = strchr(words, '='); c; c = NULL)
        *c = ' ';
    CHECK_THAT(strstr(hn_error_message(), words), "%s: '%s' lacks %s", l->command->name, hn_error_message(), words);
}

static void check_only_with(const hn_command *c, const hn_option_rule *r, const name *option)
{
    static line l;
    name other;
    l = (line){ .command = c };
    add_alone(&l, option->text);
    add_needs(&l, option->plain, r);
    for (const char *at = r->others; next(&at, &other);)
        if (!is_there(&l, other.plain)) /* what another rule brought satisfies this one too */
            check_refused(&l, option->text, other.text);
    CHECK_OK(parse(&l, l.n)); /* as a run file's words */
    for (const char *at = r->others; next(&at, &other);) {
        l = (line){ .command = c };
        add_alone(&l, option->text);
        add(&l, other.text);
        add_needs(&l, option->plain, r);
        CHECK_OK(parse(&l, 0));
    }
}

static void check_not_with(const hn_command *c, const hn_option_rule *r, const name *option)
{
    static line l;
    name other;
    l = (line){ .command = c };
    add(&l, option->text);
    CHECK_OK(parse(&l, 0));
    for (const char *at = r->others; next(&at, &other);) {
        l = (line){ .command = c };
        add(&l, option->text);
        const int n_told = l.n;
        add(&l, other.text);
        check_refused(&l, option->text, other.text);
        CHECK_OK(parse(&l, n_told)); /* the first is a run file's */
    }
}

static int check_command(const hn_command *c)
{
    int n = 0;
    name option;
    for (const hn_option_rule *r = c->rules; r && r->options; r++, n++)
        for (const char *at = r->options; next(&at, &option);) {
            if (r->kind == HN_ONLY_WITH)
                check_only_with(c, r, &option);
            else
                check_not_with(c, r, &option);
        }
    return n;
}

/* Of two values the first would say nothing, unless a run file said it. */
static int check_once(const hn_command *c)
{
    static line l;
    int n = 0;
    for (hn_option_walk w = hn_options_of(c); hn_options_next(&w); n++) {
        if (!*w.found.name || w.found.kind == HN_OPTION_KIND_LIST)
            continue;
        l = (line){ .command = c };
        add(&l, w.found.name);
        const int n_told = l.n;
        add_alone(&l, w.found.name);
        const hn_status status = parse(&l, 0);
        CHECK_FAILS(status, HN_ERR_ARGUMENT, "given twice");
        CHECK_THAT(strstr(hn_error_message(), w.found.name), "%s: '%s' lacks %s", c->name, hn_error_message(), w.found.name);
        if (w.found.kind != HN_OPTION_KIND_OUT)
            CHECK_OK(parse(&l, n_told)); /* the first is a run file's */
    }
    return n;
}

/* What is written where there is no folder, as an option and as an operand. */
static int check_unwritable(const hn_command *c)
{
    static line l;
    int n = 0;
    for (const hn_option *o = c->options; o && o->kind != HN_OPTION_KIND_END; o++) {
        l = (line){ .command = c };
        if (is_written(o)) {
            add(&l, o->name);
            CHECK_OK(parse(&l, 0));
            snprintf(l.at[0], ROOM, "--%s=no/such/file", o->name);
        } else if (o->kind == HN_OPTION_KIND_RESULT) {
            snprintf(operand, sizeof operand, "no/such/file");
        } else {
            continue;
        }
        CHECK_FAILS(parse(&l, 0), HN_ERR_IO, "no/such/file: no file can be made in no/such/");
        snprintf(operand, sizeof operand, "nosuchfile");
        n++;
    }
    return n;
}

int main(int argc, char **argv)
{
    int n = 0, n_options = 0, n_written = 0;
    check_open(argc, argv);
    for (int i = 0; hn_commands[i]; i++) {
        check_group(hn_commands[i]->name);
        n += check_command(hn_commands[i]);
        n_options += check_once(hn_commands[i]);
        n_written += check_unwritable(hn_commands[i]);
    }
    check_group(NULL);
    CHECK_THAT(n_options > 400, "%d options of all commands", n_options);
    CHECK_THAT(n_written > 20, "%d options and operands that are written", n_written);
    CHECK_THAT(n > 20, "%d rules of all commands", n);
    return check_close();
}
