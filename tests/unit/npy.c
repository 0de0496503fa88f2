/* .npy: what is written reads back; NumPy's own files (the fuzz corpus) read as they should;
 * malformed ones are refused with the file, what was expected and what was found. */
#include "io/npy.h"
#include "base/file.h"
#include "tests/harness/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CORPUS HN_SOURCE_DIR "/tests/fuzz/corpus/npy/"

static hn_heap heap;

/* A file of version 1.0 with this dictionary, followed by n_data bytes of 1. */
static size_t build(uint8_t *out, const char *dictionary, size_t n_data)
{
    const size_t n = strlen(dictionary);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (uint8_t)n;
    out[9] = (uint8_t)(n >> 8);
    memcpy(out + 10, dictionary, n);
    memset(out + 10 + n, 1, n_data);
    return 10 + n + n_data;
}

static void refuses(void)
{
    static const struct {
        const char *dictionary, *words;
        size_t n_data;
        hn_status code;
    } cases[] = {
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
          "x.npy: data: expected 12 bytes, found 11", 11, HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
          "expected 12 bytes, found 13", 13, HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3), }", "comma", 12,
          HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (3,), }",
          "key 'shape' twice", 12, HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'x': 1}", "unknown key 'x'", 12,
          HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False}", "no key 'shape'", 0, HN_ERR_FORMAT },
        { "{'descr': '<f4', 'shape': (3,)}", "no key 'fortran_order'", 12, HN_ERR_FORMAT },
        { "{}", "no key 'descr'", 0, HN_ERR_FORMAT },
        { "", "expected {, found its end", 0, HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,)}", "False", 12,
          HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", "expected spaces", 12,
          HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "a dimension", 12,
          HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}", "','", 48,
          HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,4", "header", 0,
          HN_ERR_FORMAT },
        { "{'descr': '<f4, 'fortran_order': False, 'shape': (3,)}", "element type '<f4, '", 12,
          HN_ERR_UNSUPPORTED },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
          "beyond 2^63", 12, HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4, 2)}",
          "larger than memory", 12, HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807)}",
          "larger than memory", 0, HN_ERR_FORMAT },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1)}",
          "more than 5 dimensions", 4, HN_ERR_UNSUPPORTED },
        { "{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}",
          "element type '>f4': expected <f4", 12, HN_ERR_UNSUPPORTED },
        { "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", "element type '|O'", 12,
          HN_ERR_UNSUPPORTED },
        { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", "structured", 12,
          HN_ERR_UNSUPPORTED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t file[256];
        hn_npy array;
        const size_t bytes = build(file, cases[i].dictionary, cases[i].n_data);
        CHECK_FAILS(hn_npy_parse(&heap, "x.npy", file, bytes, &array), cases[i].code,
                    cases[i].words);
        CHECK(array.data == NULL && array.rank == 0);
    }
    uint8_t file[256];
    hn_npy array;
    size_t bytes = build(file, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", 2);
    CHECK_OK(hn_npy_parse(&heap, "x", file, bytes, &array));
    CHECK(array.is_bool && array.dtype == HN_U8);
    hn_npy_free(&array);
    file[bytes - 1] = 7;
    CHECK_FAILS(hn_npy_parse(&heap, "x", file, bytes, &array), HN_ERR_FORMAT, "boolean 1 is 7");
    file[6] = 4;
    CHECK_FAILS(hn_npy_parse(&heap, "x", file, bytes, &array), HN_ERR_UNSUPPORTED, "4.0");
    file[0] = 'P';
    CHECK_FAILS(hn_npy_parse(&heap, "x", file, bytes, &array), HN_ERR_FORMAT, "not a .npy");
}

/* Every prefix of a good file is refused. */
static void refuses_cut_off(const char *path)
{
    void *file = NULL;
    size_t bytes = 0;
    CHECK_OK(hn_file_read(&heap, path, 1 << 20, &file, &bytes));
    for (size_t n = 0; n < bytes; n++) {
        hn_npy array;
        uint8_t *exact = malloc(n ? n : 1);
        if (!exact)
            break;
        memcpy(exact, file, n);
        CHECK(hn_npy_parse(&heap, path, exact, n, &array) == HN_ERR_FORMAT);
        free(exact);
    }
    hn_free(&heap, file);
}

static void reads_numpy(void)
{
    hn_npy a;
    CHECK_OK(hn_npy_read(&heap, CORPUS "fortran.npy", &a));
    CHECK(a.rank == 3 && a.dim[0] == 2 && a.dim[1] == 3 && a.dim[2] == 4 && a.bytes == 96);
    for (int i = 0; a.data && i < 24; i++)
        CHECK(((const float *)a.data)[i] == (float)i);
    hn_npy_free(&a);
    CHECK_OK(hn_npy_read(&heap, CORPUS "fortran_rank5.npy", &a));
    for (int i = 0; a.data && i < 48; i++)
        CHECK_INT(i, ((const int64_t *)a.data)[i]);
    hn_npy_free(&a);
    CHECK_OK(hn_npy_read(&heap, CORPUS "scalar.npy", &a));
    CHECK(a.rank == 0 && a.bytes == 4 && *(const float *)a.data == 1.5f);
    hn_npy_free(&a);
    CHECK_OK(hn_npy_read(&heap, CORPUS "empty.npy", &a));
    CHECK(a.rank == 2 && a.dim[0] == 0 && a.bytes == 0 && a.data);
    hn_npy_free(&a);
    static const char *const good[] = { "c_f4", "c_f8", "c_f2",     "c_i4",    "c_i8",
                                        "c_u1", "bool", "version2", "version3" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char path[1024];
        snprintf(path, sizeof path, CORPUS "%s.npy", good[i]);
        CHECK_OK(hn_npy_read(&heap, path, &a));
        hn_npy_free(&a);
    }
    CHECK_FAILS(hn_npy_read(&heap, CORPUS "rank6.npy", &a), HN_ERR_UNSUPPORTED, "dimensions");
    CHECK_FAILS(hn_npy_read(&heap, CORPUS "big_endian.npy", &a), HN_ERR_UNSUPPORTED, ">f4");
    CHECK_FAILS(hn_npy_read(&heap, CORPUS "complex.npy", &a), HN_ERR_UNSUPPORTED, "<c8");
    CHECK_FAILS(hn_npy_read(&heap, CORPUS "structured.npy", &a), HN_ERR_UNSUPPORTED,
                "structured");
    CHECK_FAILS(hn_npy_read(&heap, CORPUS "none.npy", &a), HN_ERR_IO, "none.npy: No such file");
    CHECK_FAILS(hn_npy_read(&heap, CORPUS, &a), HN_ERR_IO, "not a regular file");
    CHECK_FAILS(hn_npy_read(&heap, "/dev/null", &a), HN_ERR_IO, "not a regular file");
}

/* A file that may not grow: the old one stays, nothing else is left. */
static void refuses_without_space(const char *path)
{
    uint8_t data[4096] = { 0 };
    hn_npy a = { .dtype = HN_U8, .rank = 1, .dim = { sizeof data }, .data = data }, b;
    a.bytes = sizeof data;
    struct rlimit before, tight;
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    const hn_status status = hn_npy_write(hn_sink_own(path), &a);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_FAILS(status, HN_ERR_IO, "File too large");
    CHECK_OK(hn_npy_read(&heap, path, &b));
    CHECK_INT(HN_F32, b.dtype);
    hn_npy_free(&b);
}

static void writes(void)
{
    char folder[] = "/tmp/hone_npy_XXXXXX", path[64];
    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    snprintf(path, sizeof path, "%s/a.npy", folder);
    float data[24];
    for (int i = 0; i < 24; i++)
        data[i] = (float)i / 7;
    for (int rank = 0; rank <= 5; rank++) {
        hn_npy a = { .dtype = HN_F32, .rank = rank, .data = data, .bytes = 4 }, b;
        for (int i = 0; i < rank; i++) {
            a.dim[i] = i < 3 ? 2 : 1;
            a.bytes *= (size_t)a.dim[i];
        }
        CHECK_OK(hn_npy_write(hn_sink_own(path), &a));
        CHECK_OK(hn_npy_read(&heap, path, &b));
        CHECK(b.rank == rank && b.bytes == a.bytes && !memcmp(b.data, data, b.bytes) &&
              !memcmp(a.dim, b.dim, sizeof a.dim));
        hn_npy_free(&b);
    }
    hn_npy a = { .dtype = HN_BF16, .rank = 1, .dim = { 2 }, .data = data, .bytes = 4 };
    CHECK_FAILS(hn_npy_write(hn_sink_own(path), &a), HN_ERR_UNSUPPORTED, "no element type for bf16");
    a.bytes = 5;
    CHECK_FAILS(hn_npy_write(hn_sink_own(path), &a), HN_ERR_ARGUMENT, "expected 4");
    a = (hn_npy){ .dtype = HN_F32, .rank = 0, .data = data, .bytes = 4 };
    CHECK_FAILS(hn_npy_write(hn_sink_own("/nonexistent/a.npy"), &a), HN_ERR_IO, "/nonexistent/a.npy");
    CHECK_FAILS(hn_npy_write(hn_sink_own(folder), &a), HN_ERR_IO, "not a regular file");
    refuses_without_space(path);
    unlink(path);
    CHECK_INT(0, rmdir(folder)); /* nothing is left in it */
}

static void memory_may_fail(void)
{
    for (int64_t n = 1; n <= 2; n++) {
        hn_npy a;
        atomic_store(&heap.fail_at, atomic_load(&heap.n_calls) + n);
        CHECK_FAILS(hn_npy_read(&heap, CORPUS "c_f4.npy", &a), HN_ERR_MEMORY, "c_f4.npy: out");
    }
    atomic_store(&heap.fail_at, 0);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    refuses();
    refuses_cut_off(CORPUS "c_f4.npy");
    refuses_cut_off(CORPUS "version2.npy");
    refuses_cut_off(CORPUS "fortran.npy");
    reads_numpy();
    writes();
    memory_may_fail();
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
