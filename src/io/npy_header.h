/* npy_header.h: the dictionary in front of a .npy array's data. */
#ifndef HN_IO_NPY_HEADER_H
#define HN_IO_NPY_HEADER_H

#include "io/npy.h"

typedef struct hn_npy_header {
    hn_npy array; /* dtype, is_bool, rank, dim, bytes; no data */
    bool is_fortran;
    size_t data_at; /* byte of the file */
} hn_npy_header;

hn_status hn_npy_read_header(const char *name, const uint8_t *file, size_t bytes,
                             hn_npy_header *out);

enum { HN_NPY_HEADER_ROOM = 256 };

/* A whole version 1.0 header, magic and padding included; returns its bytes. */
hn_status hn_npy_make_header(const hn_npy *array, uint8_t out[HN_NPY_HEADER_ROOM],
                             size_t *bytes);

#endif
