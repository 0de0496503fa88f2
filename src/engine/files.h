/* files.h: what functions over files share: how they are watched, where they write. */
#ifndef HN_ENGINE_FILES_H
#define HN_ENGINE_FILES_H

#include "base/out_file.h"
#include "convert/encode_rows.h"
#include "convert/recipe.h"
#include "engine/lm.h"

static inline hn_watch hn_engine_watch(hn_engine *engine)
{
    return (hn_watch){ .progress = hn_engine_tell, .context = engine };
}

/* A list of "PATTERN=TYPE", of the struct called so; freed with hn_free. */
hn_status hn_take_keep(hn_heap *heap, const char *name, const char *const *keep, int32_t n, hn_keep **out);

static inline hn_sink hn_sink_over(const char *path, int32_t overwrite)
{
    return (hn_sink){ path, overwrite ? HN_OVER_OLD : HN_OVER_NOTHING };
}

/* Where a call writes at its end, if `path` is given: what cannot be written is refused before it begins. */
static inline hn_status hn_take_sink(const char *path, int32_t overwrite, hn_sink *to)
{
    *to = hn_sink_over(path, overwrite);
    return path ? hn_sink_try(*to) : HN_OK;
}

#endif
