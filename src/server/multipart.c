/* A cursor through the body, which is never copied: a boundary is looked for, a head is read strictly, and what
 * lies between is the part. Whatever the form does not allow is refused, since another reader might take it
 * otherwise. */
#include "server/multipart.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include "server/http_parse.h"

#include <string.h>

/* ---- "name=value" and "name=\"value\"" behind semicolons ---- */

typedef struct words {
    const char *at, *end;
} words;

typedef struct parameter {
    const char *name;
    size_t name_bytes;
    char value[HN_PART_NAME];
} parameter;

static void skip_blanks(words *w)
{
    while (w->at < w->end && (*w->at == ' ' || *w->at == '\t'))
        w->at++;
}

static size_t token(words *w)
{
    const char *from = w->at;
    while (w->at < w->end && hn_http_is_token_char((unsigned char)*w->at))
        w->at++;
    return (size_t)(w->at - from);
}

/* A backslash takes away the meaning of a quote or of itself; before anything else it is one: names of files of
 * Windows come so. */
static bool quoted(words *w, char value[HN_PART_NAME])
{
    size_t n = 0;
    for (w->at++; w->at < w->end && *w->at != '"'; w->at++) {
        if (*w->at == '\\' && w->at + 1 < w->end && (w->at[1] == '"' || w->at[1] == '\\'))
            w->at++;
        if (n + 1 == HN_PART_NAME || !hn_http_is_value_char((unsigned char)*w->at))
            return false;
        value[n++] = *w->at;
    }
    value[n] = 0;
    return w->at < w->end && *w->at++ == '"';
}

static bool plain(words *w, char value[HN_PART_NAME])
{
    const char *from = w->at;
    const size_t n = token(w);
    if (!n || n >= HN_PART_NAME)
        return false;
    memcpy(value, from, n);
    value[n] = 0;
    return true;
}

/* False: there is none, or it is malformed, and then something is left of the words. */
static bool next_parameter(words *w, parameter *p)
{
    skip_blanks(w);
    if (w->at == w->end || *w->at != ';')
        return false;
    w->at++;
    skip_blanks(w);
    p->name = w->at;
    p->name_bytes = token(w);
    if (!p->name_bytes || w->at == w->end || *w->at != '=') {
        w->at = p->name - 1;
        return false;
    }
    w->at++;
    const bool is_good = w->at < w->end && (*w->at == '"' ? quoted(w, p->value) : plain(w, p->value));
    if (!is_good)
        w->at = p->name - 1;
    return is_good;
}

static bool is_named(const parameter *p, const char *name)
{
    return p->name_bytes == strlen(name) && hn_ascii_same_n(p->name, name, p->name_bytes);
}

static bool is_utf8(const char *text)
{
    const size_t bytes = strlen(text);
    for (size_t at = 0, n; at < bytes; at += n)
        if (!(n = hn_utf8_length(text + at, bytes - at)))
            return false;
    return true;
}

/* ---- the body ---- */

static bool is_boundary(const char *text)
{
    const size_t n = strlen(text);
    for (const char *c = text; *c; c++) {
        const char low = hn_ascii_lower(*c);
        if (!((low >= 'a' && low <= 'z') || (*c >= '0' && *c <= '9') || strchr("'()+_,-./:=? ", *c)))
            return false;
    }
    return n && n <= HN_MULTIPART_BOUNDARY && text[n - 1] != ' ';
}

hn_status hn_multipart_begin(hn_multipart *m, const char *type, const char *body, size_t n)
{
    static const char kind[] = "multipart/form-data";
    parameter p, boundary = { 0 };
    int n_boundaries = 0;
    *m = (hn_multipart){ 0 };
    HN_REQUIRE(hn_ascii_same_n(type, kind, sizeof kind - 1), HN_ERR_FORMAT, "expected multipart/form-data, found %.80s", type);
    words w = { type + sizeof kind - 1, type + strlen(type) };
    while (next_parameter(&w, &p))
        if (is_named(&p, "boundary")) {
            boundary = p;
            n_boundaries++;
        }
    HN_REQUIRE(w.at == w.end, HN_ERR_FORMAT, "the Content-Type is malformed from %.40s on", w.at);
    HN_REQUIRE(n_boundaries == 1 && is_boundary(boundary.value), HN_ERR_FORMAT,
               "the Content-Type has no boundary of 1 to %d characters", HN_MULTIPART_BOUNDARY);
    memcpy(m->mark, "\r\n--", 4);
    memcpy(m->mark + 4, boundary.value, strlen(boundary.value) + 1);
    m->mark_bytes = 4 + strlen(boundary.value);
    HN_REQUIRE(n >= m->mark_bytes - 2 && !memcmp(body, m->mark + 2, m->mark_bytes - 2), HN_ERR_FORMAT,
               "the form does not begin with its boundary");
    m->at = body + m->mark_bytes - 2;
    m->end = body + n;
    return HN_OK;
}

static const char *find(const char *at, const char *end, const char *what, size_t n)
{
    while ((size_t)(end - at) >= n && (at = memchr(at, what[0], (size_t)(end - at) - n + 1)) != NULL) {
        if (!memcmp(at, what, n))
            return at;
        at++;
    }
    return NULL;
}

/* ---- a part's head ---- */

static hn_status read_disposition(words *w, hn_part *out, int i)
{
    parameter p;
    int n_names = 0, n_files = 0;
    const char *kind = w->at;
    const size_t n = token(w);
    HN_REQUIRE(n == 9 && hn_ascii_same_n(kind, "form-data", 9), HN_ERR_FORMAT, "part %d: its Content-Disposition is no form-data", i);
    while (next_parameter(w, &p)) {
        HN_REQUIRE(is_utf8(p.value), HN_ERR_FORMAT, "part %d: its Content-Disposition is not UTF-8", i);
        if (is_named(&p, "name")) {
            memcpy(out->name, p.value, sizeof out->name);
            n_names++;
        } else if (is_named(&p, "filename")) {
            memcpy(out->file, p.value, sizeof out->file);
            n_files++;
        }
        out->is_file = out->is_file || is_named(&p, "filename") || is_named(&p, "filename*");
    }
    skip_blanks(w);
    HN_REQUIRE(w->at == w->end, HN_ERR_FORMAT, "part %d: its Content-Disposition is malformed, or longer than %d bytes", i,
               HN_PART_NAME - 1);
    HN_REQUIRE(n_names == 1 && *out->name && n_files < 2, HN_ERR_FORMAT, "part %d: expected one name", i);
    return HN_OK;
}

static hn_status read_type(const words *w, hn_part *out, int i)
{
    size_t n = (size_t)(w->end - w->at);
    while (n && (w->at[n - 1] == ' ' || w->at[n - 1] == '\t'))
        n--;
    HN_REQUIRE(n < HN_PART_NAME && !out->type[0], HN_ERR_FORMAT, "part %d: expected one Content-Type of at most %d bytes", i,
               HN_PART_NAME - 1);
    memcpy(out->type, w->at, n);
    out->type[n] = 0;
    return HN_OK;
}

static bool is_as_it_is(const words *w)
{
    static const char *const plain_ones[] = { "7bit", "8bit", "binary" };
    for (size_t i = 0; i < sizeof plain_ones / sizeof *plain_ones; i++) {
        const size_t n = strlen(plain_ones[i]);
        if ((size_t)(w->end - w->at) == n && hn_ascii_same_n(w->at, plain_ones[i], n))
            return true;
    }
    return false;
}

static hn_status read_line(words w, hn_part *out, int i)
{
    const char *name = w.at;
    const size_t n = token(&w);
    HN_REQUIRE(n && w.at < w.end && *w.at == ':', HN_ERR_FORMAT, "part %d: a line of its head has no name and colon", i);
    w.at++;
    skip_blanks(&w);
    for (const char *c = w.at; c < w.end; c++)
        HN_REQUIRE(hn_http_is_value_char((unsigned char)*c), HN_ERR_FORMAT, "part %d: its head has a control character", i);
    if (n == 19 && hn_ascii_same_n(name, "content-disposition", n)) {
        HN_REQUIRE(!out->name[0], HN_ERR_FORMAT, "part %d: has two Content-Dispositions", i);
        return read_disposition(&w, out, i);
    }
    if (n == 12 && hn_ascii_same_n(name, "content-type", n))
        return read_type(&w, out, i);
    const bool is_encoding = n == 25 && hn_ascii_same_n(name, "content-transfer-encoding", n);
    HN_REQUIRE(!is_encoding || is_as_it_is(&w), HN_ERR_FORMAT, "part %d: is encoded; expected its bytes as they are", i);
    return HN_OK;
}

/* Leaves m->at behind the empty line. */
static hn_status read_head(hn_multipart *m, hn_part *out)
{
    const char *from = m->at;
    for (;;) {
        const char *end = find(m->at, m->end, "\r\n", 2);
        HN_REQUIRE(end && end - from < HN_PART_HEAD, HN_ERR_FORMAT, "part %d: its head has no end within %d bytes", m->n_parts,
                   HN_PART_HEAD);
        const words line = { m->at, end };
        m->at = end + 2;
        if (line.at == line.end)
            break;
        HN_TRY(read_line(line, out, m->n_parts));
    }
    HN_REQUIRE(out->name[0], HN_ERR_FORMAT, "part %d: has no Content-Disposition", m->n_parts);
    return HN_OK;
}

hn_status hn_multipart_next(hn_multipart *m, hn_part *out, bool *is_there)
{
    const size_t left = (size_t)(m->end - m->at);
    *out = (hn_part){ 0 };
    *is_there = false;
    if (left >= 2 && !memcmp(m->at, "--", 2)) {
        HN_REQUIRE(left == 2 || (left == 4 && !memcmp(m->at + 2, "\r\n", 2)), HN_ERR_FORMAT,
                   "behind the form's last boundary stand %zu bytes", left - 2);
        HN_REQUIRE(m->n_parts, HN_ERR_FORMAT, "the form has no part");
        return HN_OK;
    }
    HN_REQUIRE(left >= 2 && !memcmp(m->at, "\r\n", 2), HN_ERR_FORMAT, "a boundary of the form does not end its line");
    m->at += 2;
    m->n_parts++;
    HN_TRY(read_head(m, out));
    /* A part without bytes ends where its head does: that line's end is the mark's. */
    const char *mark = find(m->at - 2, m->end, m->mark, m->mark_bytes);
    HN_REQUIRE(mark, HN_ERR_FORMAT, "part %d: has no end", m->n_parts);
    out->bytes = m->at;
    out->n = mark < m->at ? 0 : (size_t)(mark - m->at);
    m->at = mark + m->mark_bytes;
    *is_there = true;
    return HN_OK;
}
