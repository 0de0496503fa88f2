/* Text is wrapped here, word by word, and nothing is written down twice: an option's default is read out of the
 * command's own defaults. hn_help_examples parses each command's example with its own table, for a test that looks
 * for the wrong ones. */
#include "cli/help.h"

#include "base/nearest.h"
#include "base/number.h"
#include "cli/terminal.h"

#include <string.h>

enum { INDENT = 30 };

static int width_of(FILE *out)
{
    const int columns = hn_terminal_width(out);
    return columns > 100 ? 100 : columns < 50 ? 50 : columns;
}

/* Words from column `at` on, the next lines from `indent` on. */
static void wrap(const char *text, int at, int indent, FILE *out)
{
    const int width = width_of(out);
    bool is_first = true;
    for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
        const size_t n = strcspn(word, " ");
        if (!is_first && at + 1 + (int)n > width - 1) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            is_first = true;
        }
        fprintf(out, "%s%.*s", is_first ? "" : " ", (int)n, word);
        at += (int)n + !is_first;
        is_first = false;
        word += n;
    }
    fputc('\n', out);
}

/* What an option is unless it is given: where its words do not say so already. */
static bool read_default(const hn_command *c, const hn_option *o, char value[HN_NUMBER_TEXT])
{
    const char *field = c->defaults && !o->setting ? (const char *)c->defaults + o->at : NULL;
    const char *text = o->setting ? o->otherwise
                       : field && o->kind == HN_OPTION_KIND_TEXT ? *(const char *const *)(const void *)field
                                                                 : NULL;
    double number = 0;
    if (o->kind == HN_OPTION_KIND_TEXT && text)
        snprintf(value, HN_NUMBER_TEXT, "%.30s", text);
    if (o->kind == HN_OPTION_KIND_TEXT)
        return text != NULL;
    if (o->kind != HN_OPTION_KIND_INT && o->kind != HN_OPTION_KIND_REAL)
        return false;
    if (text)
        hn_number_parse(text, &number);
    else if (field)
        number = o->kind == HN_OPTION_KIND_INT ? (double)*(const int64_t *)(const void *)field
                                               : *(const double *)(const void *)field;
    hn_number_write(number, o->kind == HN_OPTION_KIND_INT ? 17 : 0, value);
    return true;
}

static void default_of(const hn_command *c, const hn_option *o, char out[HN_NUMBER_TEXT + 8])
{
    char value[HN_NUMBER_TEXT];
    out[0] = 0;
    if (!read_default(c, o, value))
        return;
    char said[HN_NUMBER_TEXT + 8];
    snprintf(said, sizeof said, "(%s", value);
    const char *at = strstr(o->help, said);
    const bool is_said = at && strchr("):", at[strlen(said)]);
    const bool is_zero = !strcmp(value, "0") &&
                         (strstr(o->help, "efault") || strstr(o->help, "0:") ||
                          (o->help[0] && o->help[strlen(o->help) - 1] == ')'));
    if (!is_said && !is_zero)
        snprintf(out, HN_NUMBER_TEXT + 8, " [%s]", value);
}

static const char *word_of(hn_word_at *words, int32_t i)
{
    const char *word = words(i);
    return word && *word ? word : NULL;
}

/* The help with "a, b or c" in the place of its braces. */
static void write_help(const hn_option *o, char *to, size_t room)
{
    const char *mark = o->words ? strchr(o->help, '{') : NULL;
    const bool has_default = mark && mark[1] == '*';
    size_t at = (size_t)snprintf(to, room, "%.*s", (int)(mark ? mark - o->help : (ptrdiff_t)strlen(o->help)), o->help);
    const char *word = mark ? word_of(o->words, 0) : NULL, *next;
    for (int32_t i = 0; word && at < room; i++, word = next) {
        next = word_of(o->words, i + 1);
        at += (size_t)snprintf(to + at, room - at, "%s%s%s", i == 0 ? "" : next ? ", " : " or ", word,
                               i == 0 && has_default ? " (the default)" : "");
    }
    if (mark && at < room)
        snprintf(to + at, room - at, "%s", strchr(mark, '}') + 1);
}

static void print_words(const hn_command *c, FILE *out)
{
    char text[1024];
    const char *word;
    size_t at = (size_t)snprintf(text, sizeof text, "%s:", c->chosen);
    for (int32_t i = 0; at < sizeof text && (word = word_of(c->words, i)) != NULL; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %s", word);
    fputc('\n', out);
    wrap(text, 0, 2, out);
}

static void print_option(const hn_command *c, const hn_option *o, FILE *out)
{
    char head[64], letter[8] = "", help[640], text[720], otherwise[HN_NUMBER_TEXT + 8];
    for (const char *at = c->letters; at && (at = strchr(at, ':')); at++)
        if (strcspn(at + 1, " ") == strlen(o->name) && !strncmp(at + 1, o->name, strlen(o->name)))
            snprintf(letter, sizeof letter, "-%c, ", at[-1]);
    snprintf(head, sizeof head, "  %s--%s%s%s", letter, o->name, o->value ? " " : "",
             o->value ? o->value : "");
    default_of(c, o, otherwise);
    write_help(o, help, sizeof help);
    snprintf(text, sizeof text, "%s%s%s", help, otherwise,
             o->kind == HN_OPTION_KIND_LIST && !strstr(o->help, "again") && !strstr(o->help, "repeated")
                 ? " (may be given again)" : "");
    fprintf(out, "%-*s", INDENT - 1, head);
    if (strlen(head) >= INDENT - 1)
        fprintf(out, "\n%*s", INDENT, "");
    else
        fputc(' ', out);
    wrap(text, INDENT, INDENT, out);
}

void hn_help_command(const hn_command *c, FILE *out)
{
    bool has_group = false;
    fprintf(out, "usage: hone %s%s%s%s\n\n", c->name, c->options ? " [options]" : "",
            *c->operands ? " " : "", c->operands);
    wrap(c->summary, 0, 0, out);
    if (c->details)
        fprintf(out, "\n%s", c->details);
    if (c->words)
        print_words(c, out);
    if (c->example)
        fprintf(out, "\nexample:\n  hone %s\n", c->example);
    for (hn_option_walk w = hn_options_of(c); hn_options_next(&w);) {
        const hn_option *o = &w.found;
        if (o->kind == HN_OPTION_KIND_RESULT)
            continue;
        if (o->kind == HN_OPTION_KIND_GROUP || !has_group)
            fprintf(out, "\n%s:\n", o->kind == HN_OPTION_KIND_GROUP ? o->help : "options");
        has_group = true;
        if (o->kind != HN_OPTION_KIND_GROUP)
            print_option(c, o, out);
    }
    hn_option overwrite;
    if (hn_options_overwrite(c, &overwrite))
        print_option(c, &overwrite, out);
}

void hn_help_all(FILE *out)
{
    size_t longest = 0;
    fputs("hone runs and fine-tunes large language models, and proves what it trained.\n\n"
          "usage: hone COMMAND [options] [operands]\n\n",
          out);
    for (int i = 0; hn_commands[i]; i++)
        longest = strlen(hn_commands[i]->name) > longest ? strlen(hn_commands[i]->name) : longest;
    for (int i = 0; hn_commands[i]; i++) {
        fprintf(out, "  %-*s  ", (int)longest, hn_commands[i]->name);
        wrap(hn_commands[i]->summary, (int)longest + 4, (int)longest + 4, out);
    }
    fprintf(out, "  %-*s  %s\n  %-*s  %s\n", (int)longest, "help", "this, or more of one command",
            (int)longest, "version", "which hone this is");
    fputs("\n`hone help COMMAND` tells more. `hone chat` talks, with nothing else to give.\n", out);
}

/* Whether the example is one that the command takes; its words, where quotes hold some together. */
static bool is_right(const hn_command *c)
{
    _Alignas(16) char args[HN_MAX_ARGS_BYTES];
    char text[256], *words[HN_MAX_OPERANDS], *operands[HN_MAX_OPERANDS];
    int n = 0, n_operands;
    bool wants_help;
    snprintf(text, sizeof text, "%s", c->example ? c->example : "");
    for (char *at = text; *at && n < HN_MAX_OPERANDS;) {
        const char end = *at == '"' ? '"' : ' ';
        at += end == '"';
        words[n++] = at;
        at = strchr(at, end);
        if (!at)
            break;
        *at++ = 0;
        at += strspn(at, " ");
    }
    return n && !strcmp(words[0], c->name) &&
           hn_options_parse(c, 0, n - 1, words + 1, args, &n_operands, operands, &wants_help) == HN_OK;
}

void hn_help_examples(FILE *out)
{
    for (int i = 0; hn_commands[i]; i++)
        fprintf(out, "%shone %s\n", is_right(hn_commands[i]) ? "" : "WRONG: ",
                hn_commands[i]->example ? hn_commands[i]->example : hn_commands[i]->name);
}

const hn_command *hn_help_find(const char *name)
{
    char text[HN_NEAREST_TEXT];
    hn_nearest near = hn_nearest_to(name, strlen(name));
    hn_nearest_try(&near, "help");
    hn_nearest_try(&near, "version");
    for (int i = 0; hn_commands[i]; i++) {
        if (!strcmp(hn_commands[i]->name, name))
            return hn_commands[i];
        hn_nearest_try(&near, hn_commands[i]->name);
    }
    hn_fail(HN_ERR_ARGUMENT, "unknown command '%.60s'%s", name, hn_nearest_text(&near, "", text));
    return NULL;
}
