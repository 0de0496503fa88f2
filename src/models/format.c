/* The formats in the order of formats.def: the first that knows the path opens it, and the last takes what none of
 * them knows. */
#include "models/format.h"

#include <string.h>

static const hn_model_format *const formats[] = {
#define HN_MODEL_FORMAT(name) &hn_model_format_##name,
#include "models/formats.def"
#undef HN_MODEL_FORMAT
};

const hn_model_format *hn_model_format_of(const char *path)
{
    size_t i = 0;
    while (i + 1 < sizeof formats / sizeof *formats && !formats[i]->is(path))
        i++;
    return formats[i];
}

/* ---- looking ---- */

void hn_model_look_add(hn_model_look *look, const char *name, const char *text, size_t bytes)
{
    if (strcmp(name, "default") != 0) {
        hn_str_print(&look->others, "%s%s", look->others.length ? ", " : "", name);
        return;
    }
    look->has_template = true;
    hn_str_add_bytes(&look->template, text, bytes);
}

hn_status hn_model_look_open(hn_model_look *look, hn_heap *heap, const char *path, const hn_ignored *ignored)
{
    *look = (hn_model_look){ .template = hn_str_on(heap), .others = hn_str_on(heap) };
    HN_TRY(hn_model_format_of(path)->look(heap, path, ignored, look));
    HN_TRY(hn_str_status(&look->others));
    return hn_str_status(&look->template);
}

void hn_model_look_close(hn_model_look *look, hn_heap *heap, const char *path)
{
    if (look->file)
        hn_model_format_of(path)->close(look->file);
    hn_free(heap, look->hp);
    hn_str_free(&look->template);
    hn_str_free(&look->others);
}
