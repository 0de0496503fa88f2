/* What a host may get wrong between two of hone's objects, and between two processes: nodes of another
 * builder, a step without a micro-batch, numbers that were never given, an engine in a child of fork.
 * Each is an error that names it, or works. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static hn_engine *engine;

static hn_node *leaf(hn_builder *b, const char *kind, const char *name)
{
    return hn_builder_leaf(b, kind, name, "f32", 1, (int64_t[]){ 3 });
}

static void refuses_nodes_of_others(void)
{
    hn_builder *a, *b;
    hn_exec *x = NULL;
    hn_trainer *t = NULL;
    hn_node *grads[1];
    float data[3] = { 1, 2, 3 };
    check_group("nodes");
    CHECK_OK(hn_builder_new(&a, engine));
    CHECK_OK(hn_builder_new(&b, engine));
    hn_node *own = leaf(a, "weight", "own"), *other = leaf(b, "weight", "other");
    hn_node *y = hn_builder_op(a, "neg", NULL, 1, &own);
    CHECK_FAILS(hn_exec_new(&x, a, 1, &other, NULL), HN_ERR_ARGUMENT, "other is a node of another builder");
    CHECK_FAILS(hn_trainer_new(&t, a, y, 1, &other, NULL), HN_ERR_ARGUMENT, "other is a node of another");
    CHECK_FAILS(hn_trainer_new(&t, a, other, 1, &own, NULL), HN_ERR_ARGUMENT, "other is a node of another");
    CHECK_FAILS(hn_builder_gradients(a, y, 1, &other, 0, grads), HN_ERR_ARGUMENT, "of another builder");
    CHECK_FAILS(hn_builder_gradients(a, other, 1, &own, 0, grads), HN_ERR_ARGUMENT, "of another builder");
    hn_node *const lacks[2] = { own, NULL };
    CHECK_FAILS(hn_builder_gradients(a, y, 2, lacks, 0, grads), HN_ERR_ARGUMENT, "node 1 of 2 is NULL");
    CHECK_FAILS(hn_trainer_new(&t, a, y, 2, lacks, NULL), HN_ERR_ARGUMENT, "node 1 of 2 is NULL");
    const hn_trainer_options odd = { .size = sizeof odd, .decay = NAN };
    CHECK_FAILS(hn_trainer_new(&t, a, y, 1, &own, &odd), HN_ERR_ARGUMENT, "hn_trainer_options.decay is nan");
    CHECK_OK(hn_builder_status(b));
    if (CHECK_OK(hn_exec_new(&x, a, 1, &y, NULL))) {
        CHECK_FAILS(hn_exec_write(x, other, data, sizeof data), HN_ERR_ARGUMENT, "other is a node of another");
        CHECK_FAILS(hn_exec_read_leaf(x, other, data, sizeof data), HN_ERR_ARGUMENT, "of another builder");
    }
    hn_exec_free(x);
    hn_builder_op(a, "add", NULL, 2, (hn_node *[]){ own, other });
    CHECK_FAILS(hn_builder_status(a), HN_ERR_ARGUMENT, "add: input b is a node of another graph");
    hn_builder_boundary(b, own);
    CHECK_FAILS(hn_builder_status(b), HN_ERR_ARGUMENT, "own is a node of another builder");
    hn_builder_free(a);
    hn_builder_free(b);
    CHECK_OK(hn_builder_new(&a, engine));
    CHECK_OK(hn_builder_new(&b, engine));
    other = leaf(b, "weight", "other");
    hn_builder_place(a, other, 0);
    CHECK_FAILS(hn_builder_status(a), HN_ERR_ARGUMENT, "other is a node of another builder");
    hn_builder_free(a);
    hn_builder_free(b);
}

typedef struct training {
    hn_builder *b;
    hn_trainer *t;
    hn_node *x, *w, *count;
} training;

static bool open_training(training *s)
{
    CHECK_OK(hn_builder_new(&s->b, engine));
    s->x = hn_builder_leaf(s->b, "input", "x", "f32", 2, (int64_t[]){ 4, 6 });
    s->w = hn_builder_leaf(s->b, "weight", "w", "f32", 2, (int64_t[]){ 6, 6 });
    s->count = hn_builder_leaf(s->b, "step", "count", "f32", 0, NULL);
    leaf(s->b, "weight", "unused");
    hn_node *h = hn_builder_op(s->b, "linear", NULL, 2, (hn_node *[]){ s->x, s->w });
    hn_node *loss = hn_builder_op(s->b, "mse", NULL, 4, (hn_node *[]){ h, s->x, NULL, s->count });
    return CHECK_OK(hn_trainer_new(&s->t, s->b, loss, 1, &s->w, NULL));
}

static void close_training(training *s)
{
    hn_trainer_free(s->t);
    hn_builder_free(s->b);
}

static void write_all(training *s)
{
    static const float data[36] = { 1, -2, 3, -4, 5, 6 };
    const float one = 4;
    CHECK_OK(hn_trainer_write(s->t, s->w, data, sizeof data));
    CHECK_OK(hn_trainer_write(s->t, s->x, data, 24 * sizeof *data));
    CHECK_OK(hn_trainer_write(s->t, s->count, &one, sizeof one));
}

static void wants_numbers(void)
{
    training s;
    static const float data[36] = { 1 };
    const float one = 4;
    check_group("never written");
    if (!open_training(&s))
        return;
    CHECK_OK(hn_trainer_begin(s.t));
    CHECK_FAILS(hn_trainer_micro(s.t), HN_ERR_ARGUMENT, "x was never written");
    CHECK_OK(hn_trainer_write(s.t, s.x, data, 24 * sizeof *data));
    CHECK_FAILS(hn_trainer_scan(s.t), HN_ERR_ARGUMENT, "w was never written");
    CHECK_OK(hn_trainer_write(s.t, s.w, data, sizeof data));
    CHECK_FAILS(hn_trainer_micro(s.t), HN_ERR_ARGUMENT, "count was never written");
    CHECK_OK(hn_trainer_write(s.t, s.count, &one, sizeof one));
    CHECK_OK(hn_trainer_micro(s.t));
    CHECK_OK(hn_trainer_finish(s.t, 0.01f, NULL, NULL));
    close_training(&s);
    hn_builder *b;
    hn_exec *x = NULL;
    CHECK_OK(hn_builder_new(&b, engine));
    hn_node *a = leaf(b, "input", "a"), *y = hn_builder_op(b, "neg", NULL, 1, &a);
    if (CHECK_OK(hn_exec_new(&x, b, 1, &y, NULL)))
        CHECK_FAILS(hn_exec_run(x), HN_ERR_ARGUMENT, "a was never written");
    hn_exec_free(x);
    hn_builder_free(b);
}

/* Of a leaf of which less was written than a run reads, the rest was what memory held: zeros, or a longer run's. */
static void wants_all_numbers(void)
{
    static const float data[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    float found[12];
    hn_builder *b;
    hn_exec *x = NULL;
    check_group("written in part");
    CHECK_OK(hn_builder_new(&b, engine));
    const int32_t rows = hn_builder_extent(b, "rows", 4);
    hn_node *a = hn_builder_leaf(b, "input", "a", "f32", 2, (int64_t[]){ -1 - rows, 3 }), *w = leaf(b, "weight", "w");
    hn_node *y = hn_builder_op(b, "mul", NULL, 2, (hn_node *[]){ a, w });
    if (CHECK_OK(hn_exec_new(&x, b, 1, &y, NULL))) {
        CHECK_OK(hn_exec_write(x, a, data, sizeof data));
        CHECK_OK(hn_exec_write(x, w, NULL, 0));
        CHECK_FAILS(hn_exec_run(x), HN_ERR_ARGUMENT, "w was never written");
        CHECK_OK(hn_exec_write(x, w, data, 4));
        CHECK_FAILS(hn_exec_run(x), HN_ERR_ARGUMENT, "w: 4 bytes were written: a run of these extents reads 12");
        CHECK_OK(hn_exec_write(x, w, data, 12));
        CHECK_OK(hn_exec_run(x));
        CHECK_OK(hn_exec_extent(x, rows, 2));
        CHECK_OK(hn_exec_write(x, a, data + 6, 24));
        CHECK_OK(hn_exec_run(x));
        CHECK_OK(hn_exec_read(x, 0, found, 24));
        CHECK(found[5] == 36);
        CHECK_FAILS(hn_exec_read(x, 0, NULL, 24), HN_ERR_ARGUMENT, "no memory given");
        CHECK_OK(hn_exec_extent(x, rows, 4));
        CHECK_FAILS(hn_exec_run(x), HN_ERR_ARGUMENT, "a: 24 bytes were written: a run of these extents reads 48");
        CHECK_OK(hn_exec_write(x, a, data, sizeof data));
        CHECK_OK(hn_exec_run(x));
    }
    hn_exec_free(x);
    hn_builder_free(b);
    training s;
    if (!open_training(&s))
        return;
    write_all(&s);
    CHECK_OK(hn_trainer_write(s.t, s.x, data, sizeof data));
    CHECK_OK(hn_trainer_begin(s.t));
    CHECK_FAILS(hn_trainer_micro(s.t), HN_ERR_ARGUMENT, "x: 48 bytes were written: a run of these extents reads 96");
    close_training(&s);
}

static void wants_a_micro_batch(void)
{
    training s;
    float before[36], after[36], gradient[36];
    check_group("no micro-batch");
    if (!open_training(&s))
        return;
    write_all(&s);
    CHECK_OK(hn_trainer_read(s.t, s.w, before, sizeof before));
    CHECK_OK(hn_trainer_begin(s.t));
    CHECK_FAILS(hn_trainer_gradient(s.t, 0, gradient, sizeof gradient), HN_ERR_ARGUMENT,
                "a step without a micro-batch");
    CHECK_FAILS(hn_trainer_finish(s.t, 0.01f, NULL, NULL), HN_ERR_ARGUMENT, "a step without a micro-batch");
    CHECK_OK(hn_trainer_read(s.t, s.w, after, sizeof after));
    CHECK(!memcmp(before, after, sizeof before));
    CHECK_OK(hn_trainer_micro(s.t));
    CHECK_OK(hn_trainer_finish(s.t, 0.01f, NULL, NULL));
    CHECK_OK(hn_trainer_begin(s.t)); /* the next one needs its own */
    CHECK_FAILS(hn_trainer_finish(s.t, 0.01f, NULL, NULL), HN_ERR_ARGUMENT, "a step without a micro-batch");
    close_training(&s);
}

/* Until every other thread of this process waits (Linux; elsewhere nobody says). A sanitizer's allocator does not look after its
 * locks when a process forks: what a thread that is just beginning holds, nobody gives back in the child. */
static void let_others_rest(void)
{
    char path[64], line[256];
    bool all_rest = false;
    for (int tries = 0; !all_rest && tries < 10000; tries++) {
        const struct dirent *entry;
        DIR *threads = opendir("/proc/self/task");
        all_rest = true;
        while (threads && (entry = readdir(threads))) {
            const int thread = atoi(entry->d_name); /* 0: "." and ".." */
            snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
            FILE *f = thread && thread != getpid() ? fopen(path, "r") : NULL;
            if (f && fgets(line, sizeof line, f)) {
                const char *behind = strrchr(line, ')');
                all_rest = all_rest && behind && behind[1] && behind[2] == 'S';
            }
            if (f)
                fclose(f);
        }
        if (threads)
            closedir(threads);
        if (!all_rest)
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    CHECK(all_rest);
}

/* A child has the memory and not the threads. */
static void frees_in_a_child(void)
{
    training s;
    int ended = 0;
    check_group("fork");
    if (!open_training(&s))
        return;
    write_all(&s);
    CHECK_OK(hn_trainer_begin(s.t));
    CHECK_OK(hn_trainer_micro(s.t));
    let_others_rest();
    const pid_t child = fork();
    if (!child) {
        alarm(600); /* what hangs ends, what is slow does not */
        const bool is_refused = hn_trainer_micro(s.t) == HN_ERR_UNSUPPORTED &&
                                strstr(hn_error_message(), "child") != NULL;
        hn_engine *own;
        const bool has_own = hn_engine_new(&own, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 }) == HN_OK;
        hn_engine_free(has_own ? own : NULL);
        hn_trainer_free(s.t);
        hn_builder_free(s.b);
        hn_engine_free(engine);
        _exit(is_refused && has_own ? 0 : 3);
    }
    CHECK(child > 0 && waitpid(child, &ended, 0) == child);
    CHECK_THAT(WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "the child ended with %s %d",
               WIFEXITED(ended) ? "status" : "signal",
               WIFEXITED(ended) ? WEXITSTATUS(ended) : WTERMSIG(ended));
    CHECK_OK(hn_trainer_finish(s.t, 0.01f, NULL, NULL)); /* the parent's is as it was */
    close_training(&s);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 4 }))) {
        refuses_nodes_of_others();
        wants_numbers();
        wants_all_numbers();
        wants_a_micro_batch();
        frees_in_a_child();
        hn_engine_free(engine);
    }
    return check_close();
}
