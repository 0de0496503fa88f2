/* A file that is removed while it is read: its name is free at once, for another that is removed while it is read, and so on; each
 * reader finds the bytes that it opened, and nothing is left in the folder when all have closed. */
#include "base/file.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "tests/harness/check.h"

#include <errno.h>
#include <stdio.h>

enum { N_READERS = 5 };

int main(int argc, char **argv)
{
    char folder[4096], path[4200], byte;
    int reader[N_READERS];
    check_open(argc, argv);
    snprintf(folder, sizeof folder, "%s/hone-removed-XXXXXX", hn_os_folder_for_temporary());
    CHECK(hn_os_folder_make_temporary(folder));
    snprintf(path, sizeof path, "%s/one", folder);
    for (int i = 0; i < N_READERS; i++) {
        const char letter = (char)('a' + i);
        CHECK_OK(hn_file_write(hn_sink_new(path), &(hn_span){ &letter, 1 }, 1));
        reader[i] = hn_os_open_reader(path);
        CHECK(reader[i] >= 0);
        CHECK(hn_os_remove(path));
        CHECK(!hn_os_is_there(path));
        errno = 0;
        CHECK(!hn_os_remove(path));
        CHECK_INT(ENOENT, errno);
    }
    for (int i = 0; i < N_READERS; i++) {
        CHECK_INT(1, hn_os_read_at(reader[i], 0, &byte, 1));
        CHECK_INT('a' + i, byte);
        CHECK(hn_os_close(reader[i]));
    }
    CHECK(hn_os_folder_remove(folder));
    return check_close();
}
