/* gguf.h: model files in GGUF, versions 2 and 3, little endian.
 *
 * Reading maps the file and copies nothing but names: every count, length and offset is checked
 * before the first tensor can be touched, so that what was opened can be read to its end. Of a
 * split model any part may be named: all are opened. */
#ifndef HN_IO_GGUF_H
#define HN_IO_GGUF_H

#include "base/map_file.h"
#include "base/meta.h"
#include "io/weights.h"

typedef struct hn_gguf hn_gguf;

/* HN_ERR_IO; HN_ERR_FORMAT for what is malformed, and, said apart, for what was cut off;
 * HN_ERR_UNSUPPORTED for other versions and byte orders. */
hn_status hn_gguf_open(hn_heap *heap, const char *path, hn_gguf **out);
/* The same read into memory: whatever becomes of the file, what was read stays. For what is small and used for long. */
hn_status hn_gguf_read(hn_heap *heap, const char *path, hn_gguf **out);
void hn_gguf_close(hn_gguf *gguf); /* takes NULL */

/* They live as long as the file is open. Without the keys `split.*`. */
const hn_meta *hn_gguf_meta(const hn_gguf *gguf);
const hn_weights *hn_gguf_weights(const hn_gguf *gguf);
int hn_gguf_version(const hn_gguf *gguf);
int hn_gguf_parts(const hn_gguf *gguf);
const hn_map_file *hn_gguf_map(const hn_gguf *gguf, int part);

#endif
