/* far itself: that what it is for would be seen. */
#include "tests/far/far.h"

#include "backend/executable.h"
#include "ops/ops.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static hn_heap heap;

/* The host reads an address of far's: in a child, whose end tells. */
static int touched(const hn_buffer *buffer)
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        _exit(*(volatile char *)buffer->data);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_memory(hn_device *far)
{
    hn_buffer buffer;
    char text[8] = "", zeros[8] = "";
    check_group("memory");
    if (!CHECK_OK(far->backend->buffer_new(far, HN_TAG_DEVICE, 8, &buffer)))
        return;
    CHECK_INT(99, touched(&buffer));
    CHECK_OK(hn_device_read(far, text, buffer.data, 8));
    CHECK(!memcmp(text, zeros, 8));
    CHECK_OK(far->backend->write(far, buffer.data, "written", 8));
    CHECK_OK(far->backend->fill(far, (char *)buffer.data + 1, 'x', 2));
    CHECK_OK(hn_device_read(far, text, buffer.data, 8));
    CHECK_TEXT("wxxtten", text);
    CHECK_FAILS(hn_device_read(far, text, (char *)buffer.data + 1, 8), HN_ERR_PROOF, "no memory of its own");
    CHECK_FAILS(far->backend->write(far, text, "host's", 7), HN_ERR_PROOF, "no memory of its own");
    far->backend->buffer_free(&buffer);
}

/* From one to the other, as late as can be, and on. */
static void check_copies(hn_device *a, hn_device *b, hn_stage *stage)
{
    hn_buffer x, y;
    char text[8] = "";
    check_group(stage ? "copies to another backend" : "copies");
    if (!CHECK_OK(a->backend->buffer_new(a, HN_TAG_DEVICE, 8, &x)))
        return;
    if (CHECK_OK(b->backend->buffer_new(b, HN_TAG_DEVICE, 8, &y))) {
        for (int i = 0; i < 200; i++) {
            const char want[8] = { (char)('a' + i % 26), (char)('0' + i % 10), '-', '-', (char)('A' + i % 26), (char)('9' - i % 10) };
            CHECK_OK(a->backend->write(a, x.data, want, 8));
            CHECK_OK(hn_device_copy(b, y.data, a, x.data, 4, stage)); /* which the next one takes over */
            CHECK_OK(hn_device_copy(b, (char *)y.data + 4, a, (char *)x.data + 4, 4, stage));
            CHECK_OK(a->backend->fill(a, x.data, 0xff, 8)); /* not before the copy */
            CHECK_OK(hn_device_read(b, text, y.data, 8));
            CHECK_TEXT(want, text);
        }
        b->backend->buffer_free(&y);
    }
    a->backend->buffer_free(&x);
}

/* ---- the host is no fence ---- */

enum { N_LINKS = 9, WIDTH = 64 };

typedef struct chain {
    hn_graph *g;
    hn_executable *x;
    hn_node *in, *links[N_LINKS], *out;
} chain;

/* x + w0 + w1 ..., each weight on the other device than the one before, so that every sum but the first begins with what
 * the other made. */
static bool chain_open(chain *t, int n, hn_device *const *devices)
{
    const int64_t dims[1] = { WIDTH };
    *t = (chain){ 0 };
    if (!CHECK_OK(hn_graph_new(&t->g, &heap)))
        return false;
    t->out = t->in = hn_graph_leaf(t->g, HN_LEAF_INPUT, "x", HN_F32, 1, dims);
    for (int i = 0; i < N_LINKS; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", i);
        t->links[i] = hn_graph_leaf(t->g, HN_LEAF_WEIGHT, name, HN_F32, 1, dims);
        t->links[i]->leaf->device = i % 2;
        t->out = hn_apply_named(t->g, "add", NULL, 2, (hn_node *[]){ t->out, t->links[i] });
    }
    return CHECK_OK(hn_graph_finish(t->g)) && CHECK_OK(hn_executable_new(&t->x, t->g, n, devices)) &&
           CHECK_OK(hn_executable_plan(t->x, 1, &t->out, &(hn_plan_options){ 0 })) && CHECK_OK(hn_executable_make(t->x));
}

static int crosses(const hn_plan *plan)
{
    int n = 0;
    for (int s = 0; s < plan->n_steps; s++)
        n += plan->steps[s].crosses;
    return n;
}

static bool chain_run(chain *t, int run, const float *w)
{
    float x[WIDTH];
    hn_tensor y;
    for (int i = 0; i < WIDTH; i++)
        x[i] = (float)(i + run);
    const long long fenced = hn_far_fenced();
    if (!CHECK_OK(hn_storage_bind(hn_executable_storage(t->x), t->in->leaf, x, sizeof x)) ||
        !CHECK_OK(hn_program_run(hn_executable_program(t->x, 0), NULL)))
        return false;
    CHECK_INT(0, hn_far_fenced() - fenced);
    if (!CHECK_OK(hn_program_result(hn_executable_program(t->x, 0), 0, &y)))
        return false;
    for (int i = 0; i < WIDTH; i++) {
        float want = x[i];
        for (int k = 0; k < N_LINKS; k++)
            want += w[k];
        CHECK_THAT((float)hn_get(&y, i) == want, "run %d: element %d is %g: expected %g", run, i, hn_get(&y, i), (double)want);
    }
    return true;
}

/* A run whose values go from device to device has the host wait at its end, and nowhere before. */
static void check_chain(const char *what, int n, hn_device *const *devices)
{
    float w[N_LINKS], row[WIDTH];
    chain t;
    check_group(what);
    bool ok = chain_open(&t, n, devices);
    for (int k = 0; k < N_LINKS && ok; k++) {
        w[k] = (float)(1 << k) / 16;
        for (int i = 0; i < WIDTH; i++)
            row[i] = w[k];
        ok = CHECK_OK(hn_storage_write(hn_executable_storage(t.x), t.links[k]->leaf, 0, row, sizeof row));
    }
    if (ok)
        CHECK(crosses(hn_executable_look(t.x, 0)) >= N_LINKS);
    for (int run = 0; run < 20 && ok; run++)
        ok = chain_run(&t, run, w);
    hn_executable_free(t.x);
    hn_graph_free(t.g);
}

int main(int argc, char **argv)
{
    hn_device *devices[HN_MAX_DEVICES];
    char room[8];
    int n;
    check_open(argc, argv);
    setenv("HN_TEST_DEVICES", "far,far", 1);
    hn_far_install();
    hn_heap_init(&heap, NULL);
    if (CHECK_OK(hn_devices_open(&heap, "cpu", NULL, &n, devices))) {
        CHECK_INT(2, n);
        CHECK(!hn_device_is_host(devices[0]) && hn_device_is_host(devices[0]->host));
        check_memory(devices[0]);
        check_copies(devices[0], devices[1], NULL);
        hn_devices_add_host(&n, devices);
        check_chain("from device to device", n, devices);
        /* The same devices, as if they were of two backends: copies go through a stage. */
        hn_backend other = hn_backend_far;
        other.name = "other";
        devices[1]->backend = &other;
        check_copies(devices[0], devices[1], &(hn_stage){ .at = room });
        check_chain("from backend to backend", n, devices);
        devices[1]->backend = &hn_backend_far;
        hn_devices_close(2, devices);
    }
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
