/* Engine and model go together: they are opened in this order and closed in the other. */
#include "cli/open_model.h"

#include "base/file.h"

enum { MOST_BYTES = 1 << 30 };

hn_status hn_opened_open(hn_opened *out, hn_open_kind kind, const char *path, const hn_machine_args *machine,
                         const hn_list *ignored, const hn_template_args *template)
{
    static hn_status (*const opens[])(hn_lm **, hn_engine *, const char *, const hn_lm_options *) = {
        [HN_OPEN_ALL] = hn_lm_open, [HN_OPEN_WEIGHTS] = hn_lm_open_weights, [HN_OPEN_WORDS] = hn_lm_open_words
    };
    hn_lm_options o = { .size = sizeof o, .ignored_keys = ignored ? ignored->at : NULL,
                        .n_ignored_keys = ignored ? ignored->n : 0,
                        .template_file = template ? template->file : NULL,
                        .template_name = template ? template->name : NULL };
    *out = (hn_opened){ NULL, NULL };
    HN_TRY(hn_machine_numerics(machine, &o.numerics));
    HN_TRY(hn_machine_engine(machine, &out->engine));
    const hn_status status = opens[kind](&out->lm, out->engine, path, &o);
    if (status != HN_OK)
        hn_opened_close(out);
    return status;
}

void hn_opened_close(hn_opened *opened)
{
    hn_lm_close(opened->lm);
    hn_machine_engine_free(opened->engine);
    *opened = (hn_opened){ NULL, NULL };
}

/* Two bytes a token is room for most texts; what has more is read once more. */
hn_status hn_ids_of(const hn_lm *lm, hn_heap *heap, const char *text, size_t bytes, const hn_lm_encode_options *options,
                    hn_ids *out)
{
    size_t room = bytes / 2 + 64;
    *out = (hn_ids){ NULL, 0 };
    for (;;) {
        int32_t *ids = hn_alloc_array(heap, HN_TAG_TEXT, room, sizeof *ids);
        if (!ids)
            return HN_ERR_MEMORY;
        const hn_status status = hn_lm_encode_by(lm, text, bytes, options, ids, room, &out->n);
        if (status == HN_OK) {
            out->at = ids;
            return HN_OK;
        }
        hn_free(heap, ids);
        if (status != HN_ERR_ARGUMENT || out->n <= room)
            return status;
        room = out->n;
    }
}

hn_status hn_ids_of_file(const hn_lm *lm, hn_heap *heap, const char *path, hn_ids *out)
{
    const hn_lm_encode_options plain = { .size = sizeof plain, .no_bos = 1, .no_eos = 1 };
    void *text;
    size_t bytes;
    HN_TRY(hn_file_read_text(heap, path, MOST_BYTES, &text, &bytes));
    const hn_status status = hn_ids_of(lm, heap, text, bytes, &plain, out);
    hn_free(heap, text);
    return status;
}
