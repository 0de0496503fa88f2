/* An empty text points at a byte of zero that all share and nobody writes to, so that `text` can always be read.
 * What was added to a text that failed is lost; its length says how far it had come. */
#include "base/str.h"

#include "base/host.h"

#include <stdarg.h>
#include <string.h>

static char nothing[1]; /* what an empty string points at; nobody writes to it */

hn_str hn_str_on(hn_heap *heap) { return (hn_str){ .heap = heap, .text = nothing }; }

hn_str hn_str_within(char *room, size_t bytes)
{
    room[0] = '\0';
    return (hn_str){ .text = room, .room = bytes };
}

void hn_str_free(hn_str *str)
{
    if (str->room && str->heap)
        hn_free(str->heap, str->text);
    *str = hn_str_on(str->heap);
}

void hn_str_end(hn_str *part, hn_str *whole)
{
    if (whole->status == HN_OK)
        whole->status = part->status;
    hn_str_free(part);
}

void hn_str_clear(hn_str *str)
{
    str->length = 0;
    if (str->room)
        str->text[0] = '\0';
}

/* Room for n more bytes and the NUL. */
static bool reserve(hn_str *str, size_t n)
{
    if (str->status != HN_OK)
        return false;
    if (n < str->room && str->length < str->room - n)
        return true;
    if (n > SIZE_MAX / 4 || str->length > SIZE_MAX / 4 || !str->heap) {
        str->status = HN_ERR_MEMORY;
        return false;
    }
    size_t room = str->room ? 2 * str->room : 64;
    if (room < str->length + n + 1)
        room = str->length + n + 1;
    char *grown =
        hn_realloc_array(str->heap, HN_TAG_TEXT, str->room ? str->text : NULL, room, 1);
    if (!grown) {
        str->status = HN_ERR_MEMORY;
        return false;
    }
    str->text = grown;
    str->room = room;
    return true;
}

void hn_str_add_bytes(hn_str *str, const char *bytes, size_t n)
{
    if (!n || !reserve(str, n))
        return;
    memcpy(str->text + str->length, bytes, n);
    str->length += n;
    str->text[str->length] = '\0';
}

void hn_str_add(hn_str *str, const char *text) { hn_str_add_bytes(str, text, strlen(text)); }

void hn_str_add_char(hn_str *str, char c) { hn_str_add_bytes(str, &c, 1); }

void hn_str_print(hn_str *str, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = hn_text_vprint(NULL, 0, format, args);
    if (n > 0 && reserve(str, (size_t)n)) {
        hn_text_vprint(str->text + str->length, (size_t)n + 1, format, again);
        str->length += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

hn_status hn_str_status(const hn_str *str)
{
    HN_REQUIRE(str->status == HN_OK, str->status, HN_HEAP_REFUSED ": text of more than %zu bytes",
               str->length);
    return HN_OK;
}
