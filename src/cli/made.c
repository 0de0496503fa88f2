/* What was written is opened and counted as a stranger's file would be. If that fails the file is there all the
 * same, and the message says so. */
#include "cli/made.h"

#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/status.h"
#include "cli/terminal.h"

#include <errno.h>
#include <string.h>

enum { MOST = 32 };

static void print_size(double bytes, FILE *out)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    fprintf(out, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
}

typedef struct counted {
    double numbers, bytes;
    const char *types[MOST];
    size_t counts[MOST];
    int n; /* types */
} counted;

/* Tensors by their type, in the order in which each is first seen. */
static hn_status count(const hn_lm_file *file, counted *c)
{
    const size_t n = hn_lm_file_about(file)->n_tensors;
    for (size_t i = 0; i < n; i++) {
        hn_lm_tensor t;
        int k = 0;
        HN_TRY(hn_lm_file_tensor(file, i, &t, sizeof t));
        c->numbers += (double)t.parameters;
        c->bytes += (double)t.bytes;
        while (k < c->n && strcmp(c->types[k], t.type))
            k++;
        if (k == MOST)
            continue;
        if (k == c->n)
            c->types[c->n++] = t.type;
        c->counts[k]++;
    }
    return HN_OK;
}

/* Of any file, whether or not hone can run it. */
static hn_status print_arch(hn_lm_file *file, FILE *out)
{
    hn_lm_item arch;
    const size_t key = hn_lm_file_find(file, "general.architecture");
    if (key == hn_lm_file_about(file)->n_keys)
        return HN_OK;
    HN_TRY(hn_lm_file_item(file, key, 0, &arch, sizeof arch));
    hn_terminal_show(out, arch.text, arch.bytes);
    fputs(", ", out);
    return HN_OK;
}

static hn_status print_file(hn_lm_file *file, const char *path, FILE *out)
{
    counted c = { 0 };
    HN_TRY(count(file, &c));
    fprintf(out, "%s: ", path);
    HN_TRY(print_arch(file, out));
    fprintf(out, "%zu tensors (", hn_lm_file_about(file)->n_tensors);
    for (int k = 0; k < c.n; k++)
        fprintf(out, "%s%zu %s", k ? ", " : "", c.counts[k], c.types[k]);
    fprintf(out, "), %.0f numbers in ", c.numbers);
    print_size(c.bytes, out);
    if (c.numbers > 0)
        fprintf(out, ", %.2f bits each", c.bytes * 8 / c.numbers);
    fputc('\n', out);
    return HN_OK;
}

/* What was made has its name by now, whatever becomes of describing it: who reads the error knows. */
static hn_status but_is_there(hn_status status, const char *path)
{
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s is written, and whole; reading it back: ", path);
}

hn_status hn_made_gguf(hn_engine *engine, const char *path, FILE *out)
{
    hn_lm_file *file;
    hn_status status = hn_lm_file_open(&file, engine, path, NULL, 0);
    if (status == HN_OK) {
        status = print_file(file, path, out);
        hn_lm_file_close(file);
    }
    return but_is_there(status, path);
}

hn_status hn_made(hn_status status, hn_engine *engine, const char *path, FILE *out)
{
    return status == HN_OK ? hn_made_gguf(engine, path, out) : status;
}

typedef struct made_in {
    const char *folder;
    FILE *out;
} made_in;

static bool print_one(void *context, const char *name)
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
    if (!hn_os_folder_each(path, print_one, &m))
        return but_is_there(hn_fail(HN_ERR_IO, "%s: %s", path, strerror(errno)), path);
    return HN_OK;
}
