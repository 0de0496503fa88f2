/* A file of this user alone, on every system: it is written, found, read and removed, before and after it was guarded; where others
 * can be asked about, none of them reads it; and what is not there cannot be guarded. */
#include "base/file.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "tests/harness/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static hn_heap heap;

static void reads(const char *path, const char *want)
{
    void *text;
    size_t bytes;
    if (CHECK_OK(hn_file_read(&heap, path, 100, &text, &bytes))) {
        CHECK_TEXT(want, (const char *)text);
        hn_free(&heap, text);
    }
}

static void is_private(const char *path)
{
    hn_os_file about;
    CHECK(hn_os_about(path, &about) && about.is_file && about.is_guarded && !about.is_open_to_others);
}

int main(int argc, char **argv)
{
    hn_os_file about;
    char folder[4096], path[4200];
    const hn_span of[] = { { "first", 5 }, { "second", 6 } };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    snprintf(folder, sizeof folder, "%s/hone-private-XXXXXX", hn_os_folder_for_temporary());
    CHECK(hn_os_folder_make_temporary(folder));
    snprintf(path, sizeof path, "%s/own", folder);
    for (int i = 0; i < 2; i++) { /* over what is there, too */
        CHECK_OK(hn_file_write_private(path, &of[i], 1));
        reads(path, of[i].data);
        is_private(path);
    }
    CHECK(hn_os_remove(path));
    CHECK_OK(hn_file_write(hn_sink_new(path), of, 1));
    CHECK(hn_os_guard(path));
    reads(path, "first");
    is_private(path);
    CHECK(hn_os_remove(path));
    errno = 0;
    CHECK(!hn_os_guard(path));
    CHECK_INT(ENOENT, errno);
    snprintf(path, sizeof path, "%s/private", folder);
    CHECK(hn_os_folder_make(path, true));
    CHECK(hn_os_about(path, &about) && about.is_folder && about.is_guarded);
    CHECK(hn_os_folder_remove(path));
    CHECK(hn_os_folder_remove(folder));
    return check_close();
}
