/* embedded: the assembler takes the file in (HN_EMBEDDED_FILE, from CMake): a C array of this size
 * would take the compiler longer than the rest of the program. */
#include "base/embedded.h"

#include <string.h>

#ifdef __APPLE__
#define SECTION ".const\n"
#define NAME(symbol) "_" symbol
#define BACK ".text\n"
#define OWN(symbol) ".private_extern _" symbol "\n"
#else
#define SECTION ".pushsection .rodata\n"
#define NAME(symbol) symbol
#define BACK ".popsection\n"
#ifdef _WIN32 /* where nothing is exported that does not ask for it */
#define OWN(symbol)
#else
#define OWN(symbol) ".hidden " symbol "\n"
#endif
#endif

__asm__(SECTION ".balign 64\n"
        OWN("hn_embedded_begin") OWN("hn_embedded_end")
        ".globl " NAME("hn_embedded_begin") "\n" NAME("hn_embedded_begin") ":\n"
        ".incbin \"" HN_EMBEDDED_FILE "\"\n"
        ".globl " NAME("hn_embedded_end") "\n" NAME("hn_embedded_end") ":\n"
        ".byte 0\n" BACK);

extern const unsigned char hn_embedded_begin[], hn_embedded_end[];

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
