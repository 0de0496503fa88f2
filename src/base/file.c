/* Regular files alone: a pipe or a device has no size to trust and may never end. What is read is noted as an
 * input, so that nothing is written over it later; hn_file_text asks nothing and notes nothing, for small ones
 * that may be missing. */
#include "base/file.h"

#include "base/map_file.h"
#include "base/os/files.h"
#include "base/utf8.h"
#include "base/work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static hn_status read_exactly(int file, const char *path, char *to, size_t bytes)
{
    enum { PIECE = 16 << 20 };
    for (size_t done = 0; done < bytes;) {
        HN_TRY(hn_work_look(path));
        const ptrdiff_t n = hn_os_read(file, to + done, bytes - done < PIECE ? bytes - done : PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        HN_REQUIRE(n >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
        HN_REQUIRE(n > 0, HN_ERR_IO, "%s: ends after %zu of %zu bytes", path, done, bytes);
        done += (size_t)n;
    }
    return HN_OK;
}

hn_status hn_file_read_open(hn_heap *heap, int file, const char *path, size_t bytes, void **out)
{
    char *data = bytes < SIZE_MAX ? hn_alloc(heap, HN_TAG_FILE, bytes + 1) : NULL;
    if (!data)
        return hn_fail_within(HN_ERR_MEMORY, "%s: ", path);
    const hn_status status = read_exactly(file, path, data, bytes);
    if (status != HN_OK) {
        hn_free(heap, data);
        return status;
    }
    *out = data;
    return HN_OK;
}

static hn_status read_open(hn_heap *heap, int file, const char *path, size_t limit, void **out,
                           size_t *bytes)
{
    hn_os_file about;
    HN_REQUIRE(hn_os_about_open(file, &about), HN_ERR_IO, "%s: %s", path, strerror(errno));
    HN_REQUIRE(about.is_file, HN_ERR_IO, "%s: not a regular file", path);
    HN_REQUIRE(about.bytes <= limit, HN_ERR_FORMAT, "%s: %llu bytes: expected at most %zu", path,
               (unsigned long long)about.bytes, limit);
    *bytes = (size_t)about.bytes;
    return hn_file_read_open(heap, file, path, *bytes, out);
}

int hn_file_reader(const char *path)
{
    const int file = hn_os_open_reader(path);
    if (file >= 0)
        hn_inputs_note(file);
    return file;
}

hn_status hn_file_read(hn_heap *heap, const char *path, size_t limit, void **out, size_t *bytes)
{
    *out = NULL;
    *bytes = 0;
    const int file = hn_file_reader(path);
    HN_REQUIRE(file >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    const hn_status status = read_open(heap, file, path, limit, out, bytes);
    hn_os_close(file);
    return status;
}

hn_status hn_file_read_text(hn_heap *heap, const char *path, size_t limit, void **out, size_t *bytes)
{
    HN_TRY(hn_file_read(heap, path, limit, out, bytes));
    const unsigned char *text = *out;
    const size_t whole = hn_utf8_whole(*out, *bytes);
    if (whole == *bytes)
        return HN_OK;
    const hn_status status =
        hn_fail(HN_ERR_FORMAT, "%s: expected text in UTF-8, found byte 0x%02x at %zu", path, text[whole], whole);
    hn_free(heap, *out);
    *out = NULL;
    *bytes = 0;
    return status;
}

static hn_status write_to(hn_sink to, bool is_private, bool may_be_lost, const hn_span *spans, int n_spans)
{
    hn_out_file out;
    HN_TRY(hn_out_file_open(&out, to));
    out.may_be_lost = may_be_lost;
    hn_status status = HN_OK;
    if (is_private && !hn_os_guard(out.partial))
        status = hn_fail(HN_ERR_IO, "%s: %s", to.path, strerror(errno));
    for (int i = 0; i < n_spans && status == HN_OK; i++)
        status = hn_out_file_write(&out, spans[i].data, spans[i].bytes);
    if (status == HN_OK)
        return hn_out_file_commit(&out);
    hn_out_file_abandon(&out);
    return status;
}

hn_status hn_file_write(hn_sink to, const hn_span *spans, int n_spans) { return write_to(to, false, false, spans, n_spans); }

hn_status hn_file_write_private(const char *path, const hn_span *spans, int n_spans)
{
    return write_to(hn_sink_own(path), true, false, spans, n_spans);
}

hn_status hn_file_write_passing(const char *path, const hn_span *spans, int n_spans)
{
    return write_to(hn_sink_own(path), true, true, spans, n_spans);
}

void hn_file_text(const char *path, char *out, size_t room)
{
    const int file = hn_os_open_reader(path);
    const ptrdiff_t n = file >= 0 ? hn_os_read(file, out, room - 1) : 0;
    out[n > 0 ? n : 0] = 0;
    if (file >= 0)
        hn_os_close(file);
}
