/* Every allocation of a session refused in turn: opened, run, saved, taken back; and of measuring one.
 * Each is a status and a sentence, nothing is left in memory, and no half a file. */
#include "infer/session.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "tests/harness/random_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hn_heap lasting;
static hn_model *model;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;
static char file[128];
static const hn_session_options options = { .n_ctx = 256, .max_batch = 16, .cache = HN_TYPE_q8_0 };
static const int32_t tokens[9] = { 3, 1, 4, 1, 5, 9, 2, 6, 5 };

static hn_status with_session(hn_heap *heap, hn_status (*use)(hn_session *session))
{
    hn_session *session;
    HN_TRY(hn_session_new(&session, heap, model, on_all_devices(n_devices, devices), &options));
    hn_status status = hn_session_sync(session, tokens, 9, NULL);
    if (status == HN_OK)
        status = use(session);
    hn_session_free(session);
    return status;
}

static hn_status save(hn_session *session)
{
    remove(file);
    return hn_session_save(session, file);
}

/* A file that cannot be taken over leaves the session as it was. */
static hn_status restore(hn_session *session)
{
    const hn_status status = hn_session_restore(session, file);
    CHECK_INT(9, hn_session_length(session));
    return status;
}

static hn_status save_action(hn_heap *heap) { return with_session(heap, save); }

static hn_status restore_action(hn_heap *heap) { return with_session(heap, restore); }

static hn_status measure_action(hn_heap *heap)
{
    hn_session_sizes sizes;
    return hn_session_measure(heap, model, on_all_devices(n_devices, devices), &options, &sizes);
}

static void check_action(const char *name, hn_status (*run)(hn_heap *heap))
{
    int64_t n = 1;
    check_group(name);
    for (;; n++) {
        hn_heap heap;
        hn_heap_init(&heap, NULL);
        heap.fail_at = n;
        const hn_status status = run(&heap);
        CHECK_INT(0, heap.live_blocks);
        CHECK(!partial_is_left(file));
        if (heap.n_calls < n) { /* all was given */
            CHECK_INT(HN_OK, status);
            break;
        }
        CHECK_THAT(status == HN_ERR_MEMORY && strstr(hn_error_message(), "out of memory"),
                   "allocation %lld refused: status %d: %s", (long long)n, (int)status,
                   hn_error_message());
    }
    CHECK(n > 20);
    printf("%s: %lld allocations refused\n", name, (long long)n - 1);
}

int main(int argc, char **argv)
{
    const char *dir = getenv("TMPDIR");
    check_open(argc, argv);
    hn_heap_init(&lasting, NULL);
    snprintf(file, sizeof file, "%.80s/hone-fault-session-%d.gguf", dir ? dir : "/tmp", (int)getpid());
    if (CHECK_OK(random_model_open(&lasting, "gemma3", "attention.sliding_window=20", 5, &model))) {
        if (CHECK_OK(hn_devices_open(&lasting, "cpu", &(hn_device_options){ .n_threads = 1 }, &n_devices,
                                     devices))) {
            check_action("measure", measure_action);
            check_action("save", save_action);
            check_action("restore", restore_action);
            hn_devices_close(n_devices, devices);
        }
        hn_model_close(model);
    }
    remove(file);
    CHECK_INT(0, lasting.live_blocks);
    return check_close();
}
