/* far itself: that what it is for would be seen. */
#include "tests/far/far.h"
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
    CHECK_OK(far->backend->read(far, text, buffer.data, 8));
    CHECK(!memcmp(text, zeros, 8));
    CHECK_OK(far->backend->write(far, buffer.data, "written", 8));
    CHECK_OK(far->backend->fill(far, (char *)buffer.data + 1, 'x', 2));
    CHECK_OK(far->backend->read(far, text, buffer.data, 8));
    CHECK_TEXT("wxxtten", text);
    CHECK_FAILS(far->backend->read(far, text, (char *)buffer.data + 1, 8), HN_ERR_PROOF, "no memory of its own");
    CHECK_FAILS(far->backend->write(far, text, "host's", 7), HN_ERR_PROOF, "no memory of its own");
    far->backend->buffer_free(&buffer);
}

/* From one to the other, as late as can be, and on. */
static void check_copies(hn_device *a, hn_device *b)
{
    hn_buffer x, y;
    char text[8] = "";
    check_group("copies");
    if (!CHECK_OK(a->backend->buffer_new(a, HN_TAG_DEVICE, 8, &x)))
        return;
    if (CHECK_OK(b->backend->buffer_new(b, HN_TAG_DEVICE, 8, &y))) {
        for (int i = 0; i < 200; i++) {
            const char want[8] = { (char)('a' + i % 26), (char)('0' + i % 10), 0 };
            CHECK_OK(a->backend->write(a, x.data, want, 8));
            CHECK_OK(hn_device_copy(b, y.data, a, x.data, 8, NULL));
            CHECK_OK(a->backend->fill(a, x.data, 0xff, 8)); /* not before the copy */
            CHECK_OK(b->backend->read(b, text, y.data, 8));
            CHECK_TEXT(want, text);
        }
        b->backend->buffer_free(&y);
    }
    a->backend->buffer_free(&x);
}

int main(int argc, char **argv)
{
    hn_device *devices[HN_MAX_DEVICES];
    int n;
    check_open(argc, argv);
    setenv("HN_TEST_DEVICES", "far,far", 1);
    hn_far_install();
    hn_heap_init(&heap, NULL);
    if (CHECK_OK(hn_devices_open(&heap, "cpu", NULL, &n, devices))) {
        CHECK_INT(2, n);
        CHECK(!hn_device_is_host(devices[0]) && hn_device_is_host(devices[0]->host));
        check_memory(devices[0]);
        check_copies(devices[0], devices[1]);
        hn_devices_close(n, devices);
    }
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
