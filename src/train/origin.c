/* Where and when, for people: nothing here is in a digest, so equal runs on two machines have equal results beside
 * different origins. */
#include "train/origin.h"

#include "base/json.h"
#include "base/os/clock.h"
#include "base/os/process.h"
#include "base/out_file.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

static void add_machine(hn_json_writer *json)
{
    char kind[400], text[512];
    hn_os_machine(kind, sizeof kind);
    snprintf(text, sizeof text, "%s, %d processors", kind, hn_os_processors());
    hn_json_put_text(json, "machine", text);
}

static void add_date(hn_json_writer *json)
{
    char text[64] = "";
    struct tm parts;
    if (hn_clock_utc(hn_clock_wall_ns() / 1000000000, &parts))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
    hn_json_put_text(json, "date", text);
}

static void add_data(hn_json_writer *json, const hn_dataset *d)
{
    hn_json_key(json, "data");
    hn_json_begin_array(json);
    for (int i = 0; i < d->n_files; i++) {
        char digest[65], text[4400];
        hn_sha256_text(d->files[i].source.digest, digest);
        snprintf(text, sizeof text, "%.4000s: %zu examples%s, SHA-256 %s", d->files[i].source.path,
                 d->files[i].source.n, d->files[i].is_held ? ", held out" : "", digest);
        hn_json_add_string(json, text);
    }
    hn_json_end_array(json);
}

static hn_status write_text(const hn_str *text, const char *dir)
{
    char path[4096];
    hn_out_file file;
    HN_TRY(hn_str_status(text));
    snprintf(path, sizeof path, "%s/origin.json", dir);
    HN_TRY(hn_out_file_open(&file, hn_sink_own(path)));
    const hn_status status = hn_out_file_write(&file, text->text, text->length);
    if (status == HN_OK)
        return hn_out_file_commit(&file);
    hn_out_file_abandon(&file);
    return status;
}

hn_status hn_origin_write(hn_heap *heap, const char *dir, const hn_origin *o)
{
    hn_str text = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    hn_json_put_text(&json, "model", o->model);
    add_data(&json, o->dataset);
    hn_json_put_text(&json, "command", o->command);
    hn_json_put_text(&json, "version", o->version);
    add_machine(&json);
    add_date(&json);
    hn_json_end_object(&json);
    hn_str_add(&text, "\n");
    const hn_status status = write_text(&text, dir);
    hn_str_free(&text);
    return status;
}
