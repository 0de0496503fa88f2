/* Checkpoints of a job that is trained: run/step-N.gguf, as `hone train --keep-adapters` leaves them. Which there are is what lies in the
 * folder: one that is put away is gone from there first, and no record tells of it. */
#include "base/os/files.h"
#include "base/os/folders.h"
#include "server/jobs_state.h"
#include "server/served_adapters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void hn_job_checkpoint_file(int64_t step, char name[32]) { snprintf(name, 32, "step-%08lld.gguf", (long long)step); }

void hn_job_checkpoint_name(const hn_job *job, int64_t step, char name[HN_ADAPTER_NAME])
{
    snprintf(name, HN_ADAPTER_NAME, "%.49s-at-%lld", job->adapter, (long long)step);
}

hn_job_checkpoint *hn_job_checkpoint_of(hn_job *job, int64_t step)
{
    for (size_t i = 0; i < job->n_checkpoints; i++)
        if (job->checkpoints[i].step == step)
            return &job->checkpoints[i];
    return NULL;
}

/* In its place; of too many, which nobody can have asked for, the earliest are left out. */
static void add(hn_job *job, int64_t step)
{
    hn_job_checkpoint *all = job->checkpoints;
    if (job->n_checkpoints == HN_MOST_CHECKPOINTS) {
        if (step < all[0].step)
            return;
        memmove(all, all + 1, (HN_MOST_CHECKPOINTS - 1) * sizeof *all);
        job->n_checkpoints--;
    }
    size_t at = job->n_checkpoints++;
    for (; at && all[at - 1].step > step; at--)
        all[at] = all[at - 1];
    all[at] = (hn_job_checkpoint){ .step = step };
}

static bool add_file(void *context, const char *file)
{
    long long step;
    char same[32];
    if (sscanf(file, "step-%lld.gguf", &step) == 1) {
        hn_job_checkpoint_file(step, same);
        if (!strcmp(same, file))
            add(context, step);
    }
    return true;
}

void hn_job_find_checkpoints(const hn_jobs *jobs, hn_job *job)
{
    char run[HN_KEPT_PATH];
    job->n_checkpoints = 0;
    hn_job_path(jobs, job, "run", run);
    hn_os_folder_each(run, add_file, job); /* no folder, no checkpoints */
}

bool hn_job_put_checkpoint_away(hn_jobs *jobs, hn_job *job, int64_t step, uint64_t owner, hn_failure *why)
{
    char file[32], what[48], path[HN_KEPT_PATH], name[HN_ADAPTER_NAME];
    hn_failure unserved;
    hn_job_checkpoint *c = hn_job_checkpoint_of(job, step), *end = job->checkpoints + job->n_checkpoints;
    hn_job_checkpoint_file(step, file);
    snprintf(what, sizeof what, "run/%s", file);
    hn_job_path(jobs, job, what, path);
    if (!hn_os_remove(path) && errno != ENOENT)
        return hn_refuse_as(why, HN_REFUSED_INTERNAL, NULL, "%s: %s cannot be removed: %s", job->id, file, strerror(errno));
    hn_os_folder_sync(path); /* then nobody serves it again */
    hn_job_checkpoint_name(job, step, name);
    hn_shelf_drop_adapter(jobs->shelf, job->model, name, owner, &unserved); /* or it was not there */
    memmove(c, c + 1, (size_t)(end - c - 1) * sizeof *c);
    job->n_checkpoints--;
    hn_upload_forget_result(jobs, job, file);
    return true;
}
