/* The page: files that are part of the program (src/server/page, from the derived page.def), and what a browser is told
 * to allow them: nothing but themselves and this server. They hold nothing of anybody's, so whoever asks gets them. */
#include "base/taken_in.h"
#include "server/server_state.h"

#include <string.h>

#define HN_PAGE_FILE(number, file, tag) HN_TAKE_IN(hn_page_file_##number, HN_PAGE_FOLDER file)
#include "server/page.def"
#undef HN_PAGE_FILE

typedef struct page_file {
    const char *name, *tag;
    const unsigned char *begin, *end;
} page_file;

static const page_file files[] = {
#define HN_PAGE_FILE(number, file, tag) { file, "\"" tag "\"", hn_page_file_##number##_begin, hn_page_file_##number##_end },
#include "server/page.def"
#undef HN_PAGE_FILE
};

static const page_file *find(const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!strcmp(files[i].name, name))
            return &files[i];
    return NULL;
}

static const char *type_of(const char *name)
{
    const char *end = strrchr(name, '.');
    return !strcmp(end, ".html") ? "text/html; charset=utf-8" : !strcmp(end, ".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
}

static void add_fields(hn_http_call *call, const page_file *file)
{
    hn_http_add_field(call, "Content-Security-Policy",
                      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
                      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    hn_http_add_field(call, "X-Content-Type-Options", "nosniff");
    hn_http_add_field(call, "Referrer-Policy", "no-referrer");
    hn_http_add_field(call, "Cross-Origin-Opener-Policy", "same-origin");
    hn_http_add_field(call, "Cross-Origin-Resource-Policy", "same-origin");
    hn_http_add_field(call, "X-DNS-Prefetch-Control", "off"); /* no name that a model says is looked up */
    hn_http_add_field(call, "Cache-Control", "no-cache");     /* kept, and asked for each time */
    hn_http_add_field(call, "ETag", file->tag);
}

/* Tags are 32 hexadecimal digits: one within another is the same. */
static bool is_known(hn_http_call *call, const page_file *file)
{
    const char *tags = hn_http_field_of(call, "if-none-match");
    return tags && strstr(tags, file->tag);
}

void hn_api_page(hn_server *s, hn_http_call *call)
{
    const char *path = hn_http_request_of(call)->path;
    const page_file *file = find(!strcmp(path, "/") ? "index.html" : path + strlen("/page/"));
    hn_failure why;
    if (!file) {
        hn_refuse_as(&why, HN_REFUSED_NO_PATH, NULL, "%.200s: the page has no such file", path);
        hn_api_refuse(s, call, &why);
        return;
    }
    add_fields(call, file);
    if (is_known(call, file))
        hn_http_reply(call, 304, NULL, "", 0);
    else
        hn_http_reply(call, 200, type_of(file->name), (const char *)file->begin, (size_t)(file->end - file->begin));
}
