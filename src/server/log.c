/* A line is one write, so lines of several threads are not mixed; a path is shown with what could fool a terminal
 * replaced. */
#include "server/log.h"

#include "base/json.h"
#include "base/os/clock.h"

/* Blanks, controls and all that a terminal may take for more than a letter, as an address has them. */
static void add_path(hn_str *to, const char *path)
{
    for (const unsigned char *c = (const unsigned char *)path; *c; c++) {
        if (*c > 0x20 && *c < 0x7f && *c != '%')
            hn_str_add_char(to, (char)*c);
        else
            hn_str_print(to, "%%%02x", (unsigned)*c);
    }
}

static void add_time(hn_str *to, int64_t at)
{
    struct tm t;
    if (hn_clock_utc(at, &t))
        hn_str_print(to, "%04d-%02d-%02dT%02d:%02d:%02dZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min,
                     t.tm_sec);
}

static void add_object(hn_str *to, const hn_http_done *d, const char *time)
{
    hn_json_writer w = hn_json_write_to(to);
    hn_json_begin_object(&w);
    hn_json_key(&w, "time");
    hn_json_add_string(&w, time);
    hn_json_key(&w, "method");
    hn_json_add_string(&w, d->method);
    hn_json_key(&w, "path");
    hn_json_add_string(&w, d->path);
    hn_json_key(&w, "status");
    hn_json_add_int(&w, d->status);
    hn_json_key(&w, "ms");
    hn_json_add_int(&w, d->ns / 1000000);
    hn_json_key(&w, "bytes");
    hn_json_add_int(&w, (int64_t)d->bytes);
    hn_json_key(&w, "key");
    if (d->tag)
        hn_json_add_string(&w, d->tag);
    else
        hn_json_add_null(&w);
    hn_json_key(&w, "gone");
    hn_json_add_bool(&w, d->is_gone);
    if (d->asked.data) {
        hn_json_put_bytes(&w, "asked", d->asked.data, d->asked.bytes);
        hn_json_put_bytes(&w, "said", d->said.data, d->said.bytes);
    }
    hn_json_end_object(&w);
}

void hn_log_line(hn_str *to, bool is_json, const hn_http_done *d, int64_t at)
{
    hn_str time = hn_str_on(to->heap);
    add_time(&time, at);
    if (is_json) {
        add_object(to, d, time.text);
        hn_str_add_char(to, '\n');
    } else {
        hn_str_print(to, "%s %s ", time.text, d->method);
        add_path(to, d->path);
        hn_str_print(to, " %d %lld ms %llu bytes %s%s\n", d->status, (long long)(d->ns / 1000000),
                     (unsigned long long)d->bytes, d->tag ? d->tag : "-", d->is_gone ? " gone" : "");
    }
    if (time.status != HN_OK || d->lacks_texts)
        to->status = HN_ERR_MEMORY;
    hn_str_free(&time);
}

void hn_log_write(const hn_log *log, hn_heap *heap, const hn_http_done *done)
{
    static const char missing[] = "a request for whose line there was no memory\n";
    if (!log->to)
        return;
    hn_str line = hn_str_on(heap);
    hn_log_line(&line, log->is_json, done, hn_clock_wall_ns() / 1000000000);
    if (line.status == HN_OK)
        fwrite(line.text, 1, line.length, log->to);
    else
        fwrite(missing, 1, sizeof missing - 1, log->to);
    fflush(log->to);
    hn_str_free(&line);
}
