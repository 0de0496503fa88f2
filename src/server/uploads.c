/* Files that clients left: files/ID.json is the record, files/ID.ENDING what they sent. */
#include "base/file.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "server/jobs_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT(field) { #field, offsetof(hn_upload, field), sizeof((hn_upload *)0)->field }
#define INT(field)  { #field, offsetof(hn_upload, field), 0 }

static const hn_kept_field fields[] = {
    TEXT(id), TEXT(owner), TEXT(name), TEXT(ending), TEXT(purpose), TEXT(kind), TEXT(format),
    INT(number), INT(created), INT(expires), INT(bytes), INT(examples),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

void hn_upload_path(const hn_jobs *jobs, const hn_upload *u, char path[HN_KEPT_PATH])
{
    if (u->job[0])
        snprintf(path, HN_KEPT_PATH, "%s/jobs/%s/run/%s", jobs->o.folder, u->job, u->name);
    else
        snprintf(path, HN_KEPT_PATH, "%s/files/%s%s", jobs->o.folder, u->id, u->ending);
}

static void record_path(const hn_jobs *jobs, const hn_upload *u, char path[HN_KEPT_PATH])
{
    snprintf(path, HN_KEPT_PATH, "%s/files/%s.json", jobs->o.folder, u->id);
}

/* ---- in memory ---- */

static bool add(hn_jobs *jobs, hn_upload *u)
{
    hn_upload **more = hn_realloc_array(jobs->heap, HN_TAG_STATE, jobs->uploads, jobs->n_uploads + 1, sizeof *more);
    if (!more)
        return false;
    size_t at = jobs->n_uploads++;
    jobs->uploads = more;
    for (; at && more[at - 1]->number > u->number; at--)
        more[at] = more[at - 1];
    more[at] = u;
    return true;
}

void hn_upload_drop(hn_jobs *jobs, hn_upload *u)
{
    char path[HN_KEPT_PATH];
    size_t i = 0;
    while (jobs->uploads[i] != u)
        i++;
    jobs->n_uploads--;
    memmove(jobs->uploads + i, jobs->uploads + i + 1, (jobs->n_uploads - i) * sizeof *jobs->uploads);
    hn_upload_path(jobs, u, path);
    if (!u->job[0])
        hn_os_remove(path);
    hn_free(jobs->heap, u);
}

void hn_uploads_free(hn_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n_uploads; i++)
        hn_free(jobs->heap, jobs->uploads[i]);
    hn_free(jobs->heap, jobs->uploads);
    jobs->uploads = NULL;
    jobs->n_uploads = 0;
}

hn_upload *hn_upload_find(const hn_jobs *jobs, const char *id, const char *owner)
{
    for (size_t i = 0; i < jobs->n_uploads; i++)
        if (jobs->uploads[i]->is_listed && !strcmp(jobs->uploads[i]->id, id) && !strcmp(jobs->uploads[i]->owner, owner))
            return jobs->uploads[i];
    return NULL;
}

/* Those on their way count too. */
static bool has_quota(const hn_jobs *jobs, const char *owner, hn_failure *why)
{
    int64_t n = 0, bytes = 0;
    for (size_t i = 0; i < jobs->n_uploads; i++) {
        const hn_upload *u = jobs->uploads[i];
        const bool is_his = !u->job[0] && !strcmp(u->owner, owner);
        n += is_his;
        bytes += is_his ? u->bytes : 0;
    }
    if (n >= jobs->o.files)
        return hn_refuse_as(why, HN_REFUSED_QUOTA, "file", "%lld files are kept already, as many as may be (--files-max): delete one",
                            (long long)n);
    return bytes < jobs->o.files_bytes || hn_refuse_as(why, HN_REFUSED_QUOTA, "file",
                                                       "%lld bytes are kept already, as many as may be (--files-bytes): delete a file",
                                                       (long long)bytes);
}

hn_upload *hn_upload_new(hn_jobs *jobs, const char *owner, hn_failure *why)
{
    if (!has_quota(jobs, owner, why))
        return NULL;
    hn_upload *u = hn_alloc(jobs->heap, HN_TAG_STATE, sizeof *u);
    const hn_status status = u ? hn_kept_name("file-", u->id, sizeof u->id) : HN_ERR_MEMORY;
    if (status == HN_OK) {
        snprintf(u->owner, sizeof u->owner, "%s", owner);
        u->created = hn_clock_wall_ns() / 1000000000;
        u->number = ++jobs->last_number;
        if (add(jobs, u))
            return u;
    }
    hn_free(jobs->heap, u);
    hn_refuse_by(why, status == HN_OK ? HN_ERR_MEMORY : status, NULL);
    return NULL;
}

/* ---- on the disk ---- */

bool hn_upload_record(hn_jobs *jobs, hn_upload *u, hn_failure *why)
{
    char path[HN_KEPT_PATH];
    record_path(jobs, u, path);
    const hn_status status = hn_kept_write(jobs->heap, path, fields, N_FIELDS, u, NULL);
    u->is_listed = status == HN_OK;
    if (u->is_listed)
        return true;
    hn_refuse_by(why, status, NULL);
    hn_jobs_clean(jobs, why->message, sizeof why->message);
    return false;
}

bool hn_upload_remove(hn_jobs *jobs, hn_upload *u, hn_failure *why)
{
    char path[HN_KEPT_PATH];
    if (u->job[0])
        return hn_refuse_as(why, HN_REFUSED_IN_USE, "file_id", "%s is what %s left: it goes with the model that was trained", u->id, u->job);
    for (size_t i = 0; u->uses && i < jobs->n_jobs; i++)
        if (!hn_job_is_over(jobs->jobs[i]) && (!strcmp(jobs->jobs[i]->training, u->id) || !strcmp(jobs->jobs[i]->validation, u->id)))
            return hn_refuse_as(why, HN_REFUSED_IN_USE, "file_id", "%s is needed by %s: cancel that first", u->id, jobs->jobs[i]->id);
    if (u->uses)
        return hn_refuse_as(why, HN_REFUSED_IN_USE, "file_id", "%s is being read: ask again", u->id);
    record_path(jobs, u, path);
    if (!hn_os_remove(path) && errno != ENOENT)
        return hn_refuse_as(why, HN_REFUSED_INTERNAL, NULL, "%s: its record cannot be removed: %s", u->id, strerror(errno));
    hn_os_folder_sync(path); /* then nobody lists it again */
    hn_upload_drop(jobs, u);
    return true;
}

void hn_uploads_expire(hn_jobs *jobs)
{
    const int64_t now = hn_clock_wall_ns() / 1000000000;
    hn_failure why;
    for (size_t i = jobs->n_uploads; i-- > 0;) {
        hn_upload *u = jobs->uploads[i];
        if (u->is_listed && u->expires && u->expires <= now && !u->uses && !u->job[0])
            hn_upload_remove(jobs, u, &why);
    }
}

/* ---- read again ---- */

static hn_status read_one(hn_jobs *jobs, const char *path, const char *name)
{
    char content[HN_KEPT_PATH];
    hn_os_file about;
    hn_json_text *text;
    hn_upload *u = hn_alloc(jobs->heap, HN_TAG_STATE, sizeof *u);
    if (!u)
        return HN_ERR_MEMORY;
    hn_status status = hn_kept_read(jobs->heap, path, fields, N_FIELDS, u, &text);
    hn_json_free(text);
    if (status == HN_OK && (strncmp(name, u->id, strlen(u->id)) != 0 || strcmp(name + strlen(u->id), ".json") != 0))
        status = hn_fail(HN_ERR_FORMAT, "%s: is of %s", path, u->id);
    if (status == HN_OK) {
        hn_upload_path(jobs, u, content);
        if (!hn_os_about(content, &about) || (int64_t)about.bytes != u->bytes)
            status = hn_fail(HN_ERR_FORMAT, "%s: expected a file of %lld bytes, as its record says", content, (long long)u->bytes);
    }
    if (status == HN_OK && !add(jobs, u))
        status = HN_ERR_MEMORY;
    if (status != HN_OK) {
        hn_free(jobs->heap, u);
        return status;
    }
    u->is_listed = true;
    jobs->last_number = u->number > jobs->last_number ? u->number : jobs->last_number;
    return HN_OK;
}

typedef struct reading {
    hn_jobs *jobs;
    const char *folder;
    hn_status status;
} reading;

static bool is_record(const char *name)
{
    const size_t n = strlen(name);
    return !strncmp(name, "file-", 5) && n > 5 && n < HN_ITEM_ID && strspn(name + 5, "0123456789abcdef") == n - 10 &&
           !strcmp(name + n - 5, ".json");
}

static bool read_record(void *context, const char *name)
{
    reading *r = context;
    char path[HN_KEPT_PATH];
    if (is_record(name)) {
        snprintf(path, sizeof path, "%s/%s", r->folder, name);
        r->status = read_one(r->jobs, path, name);
    }
    return r->status == HN_OK;
}

/* What has no record was never acknowledged, or its record went first. */
static bool sweep_one(void *context, const char *name)
{
    reading *r = context;
    char path[HN_KEPT_PATH], own[HN_KEPT_PATH];
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    for (size_t i = 0; i < r->jobs->n_uploads; i++) {
        hn_upload_path(r->jobs, r->jobs->uploads[i], own);
        if (!strcmp(own, path))
            return true;
        record_path(r->jobs, r->jobs->uploads[i], own);
        if (!strcmp(own, path))
            return true;
    }
    hn_os_remove(path);
    return true;
}

hn_status hn_uploads_read(hn_jobs *jobs)
{
    char folder[HN_KEPT_PATH];
    reading r = { jobs, folder, HN_OK };
    snprintf(folder, sizeof folder, "%s/files", jobs->o.folder);
    HN_TRY(hn_kept_folder(folder));
    HN_REQUIRE(hn_os_folder_each(folder, read_record, &r), HN_ERR_IO, "%s: %s", folder, strerror(errno));
    HN_TRY(r.status);
    HN_REQUIRE(hn_os_folder_each(folder, sweep_one, &r), HN_ERR_IO, "%s: %s", folder, strerror(errno));
    return HN_OK;
}

/* ---- what jobs left ---- */

/* `mark`: at the end of its id. */
static bool add_result(hn_jobs *jobs, const hn_job *job, const char *name, const char *mark)
{
    char path[HN_KEPT_PATH];
    hn_os_file about;
    hn_upload *u = hn_alloc(jobs->heap, HN_TAG_STATE, sizeof *u);
    if (!u)
        return false;
    snprintf(u->id, sizeof u->id, "file-%.24s-%.16s", job->id + strlen("ftjob-"), mark);
    snprintf(u->owner, sizeof u->owner, "%s", job->owner);
    snprintf(u->name, sizeof u->name, "%s", name);
    snprintf(u->job, sizeof u->job, "%s", job->id);
    snprintf(u->purpose, sizeof u->purpose, "fine-tune-results");
    u->created = job->finished;
    u->number = job->number;
    hn_upload_path(jobs, u, path);
    u->bytes = hn_os_about(path, &about) ? (int64_t)about.bytes : -1;
    u->is_listed = true;
    if (u->bytes >= 0 && add(jobs, u))
        return true;
    hn_free(jobs->heap, u);
    return false;
}

bool hn_upload_results(hn_jobs *jobs, const hn_job *job)
{
    char file[32], mark[32];
    const bool has_adapter = add_result(jobs, job, "adapter.gguf", "a");
    add_result(jobs, job, "metrics.jsonl", "m");
    add_result(jobs, job, "report.html", "r");
    add_result(jobs, job, "certificate.json", "c");
    for (size_t i = 0; i < job->n_checkpoints; i++) {
        hn_job_checkpoint_file(job->checkpoints[i].step, file);
        snprintf(mark, sizeof mark, "%lld", (long long)job->checkpoints[i].step);
        add_result(jobs, job, file, mark);
    }
    return has_adapter;
}

/* NULL: all. */
static void forget(hn_jobs *jobs, const hn_job *job, const char *name)
{
    for (size_t i = jobs->n_uploads; i-- > 0;)
        if (!strcmp(jobs->uploads[i]->job, job->id) && (!name || !strcmp(jobs->uploads[i]->name, name)))
            hn_upload_drop(jobs, jobs->uploads[i]);
}

void hn_upload_forget_result(hn_jobs *jobs, const hn_job *job, const char *name) { forget(jobs, job, name); }

void hn_upload_forget_results(hn_jobs *jobs, const hn_job *job) { forget(jobs, job, NULL); }
