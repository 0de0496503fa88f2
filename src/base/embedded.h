/* embedded.h: the model that is part of the library: assets/hone-tiny.gguf, byte for byte. */
#ifndef HN_BASE_EMBEDDED_H
#define HN_BASE_EMBEDDED_H

#include "base/file.h"

/* Its name in the place of a file's: what is mapped under it (base/map_file.h) is the model. A file that is
 * called so is ./hone:tiny. */
#define HN_EMBEDDED_NAME "hone:tiny"
bool hn_is_embedded(const char *path);

/* Lives as long as the library; aligned to 64 bytes. */
hn_span hn_embedded_model(void);

/* Writes it to a file: durable, then renamed. */
hn_status hn_embedded_write(hn_sink to);

#endif
