#include "cli/made.h"

#include "base/os/files.h"
#include "base/os/folders.h"
#include "cli/terminal.h"
#include "io/gguf.h"

#include <errno.h>
#include <string.h>

static void print_size(double bytes, FILE *out)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    fprintf(out, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
}

/* Tensors by their encoding, the most frequent spelling of each first seen. */
static void print_types(const hn_weights *w, FILE *out)
{
    enum { MOST = 32 };
    const char *names[MOST];
    size_t counts[MOST] = { 0 };
    int n = 0;
    for (size_t i = 0; i < w->n; i++) {
        int k = 0;
        while (k < n && strcmp(names[k], w->entries[i].encoding))
            k++;
        if (k == MOST)
            continue;
        if (k == n)
            names[n++] = w->entries[i].encoding;
        counts[k]++;
    }
    for (int k = 0; k < n; k++)
        fprintf(out, "%s%zu %s", k ? ", " : "", counts[k], names[k]);
}

static hn_status print_gguf(const hn_gguf *file, const char *path, FILE *out)
{
    const hn_weights *w = hn_gguf_weights(file);
    hn_span arch = { NULL, 0 };
    double n_numbers = 0, bytes = 0;
    HN_TRY(hn_meta_string(hn_gguf_meta(file), "general.architecture", &arch));
    for (size_t i = 0; i < w->n; i++) {
        n_numbers += (double)hn_count(&w->entries[i].type);
        bytes += (double)w->entries[i].bytes;
    }
    fprintf(out, "%s: ", path);
    hn_terminal_show(out, arch.data ? arch.data : "", arch.data ? arch.bytes : 0);
    fprintf(out, "%s%zu tensors (", arch.data ? ", " : "", w->n);
    print_types(w, out);
    fprintf(out, "), %.0f numbers in ", n_numbers);
    print_size(bytes, out);
    if (n_numbers > 0)
        fprintf(out, ", %.2f bits each", bytes * 8 / n_numbers);
    fputc('\n', out);
    return HN_OK;
}

/* What was made has its name by now, whatever becomes of describing it: who reads the error knows. */
static hn_status but_is_there(hn_status status, const char *path)
{
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s is written, and whole; reading it back: ", path);
}

hn_status hn_made_gguf(hn_heap *heap, const char *path, FILE *out)
{
    hn_gguf *file;
    hn_status status = hn_gguf_open(heap, path, &file);
    if (status == HN_OK) {
        status = print_gguf(file, path, out);
        hn_gguf_close(file);
    }
    return but_is_there(status, path);
}

hn_status hn_made(hn_status status, hn_heap *heap, const char *path, FILE *out)
{
    return status == HN_OK ? hn_made_gguf(heap, path, out) : status;
}

typedef struct made_in {
    const char *folder;
    FILE *out;
} made_in;

static bool print_file(void *context, const char *name)
{
    const made_in *m = context;
    char path[4400];
    hn_os_file about;
    snprintf(path, sizeof path, "%s/%s", m->folder, name);
    if (!hn_os_about(path, &about) || !about.is_file)
        return true;
    fprintf(m->out, "%s: ", path);
    print_size((double)about.bytes, m->out);
    fputc('\n', m->out);
    return true;
}

hn_status hn_made_folder(const char *path, FILE *out)
{
    made_in m = { path, out };
    if (!hn_os_folder_each(path, print_file, &m))
        return but_is_there(hn_fail(HN_ERR_IO, "%s: %s", path, strerror(errno)), path);
    return HN_OK;
}
