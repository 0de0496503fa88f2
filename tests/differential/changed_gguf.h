/* changed_gguf.h: a GGUF file, written again with other keys: its tensors stay as they are. */
#ifndef TESTS_DIFFERENTIAL_CHANGED_GGUF_H
#define TESTS_DIFFERENTIAL_CHANGED_GGUF_H

#include "io/gguf.h"

enum { MAX_KEYS = 128, MAX_OUT = 1 << 21 };

/* A value in the file's own bytes. */
typedef struct value {
    const char *key;
    hn_meta_type type;
    bool is_array;
    uint64_t n;
    const void *data;
    size_t bytes;
} value;

typedef struct parts {
    void *file;
    size_t bytes, infos_at, infos_bytes, data_at;
    uint64_t n_tensors;
    value keys[MAX_KEYS];
    int n_keys;
} parts;

/* Where they lie: what keys take is known, being written again. `file` and `bytes` are there. */
bool take_apart(parts *p, const hn_gguf *gguf);

/* The file with `without` (or NULL; ended by NULL) left out and `with` added. */
bool write_changed(const parts *p, const char *path, const char *const *without, const value *with,
                   int n_with);

#endif
