/* What is read back of what was kept: the record of a job (j), of a file (u), and an answer with its recipe (r), by the first
 * byte. Refused with a sentence, and all of it let go of; or what was read is told as JSON, and written again it is a record
 * that is read and written the same: what a server keeps does not change by being kept. */
#include "base/file.h"
#include "base/os/folders.h"
#include "server/jobs_state.h"
#include "server/recipe.h"
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOB  "ftjob-f9e12df95e8d731ab6a76412"
#define FILE_ID "file-58605afb54a2a29fc120259b"

static hn_heap heap;
static char folder[] = "/tmp/hone-records-XXXXXX";

static void end(void)
{
    hn_kept_remove(folder);
    if (heap.live_blocks)
        abort();
}

static void begin(void)
{
    static bool is_there;
    if (!is_there && (!mkdtemp(folder) || atexit(end)))
        abort();
    if (!is_there)
        hn_heap_init(&heap, NULL);
    is_there = true;
}

static void path_of(const char *name, char path[200]) { snprintf(path, 200, "%s/%s", folder, name); }

static void put(const char *name, const void *data, size_t bytes)
{
    char path[200];
    const hn_span span = { data, bytes };
    path_of(name, path);
    if (hn_file_write(hn_sink_own(path), &span, 1) != HN_OK)
        abort();
}

static void *get(const char *name, size_t *bytes)
{
    char path[200];
    void *text;
    path_of(name, path);
    if (hn_file_read(&heap, path, (size_t)1 << 24, &text, bytes) != HN_OK)
        abort();
    return text;
}

static void must_say(hn_status status)
{
    if (status != HN_OK && (status != HN_ERR_FORMAT || !*hn_error_message()))
        abort();
}

static void must_be_json(const hn_str *said)
{
    hn_json_text *text;
    if (hn_str_status(said) != HN_OK || hn_json_read(&heap, "said", said->text, said->length, &text) != HN_OK)
        abort();
    hn_json_free(text);
}

static hn_jobs read_all(hn_status (*read)(hn_jobs *), hn_status *status)
{
    hn_jobs jobs = { .heap = &heap, .o = { .folder = folder } };
    *status = read(&jobs);
    return jobs;
}

static void let_go(hn_jobs *jobs)
{
    hn_uploads_free(jobs);
    hn_jobs_free(jobs);
}

static bool write_job(hn_jobs *jobs)
{
    hn_failure why;
    hn_str said = hn_str_on(&heap);
    hn_json_writer w = hn_json_write_to(&said);
    hn_job_tell(jobs, jobs->jobs[0], &w);
    must_be_json(&said);
    hn_str_free(&said);
    return hn_job_record(jobs, jobs->jobs[0], &why);
}

static bool write_upload(hn_jobs *jobs)
{
    hn_failure why;
    return hn_upload_record(jobs, jobs->uploads[0], &why);
}

/* Read, written, read, written: the second text is the first. */
static void round_trip(const char *name, hn_status (*read)(hn_jobs *), bool (*write)(hn_jobs *))
{
    hn_status status;
    size_t bytes[2];
    void *text[2] = { NULL, NULL };
    for (int i = 0; i < 2; i++) {
        hn_jobs jobs = read_all(read, &status);
        must_say(status);
        if (i && status != HN_OK)
            abort();
        const bool is_there = status == HN_OK && jobs.n_jobs + jobs.n_uploads > 0;
        if (is_there && !write(&jobs))
            abort();
        let_go(&jobs);
        if (!is_there)
            return;
        text[i] = get(name, &bytes[i]);
    }
    if (bytes[0] != bytes[1] || memcmp(text[0], text[1], bytes[0]) != 0)
        abort();
    hn_free(&heap, text[0]);
    hn_free(&heap, text[1]);
}

static void try_job(const uint8_t *data, size_t bytes)
{
    char path[200];
    path_of("jobs", path);
    if (hn_kept_folder(path) != HN_OK)
        abort();
    path_of("jobs/" JOB, path);
    if (hn_kept_folder(path) != HN_OK)
        abort();
    put("jobs/" JOB "/job.json", data, bytes);
    round_trip("jobs/" JOB "/job.json", hn_jobs_read, write_job);
}

static void try_upload(const uint8_t *data, size_t bytes)
{
    char path[200];
    static const char content[160] = "";
    path_of("files", path);
    if (hn_kept_folder(path) != HN_OK)
        abort();
    put("files/" FILE_ID ".jsonl", content, sizeof content);
    put("files/" FILE_ID ".json", data, bytes);
    round_trip("files/" FILE_ID ".json", hn_uploads_read, write_upload);
}

static void try_recipe(const uint8_t *data, size_t bytes)
{
    hn_json_text *text;
    hn_recipe recipe;
    hn_status status = hn_json_read(&heap, "an answer", (const char *)data, bytes, &text);
    must_say(status);
    if (status != HN_OK)
        return;
    status = hn_recipe_read(&recipe, &heap, hn_json_root(text));
    must_say(status);
    hn_free(&heap, recipe.bias);
    hn_json_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    begin();
    if (!bytes)
        return 0;
    if (*data == 'j')
        try_job(data + 1, bytes - 1);
    else if (*data == 'u')
        try_upload(data + 1, bytes - 1);
    else if (*data == 'r')
        try_recipe(data + 1, bytes - 1);
    return 0;
}
