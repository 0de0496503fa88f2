/* What is in a run's folder, for hosts. */
#include "engine/lm.h"
#include "train/report.h"
#include "train/run_told.h"

#include <string.h>

hn_status hn_finetune_report(hn_engine *engine, const char *folder, char *to, size_t room, size_t *bytes)
{
    HN_ENTER();
    char path[4096];
    HN_REQUIRE(engine && folder, HN_ERR_ARGUMENT, "hn_finetune_report: expected engine and folder, found NULL");
    HN_TRY(hn_engine_check(engine));
    HN_TRY(hn_run_report_write(&engine->heap, folder, path));
    return hn_give_text(path, strlen(path), to, room, bytes);
}

struct hn_finetune_file {
    hn_run_file inner;
    hn_finetune_line lines[HN_MAX_RUN_FILE_LINES];
};

static void take_lines(hn_finetune_file *f)
{
    static const hn_finetune_value values[] = {
        [HN_RUN_LINE_TEXT] = HN_FINETUNE_TEXT, [HN_RUN_LINE_TRUE] = HN_FINETUNE_TRUE,
        [HN_RUN_LINE_FALSE] = HN_FINETUNE_FALSE, [HN_RUN_LINE_NONE] = HN_FINETUNE_NONE,
    };
    for (int i = 0; i < f->inner.n; i++) {
        const hn_run_line *line = &f->inner.lines[i];
        f->lines[i] = (hn_finetune_line){ line->key, line->text, values[line->kind], line->at };
    }
}

static hn_status open_file(hn_finetune_file **out, hn_engine *engine, const char *path, bool is_folder)
{
    HN_REQUIRE(out && engine && path, HN_ERR_ARGUMENT,
               "hn_finetune_file_open: expected out, engine and path, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(engine));
    hn_finetune_file *f = hn_alloc(&engine->heap, HN_TAG_TEXT, sizeof *f);
    if (!f)
        return HN_ERR_MEMORY;
    f->inner.heap = &engine->heap;
    const hn_status status = is_folder ? hn_run_told_open(&f->inner, &engine->heap, path)
                                       : hn_run_file_read(&f->inner, &engine->heap, path);
    if (status != HN_OK) {
        hn_finetune_file_close(f);
        return status;
    }
    take_lines(f);
    *out = f;
    return HN_OK;
}

hn_status hn_finetune_file_open(hn_finetune_file **out, hn_engine *engine, const char *path)
{
    HN_ENTER();
    return open_file(out, engine, path, false);
}

hn_status hn_finetune_file_of_run(hn_finetune_file **out, hn_engine *engine, const char *folder)
{
    HN_ENTER();
    return open_file(out, engine, folder, true);
}

void hn_finetune_file_close(hn_finetune_file *f)
{
    HN_ENTER();
    if (!f)
        return;
    hn_heap *heap = f->inner.heap;
    hn_run_file_close(&f->inner);
    hn_free(heap, f);
}

const hn_finetune_line *hn_finetune_file_line(const hn_finetune_file *f, size_t i)
{
    HN_ENTER();
    return f && i < (size_t)f->inner.n ? &f->lines[i] : NULL;
}
