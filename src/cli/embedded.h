/* embedded.h: the model that is part of the program: assets/hone-tiny.gguf, byte for byte. */
#ifndef HN_CLI_EMBEDDED_H
#define HN_CLI_EMBEDDED_H

#include "base/file.h"

/* Lives as long as the program; aligned to 64 bytes. */
hn_span hn_embedded_model(void);

/* Writes it to a file: durable, then renamed. */
hn_status hn_embedded_write(hn_sink to);

#endif
