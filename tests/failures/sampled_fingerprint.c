/* SAMPLED-FINGERPRINT: the identity of a base is of all its numbers, and yet a directory and the GGUF
 * made of it have one: of every model in the tree. A single bit anywhere gives another. */
#include "convert/convert.h"
#include "models/identity.h"
#include "tests/harness/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODELS HN_SOURCE_DIR "/tests/differential/models"

static hn_heap heap;
static hn_pool *pool;
static char file[] = "/tmp/hone-identity-XXXXXX";

static hn_status identity_of(const char *path, char text[65])
{
    hn_model *model;
    HN_TRY(hn_model_open(&heap, path, NULL, &model));
    hn_status status = hn_model_begin_identity(model, 2);
    if (status == HN_OK)
        status = hn_model_identity(model, text);
    if (status == HN_OK)
        status = hn_model_unchanged(model);
    hn_model_close(model);
    return status;
}

/* One bit of the last part of the file. */
static void flip(uint64_t from_end, int bit)
{
    FILE *f = fopen(file, "r+b");
    if (!CHECK(f != NULL))
        return;
    fseek(f, -(long)from_end, SEEK_END);
    const int byte = fgetc(f);
    fseek(f, -(long)from_end, SEEK_END);
    fputc(byte ^ 1 << bit, f);
    fclose(f);
}

static void check_one(const char *name)
{
    char dir[600], of_dir[65], of_file[65], other[65];
    hn_watch watch = { 0 };
    const hn_convert_options as_it_is = { 0 };
    check_group(name);
    snprintf(dir, sizeof dir, MODELS "/%.200s", name);
    if (!CHECK_OK(hn_convert(&heap, pool, dir, hn_sink_own(file), &as_it_is, &watch)) ||
        !CHECK_OK(identity_of(dir, of_dir)) || !CHECK_OK(identity_of(file, of_file)))
        return;
    CHECK_THAT(!strcmp(of_dir, of_file), "%s: directory %.16s, file %.16s", name, of_dir, of_file);
    for (int i = 0; i < 8; i++) {
        const uint64_t at = 70 + 977 * (uint64_t)i;
        flip(at, i);
        if (identity_of(file, other) == HN_OK)
            CHECK_THAT(strcmp(other, of_file) != 0, "%s: bit %d of the byte %d from the end", name, i,
                       (int)at);
        flip(at, i);
    }
    CHECK_OK(identity_of(file, other));
    CHECK(!strcmp(other, of_file));
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    const int made = mkstemp(file);
    DIR *all = opendir(MODELS);
    if (CHECK(made >= 0) && CHECK(all != NULL) && CHECK_OK(hn_pool_new(&heap, 2, &pool))) {
        close(made);
        for (const struct dirent *e; (e = readdir(all)) != NULL;)
            if (e->d_name[0] != '.' && hn_is_dir(MODELS) && strchr(e->d_name, '.') == NULL)
                check_one(e->d_name);
    }
    if (all)
        closedir(all);
    hn_pool_free(pool);
    unlink(file);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
