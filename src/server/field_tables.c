#include "server/fields.h"

static const hn_field chat[] = {
#include "server/fields/chat.def"
};
static const hn_field stream_options[] = {
#include "server/fields/stream_options.def"
};
static const hn_field completions[] = {
#include "server/fields/completions.def"
};
static const hn_field embeddings[] = {
#include "server/fields/embeddings.def"
};
static const hn_field tokenize[] = {
#include "server/fields/tokenize.def"
};
static const hn_field detokenize[] = {
#include "server/fields/detokenize.def"
};
static const hn_field apply_template[] = {
#include "server/fields/apply_template.def"
};

#define HN_FIELD_TABLE(name, api) const hn_fields hn_fields_##name = { api, name, sizeof name / sizeof *name };
#include "server/field_tables.def"
#undef HN_FIELD_TABLE

const hn_fields *hn_fields_at(size_t i)
{
#define HN_FIELD_TABLE(name, api) &hn_fields_##name,
    static const hn_fields *const all[] = {
#include "server/field_tables.def"
    };
#undef HN_FIELD_TABLE
    return i < sizeof all / sizeof *all ? all[i] : NULL;
}
