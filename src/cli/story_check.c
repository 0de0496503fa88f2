/* In this order: the judged texts are remembered, then the training text passes them once, then each is judged;
 * for it may be larger than memory. */
#include "cli/story_check.h"

#include "cli/machine_options.h"
#include "cli/story/copies.h"
#include "cli/story/judge.h"
#include "hone/files.h"

#include <string.h>

typedef struct work {
    hn_judge *judge;
    hn_copies *copies;
    FILE *out;
    size_t n, n_right, n_copied;
} work;

static hn_status add_text(void *context, size_t i, const char *text, size_t bytes)
{
    work *w = context;
    return hn_copies_add(w->copies, (uint32_t)i, text, bytes);
}

static hn_status pass_text(void *context, size_t i, const char *text, size_t bytes)
{
    work *w = context;
    (void)i;
    return hn_copies_pass(w->copies, text, bytes);
}

static hn_status judge_text(void *context, size_t i, const char *text, size_t bytes)
{
    work *w = context;
    char reason[HN_JUDGE_TEXT];
    size_t copied;
    const bool is_right = hn_judge_story(w->judge, text, bytes, reason);
    const char *copy = hn_copies_of(w->copies, (uint32_t)i, &copied);
    w->n++;
    w->n_right += is_right;
    w->n_copied += copied > 0;
    if (!is_right)
        fprintf(w->out, "%u\t%s\n", (unsigned)i + 1, reason);
    if (copied)
        fprintf(w->out, "%u\tcopied: %.*s\n", (unsigned)i + 1, (int)copied, copy);
    return HN_OK;
}

static hn_status check_all(hn_engine *engine, const hn_story_check *check, work *w)
{
    HN_TRY(hn_texts_each(engine, check->path, add_text, w));
    if (check->against)
        HN_TRY(hn_texts_each(engine, check->against, pass_text, w));
    return hn_texts_each(engine, check->path, judge_text, w);
}

hn_status hn_story_check_run(hn_heap *heap, const hn_story_check *check, FILE *out)
{
    work w = { .out = out };
    hn_engine *engine;
    HN_TRY(hn_machine_engine(&(hn_machine_args){ .threads = 1 }, &engine));
    hn_status status = hn_judge_new(heap, &w.judge);
    if (status == HN_OK)
        status = hn_copies_new(heap, &w.copies);
    if (status == HN_OK)
        status = check_all(engine, check, &w);
    hn_machine_engine_free(engine);
    hn_copies_free(w.copies);
    hn_judge_free(w.judge);
    HN_TRY(status);
    const size_t need = check->need < 0 ? w.n : (size_t)check->need;
    fprintf(out, "%zu of %zu stories hold together", w.n_right, w.n);
    if (check->against)
        fprintf(out, "; %zu copy 20 words in a row", w.n_copied);
    fputc('\n', out);
    HN_REQUIRE(w.n_right >= need, HN_ERR_FORMAT, "%s: %zu stories hold together: expected %zu",
               check->path, w.n_right, need);
    HN_REQUIRE(!w.n_copied, HN_ERR_FORMAT, "%s: %zu stories copy the training text", check->path,
               w.n_copied);
    return HN_OK;
}
