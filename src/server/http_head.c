/* A head is taken apart in its place: NULs are put where words end. Its lines were seen to end in CR LF, and to have
 * neither of them inside, before it came here. */
#include "server/http_parse.h"

#include "base/ascii.h"
#include "base/utf8.h"

#include <string.h>

enum { MOST_DIGITS = 18 };

bool hn_http_parse_refuse(hn_http_parse *p, int status, const char *reason)
{
    p->stage = HN_HTTP_REFUSED;
    p->status = status;
    p->reason = reason;
    p->keeps_alive = false;
    return false;
}

bool hn_http_is_token_char(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool hn_http_is_value_char(unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); }

const char *hn_http_find_field(const hn_http_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_fields; i++)
        if (!strcmp(r->fields[i].name, name))
            return r->fields[i].value;
    return NULL;
}

static bool is_token(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!hn_http_is_token_char((unsigned char)*c))
            return false;
    return *text;
}

/* ---- what is asked for ---- */

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const char low = hn_ascii_lower(c);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Where a path goes up or stays, and what a system or a terminal would read as more than a letter. */
static const char *fault_of_path(const char *path, size_t bytes)
{
    for (size_t at = 0, n; at < bytes; at += n) {
        n = hn_utf8_length(path + at, bytes - at);
        if (!n)
            return "the path is not UTF-8 when it is decoded";
        if ((unsigned char)path[at] < 0x20 || path[at] == 0x7f || path[at] == '\\')
            return "the path has a NUL, a control character or a backslash when it is decoded";
    }
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        const size_t n = strcspn(part, "/");
        if ((n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return "the path has a part . or ..";
    }
    return NULL;
}

/* Once, and in its place. */
static const char *decode_path(char *path)
{
    char *to = path;
    for (const char *from = path; *from; to++) {
        const bool is_coded = *from == '%';
        const int high = is_coded ? hex_of(from[1]) : 0, low = is_coded && high >= 0 ? hex_of(from[2]) : 0;
        if (high < 0 || low < 0)
            return "the path has a % without two hexadecimal digits";
        *to = (char)(is_coded ? high << 4 | low : *from);
        from += is_coded ? 3 : 1;
    }
    *to = 0;
    return fault_of_path(path, (size_t)(to - path));
}

/* host, host:port, [v6]:port: letters, digits and what names and addresses have beside them. */
static bool is_authority(const char *text, size_t n)
{
    size_t i = 0;
    if (n && text[0] == '[') {
        for (i = 1; i < n && (hex_of(text[i]) >= 0 || text[i] == ':' || text[i] == '.'); i++)
            continue;
        if (i < 3 || i == n || text[i++] != ']')
            return false;
    } else {
        while (i < n && text[i] != ':' && hn_http_is_token_char((unsigned char)text[i]) && text[i] != '|')
            i++;
    }
    if (!i || i == n)
        return i == n && n > 0;
    if (text[i++] != ':' || i == n || n - i > 5)
        return false;
    while (i < n && text[i] >= '0' && text[i] <= '9')
        i++;
    return i == n;
}

/* "http://host/path": *authority is what stands in it; else the target as it is. */
static char *skip_authority(char *target, char **authority)
{
    static char root[] = "/";
    *authority = NULL;
    if (!hn_ascii_same_n(target, "http://", 7))
        return target;
    char *name = target + 7, *path = name + strcspn(name, "/?");
    *authority = name;
    if (!*path)
        return root;
    if (*path == '/') { /* room for a NUL between: what was "http://" has some */
        memmove(target, name, (size_t)(path - name));
        target[path - name] = 0;
        *authority = target;
        return path;
    }
    return NULL;
}

static bool parse_target(hn_http_parse *p, char *target, char **authority)
{
    for (const unsigned char *c = (const unsigned char *)target; *c; c++)
        if (*c <= 0x20 || *c >= 0x7f || *c == '#')
            return hn_http_parse_refuse(p, 400, "the target has a character that has to be written with a %");
    target = skip_authority(target, authority);
    const bool is_all = target && !strcmp(target, "*") && !strcmp(p->request.method, "OPTIONS");
    if (!target || (target[0] != '/' && !is_all))
        return hn_http_parse_refuse(p, 400, "the target is neither a path nor an http address with one");
    char *query = strchr(target, '?');
    p->request.query = query ? query + 1 : "";
    if (query)
        *query = 0;
    const char *fault = target[1] ? decode_path(target) : NULL;
    if (fault)
        return hn_http_parse_refuse(p, 400, fault);
    p->request.path = target;
    return true;
}

static bool parse_version(hn_http_parse *p, const char *version)
{
    if (strncmp(version, "HTTP/", 5) != 0 || strlen(version) != 8 || version[6] != '.' || hex_of(version[5]) < 0 ||
        version[5] > '9' || hex_of(version[7]) < 0 || version[7] > '9')
        return hn_http_parse_refuse(p, 400, "the first line does not end in HTTP/1.1");
    if (version[5] != '1' || version[7] > '1')
        return hn_http_parse_refuse(p, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    p->is_1_1 = version[7] == '1';
    return true;
}

static bool is_method(const char *word)
{
    static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strcmp(word, methods[i]))
            return true;
    return false;
}

/* METHOD SP TARGET SP VERSION, with one blank each. */
static bool parse_first_line(hn_http_parse *p, char *line, size_t n, char **authority)
{
    char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;
    if (strlen(line) != n || !version || strchr(version + 1, ' '))
        return hn_http_parse_refuse(p, 400, "the first line is not a method, a target and a version");
    *target++ = *version++ = 0;
    p->request.method = line;
    if (!is_token(line))
        return hn_http_parse_refuse(p, 400, "the first line does not begin with a method");
    if (!parse_version(p, version))
        return false;
    if (!is_method(line))
        return hn_http_parse_refuse(p, 501, "the method is not one that is known here");
    if (strlen(target) > p->limits.target_bytes)
        return hn_http_parse_refuse(p, 414, "the target is longer than is taken here");
    return parse_target(p, target, authority);
}

/* ---- fields ---- */

static bool parse_field(hn_http_parse *p, char *line, size_t n)
{
    size_t name = 0;
    if (line[0] == ' ' || line[0] == '\t')
        return hn_http_parse_refuse(p, 400, "a field goes on over a second line");
    for (; name < n && hn_http_is_token_char((unsigned char)line[name]); name++)
        line[name] = hn_ascii_lower(line[name]);
    if (!name || name == n || line[name] != ':')
        return hn_http_parse_refuse(p, 400, "a field does not begin with a name and a colon");
    size_t from = name + 1;
    for (size_t i = from; i < n; i++)
        if (!hn_http_is_value_char((unsigned char)line[i]))
            return hn_http_parse_refuse(p, 400, "a field has a control character");
    while (from < n && (line[from] == ' ' || line[from] == '\t'))
        from++;
    while (n > from && (line[n - 1] == ' ' || line[n - 1] == '\t'))
        n--;
    line[name] = line[n] = 0;
    p->fields[p->request.n_fields++] = (hn_http_field){ .name = line, .value = line + from };
    return true;
}

/* Where there are two of these, two readers may take one each. */
static bool no_field_twice(hn_http_parse *p)
{
    static const char *const single[] = { "host", "content-length", "transfer-encoding", "content-type", "authorization",
                                          "x-api-key", "origin", "expect", "content-encoding" };
    for (size_t k = 0; k < sizeof single / sizeof *single; k++) {
        int n = 0;
        for (size_t i = 0; i < p->request.n_fields; i++)
            n += !strcmp(p->fields[i].name, single[k]);
        if (n > 1)
            return hn_http_parse_refuse(p, 400, "a field stands there twice that may stand there once");
    }
    return true;
}

/* How often a list, parted by commas, has a word. */
static int list_count(const char *list, const char *word)
{
    const size_t n = strlen(word);
    int times = 0;
    for (;;) {
        list += strspn(list, " \t");
        size_t here = strcspn(list, ",");
        const char *next = list + here;
        while (here && (list[here - 1] == ' ' || list[here - 1] == '\t'))
            here--;
        times += here == n && hn_ascii_same_n(list, word, n);
        if (!*next)
            return times;
        list = next + 1;
    }
}

static bool asks_for(const hn_http_parse *p, const char *word)
{
    for (size_t i = 0; i < p->request.n_fields; i++)
        if (!strcmp(p->fields[i].name, "connection") && list_count(p->fields[i].value, word))
            return true;
    return false;
}

/* Either the field or the target names the host; both have to be the same. */
static bool check_host(hn_http_parse *p, const char *authority)
{
    const char *host = hn_http_find_field(&p->request, "host");
    if (!host && p->is_1_1)
        return hn_http_parse_refuse(p, 400, "there is no Host");
    if (host && !is_authority(host, strlen(host)))
        return hn_http_parse_refuse(p, 400, "the Host is no host");
    if (authority && (!is_authority(authority, strlen(authority)) || (host && !hn_ascii_same(host, authority))))
        return hn_http_parse_refuse(p, 400, "the target's host is not the one of the field Host");
    return true;
}

/* ---- how long the body is ---- */

/* "chunked" alone is understood. What ends in another coding has no end that can be told. */
static bool check_coding(hn_http_parse *p, const char *coding, const char *length)
{
    const char *last = strrchr(coding, ',');
    const char *word = last ? last + 1 + strspn(last + 1, " \t") : coding;
    if (!p->is_1_1)
        return hn_http_parse_refuse(p, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (length)
        return hn_http_parse_refuse(p, 400, "both Content-Length and Transfer-Encoding are given");
    if (!hn_ascii_same(word, "chunked"))
        return hn_http_parse_refuse(p, 400, "Transfer-Encoding does not end in chunked");
    if (last && (coding[0] == ',' || list_count(coding, "chunked") != 1))
        return hn_http_parse_refuse(p, 400, "Transfer-Encoding has chunked before its end");
    if (last)
        return hn_http_parse_refuse(p, 501, "no Transfer-Encoding but chunked is understood here");
    p->is_chunked = true;
    return true;
}

static bool parse_length(hn_http_parse *p, const char *text)
{
    size_t length = 0;
    const size_t n = strspn(text, "0123456789");
    if (!n || text[n])
        return hn_http_parse_refuse(p, 400, "Content-Length is not one number");
    text += strspn(text, "0");
    if (strlen(text) > MOST_DIGITS)
        return hn_http_parse_refuse(p, 413, "the body is larger than is taken here");
    for (const char *c = text; *c; c++)
        length = 10 * length + (size_t)(*c - '0');
    p->left = length;
    return true;
}

static bool check_length(hn_http_parse *p)
{
    const char *coding = hn_http_find_field(&p->request, "transfer-encoding");
    const char *length = hn_http_find_field(&p->request, "content-length");
    const char *content = hn_http_find_field(&p->request, "content-encoding");
    const char *method = p->request.method;
    const bool has_body = !strcmp(method, "POST") || !strcmp(method, "PUT") || !strcmp(method, "PATCH");
    if (coding && !check_coding(p, coding, length))
        return false;
    if (length && !parse_length(p, length))
        return false;
    if (!coding && !length && has_body && !p->is_1_1)
        return hn_http_parse_refuse(p, 411, "HTTP/1.0 tells a body's length by Content-Length");
    if (content && !hn_ascii_same(content, "identity"))
        return hn_http_parse_refuse(p, 415, "no Content-Encoding is understood here");
    return true;
}

static bool check_expectation(hn_http_parse *p)
{
    const char *expect = hn_http_find_field(&p->request, "expect");
    if (expect && !hn_ascii_same(expect, "100-continue"))
        return hn_http_parse_refuse(p, 417, "Expect is understood as 100-continue alone");
    p->wants_continue = expect && p->is_1_1 && (p->is_chunked || p->left);
    return true;
}

/* ---- all of it ---- */

static char *end_line(char *line, size_t *n)
{
    char *end = strstr(line, "\r\n");
    if (!end) { /* a NUL hides it: the line is not text */
        *n = 0;
        return NULL;
    }
    *n = (size_t)(end - line);
    *end = 0;
    return end + 2;
}

static bool make_fields(hn_http_parse *p)
{
    size_t lines = 0;
    for (size_t i = 0; i < p->head_bytes; i++)
        lines += p->head[i] == '\n';
    if (lines - 2 > p->limits.fields) /* the first and the empty one */
        return hn_http_parse_refuse(p, 431, "there are more fields than are taken here");
    p->fields = hn_alloc_array(p->heap, HN_TAG_TEXT, lines, sizeof *p->fields);
    p->request.fields = p->fields;
    return p->fields || hn_http_parse_refuse(p, 503, "there is no memory for the request");
}

static bool parse_lines(hn_http_parse *p, char **authority)
{
    size_t n;
    char *line = p->head, *next = end_line(line, &n);
    if (!next)
        return hn_http_parse_refuse(p, 400, "the first line has a NUL");
    if (!parse_first_line(p, line, n, authority))
        return false;
    for (line = next; (next = end_line(line, &n)) != NULL && n; line = next)
        if (!parse_field(p, line, n))
            return false;
    return next || hn_http_parse_refuse(p, 400, "a field has a NUL");
}

bool hn_http_parse_head(hn_http_parse *p)
{
    char *authority = NULL;
    p->request = (hn_http_request){ .method = "-", .path = "-", .query = "", .body = "" };
    if (!make_fields(p) || !parse_lines(p, &authority) || !no_field_twice(p) || !check_host(p, authority) ||
        !check_length(p) || !check_expectation(p))
        return false;
    p->keeps_alive = p->is_1_1 ? !asks_for(p, "close") : asks_for(p, "keep-alive") && !asks_for(p, "close");
    return true;
}
