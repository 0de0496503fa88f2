/* A stamp is believed only if the file was at rest for some seconds: within the clock's grain it could have been
 * written to twice. An entry that is not exactly what would be written is none. */
#include "models/identity_cache.h"

#include "base/file.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

enum { PATH = 4096, ENTRY = 256, SECONDS = 2 };

/* A file's name is of what it is about, so that a newer one takes its place. */
static bool path_of(const char *folder, const hn_file_stamp *files, int n, char path[PATH])
{
    hn_sha256 sha;
    uint8_t digest[32];
    char text[65];
    hn_sha256_begin(&sha);
    for (int i = 0; i < n; i++) {
        hn_sha256_add(&sha, &files[i].device, sizeof files[i].device);
        hn_sha256_add(&sha, &files[i].inode, sizeof files[i].inode);
    }
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    return snprintf(path, PATH, "%s/identity-%.32s", folder, text) < PATH;
}

static void entry_of(const hn_file_stamp *files, int n, const uint8_t numbers[32], char out[ENTRY])
{
    hn_sha256 sha;
    uint8_t digest[32];
    char of_files[65], of_numbers[65], check[65];
    hn_sha256_begin(&sha);
    for (int i = 0; i < n; i++)
        hn_sha256_add(&sha, &files[i], sizeof files[i]);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, of_files);
    hn_sha256_text(numbers, of_numbers);
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, of_files, 64);
    hn_sha256_add(&sha, of_numbers, 64);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, check);
    snprintf(out, ENTRY, "hone identity 2\n%s\n%s\n%s\n", of_files, of_numbers, check);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_own(const char *path)
{
    hn_os_file about;
    return hn_os_about_link(path, &about) && about.is_file && about.is_guarded;
}

bool hn_identity_recall(hn_heap *heap, const char *folder, const hn_file_stamp *files, int n,
                        uint8_t numbers[32])
{
    char path[PATH], text[ENTRY], want[ENTRY];
    static const char head[] = "hone identity 2\n";
    (void)heap;
    if (!path_of(folder, files, n, path) || !is_own(path))
        return false;
    hn_file_text(path, text, sizeof text);
    const size_t at = strlen(head) + 65;
    if (strlen(text) < at + 64)
        return false;
    for (size_t i = 0; i < 32; i++) {
        const int high = digit(text[at + 2 * i]), low = digit(text[at + 2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        numbers[i] = (uint8_t)(16 * high + low);
    }
    entry_of(files, n, numbers, want);
    return !strcmp(text, want);
}

static void make_folders(const char *folder)
{
    char path[PATH];
    const size_t n = strlen(folder);
    for (size_t i = 1; i <= n && n < PATH; i++)
        if (folder[i] == '/' || !folder[i]) {
            snprintf(path, sizeof path, "%.*s", (int)i, folder);
            hn_os_folder_make(path, true);
        }
}

void hn_identity_record(const char *folder, const hn_file_stamp *files, int n,
                        const uint8_t numbers[32])
{
    char path[PATH], text[ENTRY];
    const int64_t now = hn_clock_wall_ns();
    for (int i = 0; i < n; i++)
        if (files[i].changed_ns > now - (int64_t)SECONDS * 1000000000)
            return;
    if (!path_of(folder, files, n, path))
        return;
    make_folders(folder);
    entry_of(files, n, numbers, text);
    const hn_span span = { text, strlen(text) };
    if (hn_file_write(hn_sink_own(path), &span, 1) == HN_OK)
        hn_os_guard(path);
}
