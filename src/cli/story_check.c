#include "cli/story_check.h"

#include "data/record.h"
#include "data/source.h"
#include "story/copies.h"
#include "story/judge.h"

#include <string.h>

typedef struct work {
    hn_judge *judge;
    hn_copies *copies;
    FILE *out;
    size_t n, n_right, n_copied;
} work;

typedef hn_status visit(work *w, uint32_t i, const char *text, size_t bytes);

/* Every text of a file, whatever its layout. */
static hn_status each_text(hn_heap *heap, const char *path, visit *what, work *w)
{
    const hn_data_source_options o = { 0 };
    const hn_record_options plain = { .plain = true };
    hn_data_source source;
    hn_record record = hn_record_on(heap);
    HN_TRY(hn_data_source_open(&source, heap, path, &o));
    hn_status status = HN_OK;
    for (size_t i = 0; i < source.n && status == HN_OK; i++) {
        hn_json_text *json = NULL;
        if (source.layout == HN_LAYOUT_PARAGRAPHS) {
            const hn_span text = hn_data_source_bytes(&source, i);
            status = what(w, (uint32_t)i, text.data, text.bytes);
            continue;
        }
        status = hn_data_source_read(&source, i, &json);
        if (status == HN_OK)
            status = hn_record_read(&record, hn_json_root(json), source.format, &plain);
        if (status == HN_OK && (record.n_parts != 1 || record.part[0].messages))
            status = hn_fail(HN_ERR_UNSUPPORTED, "%s: expected texts", path);
        if (status == HN_OK)
            status = what(w, (uint32_t)i, record.part[0].completion.data,
                          record.part[0].completion.bytes);
        hn_json_free(json);
    }
    hn_record_free(&record);
    hn_data_source_close(&source);
    return status;
}

static hn_status add_text(work *w, uint32_t i, const char *text, size_t bytes)
{
    return hn_copies_add(w->copies, i, text, bytes);
}

static hn_status pass_text(work *w, uint32_t i, const char *text, size_t bytes)
{
    (void)i;
    return hn_copies_pass(w->copies, text, bytes);
}

static hn_status judge_text(work *w, uint32_t i, const char *text, size_t bytes)
{
    char reason[HN_JUDGE_TEXT];
    size_t copied;
    const bool is_right = hn_judge_story(w->judge, text, bytes, reason);
    const char *copy = hn_copies_of(w->copies, i, &copied);
    w->n++;
    w->n_right += is_right;
    w->n_copied += copied > 0;
    if (!is_right)
        fprintf(w->out, "%u\t%s\n", (unsigned)i + 1, reason);
    if (copied)
        fprintf(w->out, "%u\tcopied: %.*s\n", (unsigned)i + 1, (int)copied, copy);
    return HN_OK;
}

static hn_status check_all(hn_heap *heap, const hn_story_check *check, work *w)
{
    HN_TRY(each_text(heap, check->path, add_text, w));
    if (check->against)
        HN_TRY(each_text(heap, check->against, pass_text, w));
    return each_text(heap, check->path, judge_text, w);
}

hn_status hn_story_check_run(hn_heap *heap, const hn_story_check *check, FILE *out)
{
    work w = { .out = out };
    HN_TRY(hn_judge_new(heap, &w.judge));
    hn_status status = hn_copies_new(heap, &w.copies);
    if (status == HN_OK)
        status = check_all(heap, check, &w);
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
