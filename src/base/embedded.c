/* embedded: HN_EMBEDDED_FILE is CMake's. */
#include "base/embedded.h"

#include "base/taken_in.h"

#include <string.h>

HN_TAKE_IN(hn_embedded, HN_EMBEDDED_FILE)

bool hn_is_embedded(const char *path)
{
    return !strcmp(path, HN_EMBEDDED_NAME);
}

hn_span hn_embedded_model(void)
{
    return (hn_span){ hn_embedded_begin, (size_t)(hn_embedded_end - hn_embedded_begin) };
}

hn_status hn_embedded_write(hn_sink to)
{
    const hn_span model = hn_embedded_model();
    hn_out_file file;
    HN_TRY(hn_out_file_open(&file, to));
    const hn_status status = hn_out_file_write(&file, model.data, model.bytes);
    if (status == HN_OK)
        return hn_out_file_commit(&file);
    hn_out_file_abandon(&file);
    return status;
}
