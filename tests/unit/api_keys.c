/* Files of keys: what is read, what is refused and by which line, and whose a secret is. */
#include "base/os/files.h"
#include "server/http_parse.h"
#include "server/keys.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>
#if !defined(_WIN32)
#include <sys/stat.h>
#endif

static hn_heap heap;
static const char path[] = "api_keys.tmp";

static hn_status read_keys(hn_keys **keys, const char *text)
{
    FILE *file = fopen(path, "wb");
    *keys = NULL;
    if (!file)
        return HN_ERR_IO;
    fputs(text, file);
    fclose(file);
    hn_os_guard(path);
    return hn_keys_read(keys, &heap, path);
}

static const char good[] = "# who may ask\n"
                           "\n"
                           "alice aaaaaaaaaaaaaaaa\r\n"
                           "  bob\tbbbbbbbbbbbbbbbbb  \n"
                           "ops-1.x cccccccccccccccc admin\n";

static void test_found(void)
{
    hn_keys *keys;
    if (!CHECK_OK(read_keys(&keys, good)))
        return;
    CHECK_INT(3, (int64_t)hn_keys_count(keys));
    const hn_key *alice = hn_keys_find(keys, "aaaaaaaaaaaaaaaa"), *bob = hn_keys_find(keys, "bbbbbbbbbbbbbbbbb");
    const hn_key *ops = hn_keys_find(keys, "cccccccccccccccc");
    if (CHECK(alice && bob && ops)) {
        CHECK_TEXT("alice", alice->name);
        CHECK_TEXT("bob", bob->name);
        CHECK(ops->is_admin && !alice->is_admin && !bob->is_admin);
        CHECK(alice->owner && alice->owner != bob->owner && bob->owner != ops->owner && ops->owner && bob->owner);
    }
    static const char *const nobodys[] = { "", "aaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaa", "Aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "alice", "admin" };
    for (size_t i = 0; i < sizeof nobodys / sizeof *nobodys; i++)
        CHECK_THAT(!hn_keys_find(keys, nobodys[i]), "%s is somebody's", nobodys[i]);
    hn_keys_free(keys);
}

/* NULL: the field is not there. */
static const char *whose(const hn_keys *keys, const char *authorization, const char *plain)
{
    hn_http_field fields[2];
    size_t n = 0;
    if (authorization)
        fields[n++] = (hn_http_field){ "authorization", authorization };
    if (plain)
        fields[n++] = (hn_http_field){ "x-api-key", plain };
    const hn_http_request request = { .fields = fields, .n_fields = n };
    const hn_key *key = hn_keys_of(keys, &request);
    return key ? key->name : "";
}

static void test_presented(void)
{
    hn_keys *keys;
    if (!CHECK_OK(read_keys(&keys, good)))
        return;
    CHECK_TEXT("alice", whose(keys, "Bearer aaaaaaaaaaaaaaaa", NULL));
    CHECK_TEXT("alice", whose(keys, "bearer  aaaaaaaaaaaaaaaa", NULL));
    CHECK_TEXT("alice", whose(keys, NULL, "aaaaaaaaaaaaaaaa"));
    CHECK_TEXT("alice", whose(keys, "Bearer aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa"));
    CHECK_TEXT("", whose(keys, "Bearer aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbb"));
    CHECK_TEXT("", whose(keys, "Bearer aaaaaaaaaaaaaaaa", "nobody"));
    CHECK_TEXT("", whose(keys, "Bearer nobody", "aaaaaaaaaaaaaaaa"));
    CHECK_TEXT("", whose(keys, "Basic aaaaaaaaaaaaaaaa", NULL));
    CHECK_TEXT("", whose(keys, "Basic x", "aaaaaaaaaaaaaaaa"));
    CHECK_TEXT("", whose(keys, "aaaaaaaaaaaaaaaa", NULL));
    CHECK_TEXT("", whose(keys, "Bearer", NULL));
    CHECK_TEXT("", whose(keys, NULL, NULL));
    hn_keys_free(keys);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "has no key" },
        { "# alice aaaaaaaaaaaaaaaa\n", "has no key" },
        { "\nalice\n", "line 2: expected NAME SECRET [admin], found 1 word" },
        { "alice aaaaaaaaaaaaaaaa root\n", "line 1: the third word may be admin alone" },
        { "alice aaaaaaaaaaaaaaaa Admin\n", "line 1: the third word" },
        { "alice aaaaaaaaaaaaaaaa admin # x\n", "found 4 words or more" },
        { "alice aaaaaaaaaaaaaaa\n", "line 1: a secret is 16 to 512" },
        { "al/ice aaaaaaaaaaaaaaaa\n", "line 1: a name is" },
        { "alice aaaaaaaaaaaaaaa\xc3\xa9\n", "line 1: a secret is" },
        { "alice aaaaaaaaaaaaaaaa\nalice bbbbbbbbbbbbbbbb\n", "line 2: the name alice was there before" },
        { "alice aaaaaaaaaaaaaaaa\nbob aaaaaaaaaaaaaaaa\n", "line 2: the secret is that of alice" },
    };
    hn_keys *keys;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const hn_status status = read_keys(&keys, cases[i].text);
        CHECK(status == HN_ERR_FORMAT && strstr(hn_error_message(), cases[i].words) && !keys);
        CHECK_THAT(!strstr(hn_error_message(), "aaaaaaaaaaaaaaa"), "a message has a secret: %s", hn_error_message());
    }
    char large[1024] = "alice ";
    memset(large + 6, 'a', HN_KEY_MOST_SECRET + 1);
    CHECK_FAILS(read_keys(&keys, large), HN_ERR_FORMAT, "a secret is");
    large[6 + HN_KEY_MOST_SECRET] = 0;
    CHECK_OK(read_keys(&keys, large));
    hn_keys_free(keys);
    FILE *file = fopen(path, "wb");
    if (CHECK(file != NULL)) {
        fwrite("alice aaaaaaaaaaaaaaaa\nbob\0 bbbbbbbbbbbbbbbb\n", 1, 45, file);
        fclose(file);
        CHECK_FAILS(hn_keys_read(&keys, &heap, path), HN_ERR_FORMAT, "line 2: has a NUL");
    }
}

static void test_permissions(void)
{
#if defined(_WIN32)
    check_skip("permissions", "the system is not asked who may read a file");
#else
    hn_keys *keys;
    if (!CHECK_OK(read_keys(&keys, good)))
        return;
    hn_keys_free(keys);
    static const mode_t open_ones[] = { 0644, 0640, 0604, 0620, 0602 };
    for (size_t i = 0; i < sizeof open_ones / sizeof *open_ones; i++) {
        CHECK(chmod(path, open_ones[i]) == 0);
        CHECK_FAILS(hn_keys_read(&keys, &heap, path), HN_ERR_ARGUMENT, "others may read it");
    }
    CHECK(chmod(path, 0400) == 0);
    CHECK_OK(hn_keys_read(&keys, &heap, path));
    hn_keys_free(keys);
#endif
}

static void test_memory(void)
{
    hn_keys *keys;
    CHECK_OK(read_keys(&keys, good));
    hn_keys_free(keys);
    const int64_t before = atomic_load(&heap.n_calls);
    CHECK_OK(hn_keys_read(&keys, &heap, path));
    const int64_t n = atomic_load(&heap.n_calls) - before;
    hn_keys_free(keys);
    for (int64_t i = 1; i <= n; i++) {
        atomic_store(&heap.fail_at, atomic_load(&heap.n_calls) + i);
        CHECK_INT(HN_ERR_MEMORY, hn_keys_read(&keys, &heap, path));
        CHECK(!keys);
    }
    atomic_store(&heap.fail_at, 0);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    test_found();
    test_presented();
    test_refused();
    test_memory();
    test_permissions();
    hn_os_remove(path);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
