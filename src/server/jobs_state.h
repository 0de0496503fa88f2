/* jobs_state.h: files and jobs from within. What is not said to be another's is the office's. */
#ifndef HN_SERVER_JOBS_STATE_H
#define HN_SERVER_JOBS_STATE_H

#include "base/lock_file.h"
#include "base/os/child.h"
#include "server/jobs.h"
#include "server/multipart.h"
#include "server/pairs.h"
#include "server/kept.h"
#include "server/server_state.h"
#include "server/words.h"

enum { HN_MOST_CHECKPOINTS = 16, /* of a job, beside its result */
       HN_ITEM_ID = 48, HN_ITEM_TEXT = 256, HN_MOST_NOTES = 64, HN_NOTE_TEXT = 200, HN_LONG_TEXT = 600 };

/* ---- uploads.c: files ---- */

typedef struct hn_upload {
    char id[HN_ITEM_ID];
    char owner[HN_KEY_NAME + 1]; /* the key's name; "" without keys */
    char name[HN_ITEM_TEXT];     /* as its sender calls it */
    char ending[16];             /* ".jsonl": a file is what its name says */
    char purpose[32];
    char kind[16];   /* "single", "pair" or "labelled" */
    char format[96]; /* "messages" */
    int64_t number, created, expires, bytes, examples; /* expires 0: never */
    int64_t uses;    /* jobs that need it; not kept */
    bool is_listed;  /* its record is there; not kept */
    char job[HN_ITEM_ID]; /* whose result it is, and lies in its folder; not kept */
} hn_upload;

/* ---- job.c: jobs ---- */

#define HN_JOB_STATES(X) X(QUEUED, "queued") X(RUNNING, "running") X(PAUSED, "paused") X(SUCCEEDED, "succeeded") \
    X(FAILED, "failed") X(CANCELLED, "cancelled")

typedef enum hn_job_state {
#define HN_JOB_STATE(name, word) HN_JOB_##name,
    HN_JOB_STATES(HN_JOB_STATE)
#undef HN_JOB_STATE
    HN_N_JOB_STATES
} hn_job_state;

typedef struct hn_job_note {
    int64_t at; /* seconds since 1970 */
    char level[8], text[HN_NOTE_TEXT];
} hn_job_note;

/* What metrics say: the last step, its pace, and what was held out before and now. */
typedef struct hn_job_progress {
    int64_t step, n_seconds;
    double loss, seconds, before[2], after[2]; /* loss and accuracy */
    bool has_before, has_after;
    int64_t bytes, modified_ns; /* of the file that it was read of */
} hn_job_progress;

/* What the run left of an earlier step, served as model:adapter-at-STEP. */
typedef struct hn_job_checkpoint {
    int64_t step;
    bool is_served;
} hn_job_checkpoint;

/* What tells how long its steps take, beside those that were done: about as much is computed in each. */
typedef struct hn_job_work {
    double operations; /* of a step; 0: it is of a server that did not count them */
    int64_t threads;   /* that do it; HN_MIXED_THREADS: some did some of it */
    char numerics[16];
} hn_job_work;

enum { HN_MIXED_THREADS = -1 };

typedef struct hn_job {
    char id[HN_ITEM_ID], owner[HN_KEY_NAME + 1];
    char model[128];   /* of the shelf */
    char adapter[64];  /* what it is served as: model:adapter */
    char suffix[64], method[32];
    char training[HN_ITEM_ID], validation[HN_ITEM_ID];
    char code[32], error[HN_LONG_TEXT], param[32];
    char sha256[65], verdict[HN_LONG_TEXT];
    int64_t number, state, created, finished, seed, steps, examples, bytes, trained_tokens;
    int64_t restarts, saved; /* since the checkpoint of step `saved` was there */
    int64_t is_away;         /* what was trained was deleted */

    hn_job_work work;

    hn_str settings; /* an array of "NAME=VALUE" as it was made of what was asked, */
    hn_str asked;    /* and the fields that are told again as they came: an object */
    hn_job_note notes[HN_MOST_NOTES];
    size_t n_notes;
    bool is_listed, is_served; /* these not kept, nor what follows */
    bool is_unkept;            /* what became of it was found out, and could not be written yet */
    char waits[HN_NOTE_TEXT];  /* what it waits for, beside its turn */
    int64_t again_ns;          /* hn_clock_ns, from when on it is looked whether it fits, or can be served */
    bool lacks_place;          /* what was trained found no room to be served in */
    hn_job_checkpoint checkpoints[HN_MOST_CHECKPOINTS]; /* of one that is trained, in ascending order */
    size_t n_checkpoints;
    hn_job_progress progress;
} hn_job;

struct hn_jobs {
    hn_heap *heap;
    hn_shelf *shelf;
    const hn_keys *keys;
    hn_jobs_options o;
    hn_lock_file lock;
    hn_engine *engine; /* the reader's */
    hn_worker office, reader;
    hn_os_thread watch;
    bool is_watched;
    _Atomic bool ends;   /* nothing is given to the reader any more */
    _Atomic bool drains; /* nothing new is trained */
    hn_task look;
    _Atomic bool look_is_given;

    hn_upload **uploads; /* in the order in which they came */
    size_t n_uploads;
    hn_job **jobs;
    size_t n_jobs;
    int64_t last_number;

    hn_os_child child;
    hn_job *trained; /* by the child; or what it left is being looked at, or whether it fits */
    bool is_finishing, is_weighed;
    bool finish_is_due; /* there was no memory to ask the reader for it */
    int64_t keep_ns;    /* hn_clock_ns, from when on what is unkept is written */
};

/* Where they lie. `what`: a file of a job's folder. */
void hn_upload_path(const hn_jobs *jobs, const hn_upload *u, char path[HN_KEPT_PATH]);
void hn_job_path(const hn_jobs *jobs, const hn_job *job, const char *what, char path[HN_KEPT_PATH]);

hn_status hn_uploads_read(hn_jobs *jobs);
/* In memory alone, and counted; the caller records it or drops it. */
hn_upload *hn_upload_new(hn_jobs *jobs, const char *owner, hn_failure *why);
bool hn_upload_record(hn_jobs *jobs, hn_upload *u, hn_failure *why);
/* Its record first, then what it holds, then itself. */
bool hn_upload_remove(hn_jobs *jobs, hn_upload *u, hn_failure *why);
/* One that never was recorded. */
void hn_upload_drop(hn_jobs *jobs, hn_upload *u);
hn_upload *hn_upload_find(const hn_jobs *jobs, const char *id, const char *owner); /* NULL: he has none */
void hn_uploads_expire(hn_jobs *jobs);
/* What a job left is to be had as files too. */
bool hn_upload_results(hn_jobs *jobs, const hn_job *job);
void hn_upload_forget_result(hn_jobs *jobs, const hn_job *job, const char *name);
void hn_upload_forget_results(hn_jobs *jobs, const hn_job *job);
void hn_uploads_free(hn_jobs *jobs);

const char *hn_job_state_word(int64_t state);
bool hn_job_is_over(const hn_job *job);
hn_status hn_jobs_read(hn_jobs *jobs);
hn_job *hn_job_new(hn_jobs *jobs, const char *owner, hn_failure *why);
bool hn_job_record(hn_jobs *jobs, hn_job *job, hn_failure *why);
/* What somebody asks for: the job is `next`, made of a copy of it, on the disk first and then in memory; or nothing of it is. What is
 * found out instead, the end of training, is so whether or not it can be written: hn_job_record, again until it is. */
bool hn_job_become(hn_jobs *jobs, hn_job *job, const hn_job *next, hn_failure *why);
/* What is trained is none any more, or will be looked for by nobody. */
void hn_job_forget_run(const hn_jobs *jobs, const hn_job *job);
void hn_job_drop(hn_jobs *jobs, hn_job *job);
hn_job *hn_job_find(const hn_jobs *jobs, const char *id, const char *owner);
void hn_job_note_add(hn_job *job, const char *level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The files that it needs are held, or let go of. */
void hn_job_hold(hn_jobs *jobs, const hn_job *job, int by);
void hn_jobs_free(hn_jobs *jobs);

/* ---- job_settings.c: what a run is told ---- */

/* A body that was checked, made settings and what is told again. */
bool hn_job_take(hn_jobs *jobs, hn_job *job, const hn_json *body, hn_failure *why);
/* Of "NAME=VALUE" or "NAME"; NULL: the table has none of this name. */
const hn_setting *hn_job_setting(const hn_setting *(*table)(size_t i), const char *word);
/* `hone train` and its words, for a job whose folder is there. */
/* A job always says its epochs and its batch; beside what is taken instead, which is of these settings too, the word is refused. */
bool hn_job_is_idle(const hn_json *settings, const char *word);
void hn_job_words(hn_jobs *jobs, const hn_job *job, const hn_served *model, hn_words *words);

/* ---- job_plan.c: on the reader ---- */

/* Every example is read, as the model's tokenizer and template have it, and counted. */
bool hn_upload_check(hn_jobs *jobs, const hn_served *model, hn_upload *u, hn_failure *why);
/* Examples of a file token by token, with what is supervised of each, as a job without settings has them. */
bool hn_upload_tokens(hn_jobs *jobs, const hn_served *model, const hn_upload *u, int64_t first, int64_t most, hn_str *out, hn_failure *why);

typedef struct hn_job_plan_of {
    hn_job *job;
    const hn_served *model;
    const hn_upload *training, *validation; /* held by it; NULL: none */
    size_t most;                            /* bytes that it may take; 0: all that it ever may */
    bool is_too_large;                      /* it was refused because it takes more */
    const hn_json *settings;                /* the job's; hn_job_plan reads them */
} hn_job_plan_of;
/* Whether it can be trained at all, and fits: steps, examples, bytes and seed are the job's from then on. */
bool hn_job_plan(hn_jobs *jobs, hn_job_plan_of *of, hn_failure *why);
/* What a sentence says of this server's folders is nobody's affair. */
void hn_jobs_clean(const hn_jobs *jobs, char *message, size_t room);
/* Nor what a page or a certificate says of them, of this program's file and of the model's. */
hn_status hn_jobs_clean_file(const hn_jobs *jobs, const char *model, const char *path);

/* ---- job_run.c: training ---- */

/* Starts, looks after and ends the one that is trained. */
void hn_jobs_look(hn_jobs *jobs);
/* What could not be written before. */
void hn_jobs_keep(hn_jobs *jobs);
bool hn_job_pause(hn_jobs *jobs, hn_job *job, hn_failure *why);
bool hn_job_resume(hn_jobs *jobs, hn_job *job, hn_failure *why);
bool hn_job_cancel(hn_jobs *jobs, hn_job *job, hn_failure *why);
/* What was trained is found no more, and its run's folder goes; or one of its checkpoints alone, by `step` (-1: all). */
bool hn_job_put_away(hn_jobs *jobs, hn_job *job, int64_t step, hn_failure *why);
/* What was trained before is served again; to the reader. */
void hn_jobs_serve_all(hn_jobs *jobs);

/* ---- job_checkpoints.c ---- */

/* Those whose files are there: the files are the record. */
void hn_job_find_checkpoints(const hn_jobs *jobs, hn_job *job);
/* What it is served as, of the job's model. */
void hn_job_checkpoint_name(const hn_job *job, int64_t step, char name[HN_ADAPTER_NAME]);
void hn_job_checkpoint_file(int64_t step, char name[32]);
/* NULL: there is none. */
hn_job_checkpoint *hn_job_checkpoint_of(hn_job *job, int64_t step);
/* It is found no more; its file first. */
bool hn_job_put_checkpoint_away(hn_jobs *jobs, hn_job *job, int64_t step, uint64_t owner, hn_failure *why);

/* ---- job_tell.c: jobs in OpenAI's form ---- */

void hn_job_tell(const hn_jobs *jobs, hn_job *job, hn_json_writer *w);
/* Which of the hyperparameters that are told again this setting is, and its value; -1: none. A record's are numbers, each said once. */
int hn_job_told_number(const char *setting, const char **number);

/* ---- job_tell_checkpoints.c ---- */

/* Those that are served, the latest first, `limit` of them at most from behind the one whose id is `after` (NULL: from the first).
 * False: there is none of this id. */
bool hn_job_tell_checkpoints(const hn_jobs *jobs, hn_job *job, const char *after, int64_t limit, hn_json_writer *w, bool *has_more);

/* Lines of metrics.jsonl, from the first; NULL: there are none. After a failure *out is empty. */
typedef struct hn_job_metrics {
    hn_heap *heap;
    char *text;
    size_t bytes;
} hn_job_metrics;
hn_status hn_job_metrics_read(const hn_jobs *jobs, const hn_job *job, hn_job_metrics *out);
void hn_job_metrics_free(hn_job_metrics *m);

/* ---- visits: requests on the office ---- */

typedef struct hn_visit {
    hn_task task;
    hn_server *server;
    hn_jobs *jobs;
    hn_http_call *call;
    const char *owner;
    void (*run)(struct hn_visit *v);
    hn_pairs pairs; /* these as far as they are used */
    hn_json_text *text;
    const hn_json *body;
    hn_multipart form;
    hn_part file;
    const hn_served *model;
    hn_upload *upload;
    hn_job *job;
    hn_job_plan_of plan;
    hn_str said; /* what will be replied, where it is made before */
    bool is_well;
    hn_failure why;
} hn_visit;

/* On the desk: `run` on the office. */
void hn_visit_begin(hn_server *server, hn_http_call *call, void (*run)(hn_visit *v));
/* To the reader, or ended where that takes nothing any more: false. */
bool hn_visit_to_reader(hn_visit *v, void (*run)(hn_task *task));
void hn_visit_to_office(hn_visit *v, void (*run)(hn_task *task));
void hn_visit_tell_deleted(hn_json_writer *w, const char *id, const char *object);
/* Ends what will be said, and makes room for the reply: what is done from there on is told of. False, and refused: there is no memory
 * for it. */
bool hn_visit_has_said(hn_visit *v);
/* Each ends it. */
void hn_visit_reply(hn_visit *v, int status, hn_str *json); /* and frees the text */
void hn_visit_refuse(hn_visit *v);
/* The query as an object, or refused: false. */
bool hn_visit_query(hn_visit *v);
bool hn_visit_body(hn_visit *v, const hn_fields *fields);
/* The words of the path after `prefix`: id, and what follows it, "" if nothing does. False: there is no such thing. */
bool hn_visit_words(hn_visit *v, const char *prefix, char id[HN_ITEM_ID], char rest[32]);
/* NULL: the first. NULL: there is none. */
const hn_served *hn_jobs_model(const hn_jobs *jobs, const char *name, hn_failure *why);

#endif
