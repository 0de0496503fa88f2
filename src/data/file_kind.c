/* Kinds of files and formats of examples share one option: no word is of both. */
#include "data/file_kind.h"

#include <string.h>

enum { READ = 1, REFUSED = 0 };
static const struct {
    const char *name, *endings;
    bool is_read;
} kinds[] = {
#define KIND(upper, name, endings, how) { name, endings, how },
    HN_FILE_KIND_LIST(KIND)
#undef KIND
};

const char *hn_file_kind_name(hn_file_kind kind) { return kinds[kind].name; }

bool hn_file_kind_is_read(hn_file_kind kind) { return kinds[kind].is_read; }

static bool is_letter_of(char c, char lower)
{
    return c == lower || (c >= 'A' && c <= 'Z' && c - 'A' + 'a' == lower);
}

/* Whether `word`, of `n` letters, ends the name after a dot. */
static bool ends(const char *path, const char *word, size_t n)
{
    const size_t length = strlen(path);
    if (length < n + 2 || path[length - n - 1] != '.')
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_letter_of(path[length - n + i], word[i]))
            return false;
    return true;
}

hn_file_kind hn_file_kind_of(const char *path)
{
    for (int i = 0; i < HN_N_FILE_KINDS; i++)
        for (const char *at = kinds[i].endings; *at; at += strspn(at, " ")) {
            const size_t n = strcspn(at, " ");
            if (ends(path, at, n))
                return (hn_file_kind)i;
            at += n;
        }
    return HN_N_FILE_KINDS;
}

/* Each with a comma behind it; of the lists themselves, and so never short of one. */
#define FORMAT(upper, name, keys)  name ", "
#define KIND(upper, name, endings, how) name ", "
#define READ_ONE_READ(word)    ", " word
#define READ_ONE_REFUSED(word) ""
#define READ_ONE(upper, name, endings, how) READ_ONE_##how(name)
#define FORMAT_ONE(upper, name, keys)       ", " name
const char hn_file_kinds_read[] = HN_FILE_KIND_LIST(READ_ONE);
const char hn_formats_help[] = HN_DATA_FORMAT_LIST(FORMAT_ONE) " (by keys)" HN_FILE_KIND_LIST(READ_ONE) " (by name)";

static const char expected[] = "data format: expected " HN_DATA_FORMAT_LIST(FORMAT) "or a kind of file: " HN_FILE_KIND_LIST(KIND);
#undef FORMAT
#undef KIND

static hn_status parse_word(const char *word, size_t n, hn_file_kind *kind, hn_data_format *format)
{
    for (int i = 0; i < HN_N_FILE_KINDS; i++)
        if (strlen(kinds[i].name) == n && !memcmp(kinds[i].name, word, n)) {
            HN_REQUIRE(*kind == HN_N_FILE_KINDS, HN_ERR_ARGUMENT,
                       "data format: expected one kind of file, found %s and %s", kinds[*kind].name,
                       kinds[i].name);
            *kind = (hn_file_kind)i;
            return HN_OK;
        }
    for (int i = 0; i < HN_N_DATA_FORMATS; i++) {
        const char *name = hn_data_format_name((hn_data_format)i);
        if (strlen(name) != n || memcmp(name, word, n))
            continue;
        HN_REQUIRE(*format == HN_N_DATA_FORMATS, HN_ERR_ARGUMENT,
                   "data format: expected one format of examples, found %s and %s",
                   hn_data_format_name(*format), name);
        *format = (hn_data_format)i;
        return HN_OK;
    }
    return hn_fail(HN_ERR_ARGUMENT, "%sfound '%.*s'", expected, (int)(n < 60 ? n : 60), word);
}

hn_status hn_format_choice_parse(const char *text, hn_file_kind *kind, hn_data_format *format)
{
    *kind = HN_N_FILE_KINDS;
    *format = HN_N_DATA_FORMATS;
    for (const char *at = text; at; at = *at ? at + 1 : NULL) {
        const size_t n = strcspn(at, ",");
        HN_TRY(parse_word(at, n, kind, format));
        at += n;
    }
    return HN_OK;
}
