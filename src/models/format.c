#include "models/format.h"

static const hn_model_format *const formats[] = {
#define HN_MODEL_FORMAT(name) &hn_model_format_##name,
#include "models/formats.def"
#undef HN_MODEL_FORMAT
};

const hn_model_format *hn_model_format_of(const char *path)
{
    size_t i = 0;
    while (i + 1 < sizeof formats / sizeof *formats && !formats[i]->is(path))
        i++;
    return formats[i];
}
