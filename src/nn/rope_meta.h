/* rope_meta.h: how positions turn, as GGUF says it. */
#ifndef HN_NN_ROPE_META_H
#define HN_NN_ROPE_META_H

#include "nn/keys.h"

/* After the fields were read; nothing for an architecture whose tables have no rope.scaling.factor. */
hn_status hn_rope_read_meta(const hn_meta *meta, const char *arch,
                            const hn_key_row *const *tables, hn_hparams *hp);
hn_status hn_rope_write_meta(const hn_hparams *hp, const char *arch, hn_meta *meta);

#endif
