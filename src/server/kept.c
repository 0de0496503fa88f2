/* A record is a table of fields and where they lie in a struct, read and written by the same rows. A name is
 * drawn, long enough never to come twice. */
#include "server/kept.h"

#include "base/file.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/os/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20, MOST_DEPTH = 4 };

hn_status hn_kept_write(hn_heap *heap, const char *path, const hn_kept_field *fields, size_t n, const void *of,
                          void (*more)(hn_json_writer *, const void *))
{
    hn_str text = hn_str_on(heap);
    hn_json_writer w = hn_json_write_to(&text);
    hn_json_begin_object(&w);
    for (size_t i = 0; i < n; i++) {
        const char *at = (const char *)of + fields[i].at;
        int64_t value;
        hn_json_key(&w, fields[i].name);
        memcpy(&value, at, sizeof value);
        fields[i].room ? hn_json_add_string(&w, at) : hn_json_add_int(&w, value);
    }
    if (more)
        more(&w, of);
    hn_json_end_object(&w);
    hn_str_add_char(&text, '\n');
    hn_status status = hn_str_status(&text);
    const hn_span span = { text.text, text.length };
    if (status == HN_OK)
        status = hn_file_write_private(path, &span, 1);
    hn_str_free(&text);
    return status;
}

static hn_status read_field(const hn_kept_field *f, const hn_json *root, const char *path, void *of)
{
    const hn_json *v = hn_json_get(root, f->name);
    char *at = (char *)of + f->at;
    HN_REQUIRE(v && v->kind == (f->room ? HN_JSON_STRING : HN_JSON_INT), HN_ERR_FORMAT, "%s: %s: expected %s", path, f->name,
               f->room ? "a string" : "an integer");
    if (!f->room) {
        const int64_t number = hn_json_int(v);
        memcpy(at, &number, sizeof number);
        return HN_OK;
    }
    HN_REQUIRE(hn_json_bytes(v) < f->room, HN_ERR_FORMAT, "%s: %s: expected at most %zu bytes", path, f->name, f->room - 1);
    memcpy(at, hn_json_string(v), hn_json_bytes(v) + 1);
    return HN_OK;
}

hn_status hn_kept_read(hn_heap *heap, const char *path, const hn_kept_field *fields, size_t n, void *of, hn_json_text **out)
{
    void *text;
    size_t bytes;
    *out = NULL;
    HN_TRY(hn_file_read(heap, path, MOST_BYTES, &text, &bytes));
    hn_status status = hn_json_read(heap, path, text, bytes, out);
    hn_free(heap, text);
    for (size_t i = 0; i < n && status == HN_OK; i++)
        status = read_field(&fields[i], hn_json_root(*out), path, of);
    if (status != HN_OK) {
        hn_json_free(*out);
        *out = NULL;
    }
    return status;
}

hn_status hn_kept_name(const char *prefix, char *to, size_t room)
{
    uint64_t drawn[2];
    HN_REQUIRE(hn_os_random(&drawn[0]) && hn_os_random(&drawn[1]), HN_ERR_IO, "the system gives no random numbers");
    snprintf(to, room, "%s%016" PRIx64 "%08" PRIx64, prefix, drawn[0], drawn[1] >> 32);
    return HN_OK;
}

hn_status hn_kept_folder(const char *path)
{
    hn_os_file about;
    if (hn_os_folder_make(path, true)) {
        hn_os_folder_sync(path);
        return HN_OK;
    }
    HN_REQUIRE(errno == EEXIST, HN_ERR_IO, "%s: %s", path, strerror(errno));
    HN_REQUIRE(hn_os_about(path, &about) && about.is_folder, HN_ERR_IO, "%s: expected a folder", path);
    return HN_OK;
}

typedef struct removal {
    const char *path;
    int depth;
} removal;

static void remove_one(const char *path, int depth);

static bool remove_within(void *context, const char *name)
{
    const removal *r = context;
    char path[HN_KEPT_PATH];
    const int n = snprintf(path, sizeof path, "%s/%s", r->path, name);
    if (n > 0 && n < (int)sizeof path)
        remove_one(path, r->depth + 1);
    return true;
}

static void remove_one(const char *path, int depth)
{
    hn_os_file about;
    removal r = { path, depth };
    if (!hn_os_about_link(path, &about) || depth > MOST_DEPTH)
        return;
    if (!about.is_folder) {
        hn_os_remove(path);
        return;
    }
    hn_os_folder_each(path, remove_within, &r);
    hn_os_folder_remove(path);
}

void hn_kept_remove(const char *path) { remove_one(path, 0); }
