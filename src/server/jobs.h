/* jobs.h: files that clients leave, and models that are trained of them: /v1/files and /v1/fine_tuning/jobs.
 *
 * All of it lies in a folder, and survives the end of this process at any instant: of each file and each job there is a record
 * (kept.h), written after what it tells of, and removed before it. A job is trained by `hone train`, a process of its own,
 * one at a time, which ends when this one does, and goes on from its last checkpoint when this one is back. Threads:
 *
 *     office    answers, and has all that is in hn_jobs
 *     reader    reads files and plans runs, which takes its time; it gives back to the office
 *     watch     wakes the office now and then
 */
#ifndef HN_SERVER_JOBS_H
#define HN_SERVER_JOBS_H

#include "server/keys.h"
#include "server/served.h"

typedef struct hn_jobs hn_jobs;

/* As HN_HTTP_LIMITS. */
#define HN_JOB_LIMITS(X)                                                                                \
    X(file_bytes, 134217728, "file-bytes", "of a file that is sent to /v1/files: 413")                  \
    X(files, 256, "files-max", "of a key that are kept at a time: 403")                                 \
    X(files_bytes, 4294967296, "files-bytes", "of a key's files together: 403")                         \
    X(jobs, 64, "jobs-waiting", "of a key that wait, are trained or are paused: 403")                   \
    X(jobs_kept, 1024, "jobs-max", "of a key that are kept: 403")

typedef struct hn_jobs_options {
    const char *folder;
    const char *program; /* this one */
    const char *memory;  /* of a run at most, as `hone train` has it; NULL: what is free */
    const char *digests; /* hn_lm_keep_digests; or NULL */
    int64_t threads;     /* of a run; 0: half of the processors */
    const char *isa;     /* as `hone train` has it; NULL: the best. It changes no bit, and who leaves one out means all that computes */
    size_t (*left)(void); /* bytes that a run may take at the moment; NULL: nine tenths of what is free */
#define HN_JOB_LIMIT(field, otherwise, name, what) int64_t field;
    HN_JOB_LIMITS(HN_JOB_LIMIT) /* 0: the default */
#undef HN_JOB_LIMIT
} hn_jobs_options;

/* Reads what is in the folder, which is this process's alone until the end. The shelf and the keys (NULL: none) outlive it. */
hn_status hn_jobs_open(hn_jobs **out, hn_shelf *shelf, const hn_keys *keys, const hn_jobs_options *options);
/* What was trained is served again, and training goes on: once the models are there. */
void hn_jobs_begin(hn_jobs *jobs);
/* Who trains saves and ends. */
void hn_jobs_drain(hn_jobs *jobs);
/* Nobody asks any more: all that was asked is answered when it returns, and nothing runs. Again is nothing. */
void hn_jobs_end(hn_jobs *jobs);
void hn_jobs_close(hn_jobs *jobs); /* takes NULL */
/* Of a body that is sent to /v1/files. */
int64_t hn_jobs_body_bytes(const hn_jobs *jobs);

#endif
