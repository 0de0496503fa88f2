/* What names of models say, against llama.cpp's converter. */
#include "convert/model_name.h"
#include "tests/harness/check.h"

static const struct {
    const char *name;
    double parameters;
    const char *basename, *finetune, *version, *size;
} known[] = {
#define NAME(name, parameters, basename, finetune, version, size)                              \
    { name, parameters, basename, finetune, version, size },
#include "tests/unit/model_name.def"
#undef NAME
};

int main(int argc, char **argv)
{
    check_open(argc, argv);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        hn_model_name got;
        hn_model_name_read(known[i].name, known[i].parameters, &got);
        check_group(known[i].name);
        CHECK_TEXT(known[i].basename, got.basename);
        CHECK_TEXT(known[i].finetune, got.finetune);
        CHECK_TEXT(known[i].version, got.version);
        CHECK_TEXT(known[i].size, got.size);
    }
    return check_close();
}
