/* Words of a table are written down once: no text of src has three or more of one set in a row, as help and sentences once
 * had, for a word that is added would be missing there. Texts are made of the tables (base/word_list.h, HN_CHOICE). What is
 * told of each word in prose cannot be made so: it is asked for every word here. */
#include "cli/machine_options.h"
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const char *word_at(int32_t i);

#define WORDS(kind) static const char *kind##_word(int32_t i) { return kind##_name((kind)i); }
WORDS(hn_builder_kind)
WORDS(hn_exec_plan)
WORDS(hn_trainer_optimizer)
WORDS(hn_lm_numerics)
WORDS(hn_lm_pooling)
WORDS(hn_lm_plan_kind)
WORDS(hn_finetune_loss)
WORDS(hn_finetune_too_long)
WORDS(hn_finetune_schedule)
WORDS(hn_lm_call_form)
WORDS(hn_examples_format)
WORDS(hn_prove_kind)

static const char *goal_word(int32_t i) { return hn_finetune_goal_at((size_t)i) ? hn_finetune_goal_at((size_t)i)->name : NULL; }

static const struct {
    const char *name;
    word_at *at;
} sets[] = {
    { "types", hn_tensor_type },
    { "recipes", hn_lm_recipe },
    { "levels", hn_engine_level },
    { "goals", goal_word },
    { "families of calls", hn_lm_call_family },
    { "kinds of files", hn_examples_file_kind },
    { "kinds of leaves", hn_builder_kind_word },
    { "plans of memory", hn_exec_plan_word },
    { "optimisers", hn_trainer_optimizer_word },
    { "numerics", hn_lm_numerics_word },
    { "poolings", hn_lm_pooling_word },
    { "what is planned", hn_lm_plan_kind_word },
    { "what is supervised", hn_finetune_loss_word },
    { "what is too long", hn_finetune_too_long_word },
    { "schedules", hn_finetune_schedule_word },
    { "forms of calls", hn_lm_call_form_word },
    { "formats of examples", hn_examples_format_word },
    { "kinds of checks", hn_prove_kind_word },
};
enum { N_SETS = sizeof sets / sizeof *sets, ROW = 3, MOST_TEXT = 1 << 16, MOST_FILE = 1 << 22 };

/* Rows that are meant: floats that are no blocks, of which there will not be more; and what check_prose asks for every word. */
static const char *const meant[] = { "f32, f16 or bf16", "error, keep-start, keep-end; allow, past the model's context",
                                     "f32 (the default), mixed; bf16, int8: of its logits" };

static bool is_word_of(word_at *at, const char *word, size_t n)
{
    const char *known;
    for (int32_t i = 0; (known = at(i)) != NULL && *known; i++)
        if (strlen(known) == n && !memcmp(known, word, n))
            return true;
    return false;
}

static bool is_one_of(const char *word, size_t n, const char *words)
{
    for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == n && !memcmp(at, word, n))
            return true;
    return false;
}

/* Where three words of a set stand one after the other, with nothing between but what parts a list. */
static const char *row_in(const char *text, word_at *at)
{
    const char *begin = NULL;
    int n = 0;
    for (const char *c = text; *c;) {
        size_t length = 0;
        while (isalnum((unsigned char)c[length]) || c[length] == '_' || c[length] == '-')
            length++;
        if (!length) {
            n = strchr(" ,;/()", *c) ? n : 0;
            c++;
            continue;
        }
        if (is_word_of(at, c, length)) {
            begin = n++ ? begin : c;
            if (n == ROW)
                return begin;
        } else if (!is_one_of(c, length, "or and the default")) {
            n = 0;
        }
        c += length;
    }
    return NULL;
}

static void judge(const char *path, int line, const char *text)
{
    for (int s = 0; s < N_SETS; s++) {
        const char *row = row_in(text, sets[s].at);
        bool is_meant = !row;
        for (size_t i = 0; row && i < sizeof meant / sizeof *meant; i++)
            is_meant = is_meant || !strncmp(row, meant[i], strlen(meant[i]));
        CHECK_THAT(is_meant, "%s:%d: %s are listed by hand: \"%.60s\"", path, line, sets[s].name, row);
    }
}

/* The texts of a file, each put together of its pieces; comments are none. */
static void read_texts(const char *path, const char *c)
{
    static char text[MOST_TEXT];
    size_t n = 0;
    int line = 1, begin = 0;
    for (; *c; c++) {
        if (*c == '"') {
            begin = n ? begin : line;
            for (c++; *c && *c != '"' && n + 2 < MOST_TEXT; c++) {
                const bool is_escaped = *c == '\\' && c[1];
                text[n++] = is_escaped ? ' ' : *c; /* what is escaped parts words */
                c += is_escaped;
            }
            if (!*c)
                break;
        } else if (*c == '\'') {
            c += c[1] == '\\' ? 3 : 2;
        } else if (*c == '/' && (c[1] == '*' || c[1] == '/')) {
            const char *end = c[1] == '*' ? strstr(c, "*/") : strchr(c, '\n');
            for (; end && c < end; c++)
                line += *c == '\n';
            line += end && *c == '\n';
            if (!end)
                break;
        } else if (*c == '\n') {
            line++;
        } else if (*c != ' ' && *c != '\\' && n) {
            text[n] = 0;
            judge(path, begin, text);
            n = 0;
        }
    }
}

static int read_all(void)
{
    char path[4096];
    int n = 0;
    FILE *list = popen("cd '" HN_SOURCE_DIR "' && find src -name '*.[ch]' -o -name '*.def'", "r");
    char *text = malloc(MOST_FILE);
    while (list && text && fgets(path, sizeof path, list)) {
        char whole[4096 + sizeof HN_SOURCE_DIR];
        path[strcspn(path, "\n")] = 0;
        snprintf(whole, sizeof whole, "%s/%s", HN_SOURCE_DIR, path);
        FILE *f = fopen(whole, "r");
        if (!CHECK(f))
            break;
        text[fread(text, 1, MOST_FILE - 1, f)] = 0;
        fclose(f);
        read_texts(path, text);
        n++;
    }
    free(text);
    if (list)
        pclose(list);
    return n;
}

static void check_reader(void)
{
    check_group("reader");
    CHECK(row_in("a cache of f32, f16 or bf16", hn_tensor_type) && row_in("f32 (the default), q8_0 q4_0", hn_tensor_type));
    CHECK(!row_in("f32 products of bf16 by f16", hn_tensor_type) && !row_in("f32, f16", hn_tensor_type));
}

/* ---- prose ---- */

static const char *help_of(const hn_setting *table(size_t i), const char *name)
{
    const hn_setting *s;
    for (size_t i = 0; (s = table(i)) != NULL; i++)
        if (s->name && !strcmp(s->name, name))
            return s->help;
    return "";
}

static const char *moments_word(int32_t i) { return hn_trainer_moments_name((hn_trainer_moments)i); }
static const char *balance_word(int32_t i) { return hn_finetune_balance_name((hn_finetune_balance)i); }

static void tells_all(const char *what, const char *text, word_at *at)
{
    const char *word;
    check_group(what);
    for (int32_t i = 0; (word = at(i)) != NULL && *word; i++)
        CHECK_THAT(strstr(text, word) != NULL, "%s is not told of in \"%s\"", word, text);
}

static void check_prose(void)
{
    tells_all("--numerics", HN_NUMERICS_OF_RUNS, hn_lm_numerics_word);
    tells_all("--numerics", HN_NUMERICS_OF_PROOFS, hn_lm_numerics_word);
    tells_all("--too-long", help_of(hn_examples_setting, "too-long"), hn_finetune_too_long_word);
    tells_all("--moments", help_of(hn_finetune_setting, "moments"), moments_word);
    tells_all("--balance", help_of(hn_finetune_setting, "balance"), balance_word);
    tells_all("--schedule", help_of(hn_finetune_setting, "schedule"), hn_finetune_schedule_word);
    tells_all("--format", help_of(hn_examples_setting, "format"), hn_examples_format_word);
    tells_all("--format", help_of(hn_examples_setting, "format"), hn_examples_file_kind);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_reader();
    check_group("texts");
    CHECK(read_all() > 500);
    check_prose();
    return check_close();
}
