/* What a request's body may say: every row of every table does what it says, and stands in docs/http.md as it is; nothing else
 * stands there; and what the clients' own types have has a row. --print writes the page's tables. */
#include "base/file.h"
#include "server/fields.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

static hn_heap heap;

static const char *use_word(hn_use use)
{
    static const char *const words[] = { "done", "done", "harmless", "harmless", "refused" };
    return words[use];
}

/* "a", 1, true, [], {}, and what is no integer. */
static const struct {
    hn_kinds kind;
    const char *json;
} samples[] = { { HN_IS_BOOL, "true" },  { HN_IS_INT, "1" }, { HN_IS_NUMBER, "0.5" }, { HN_IS_TEXT, "\"a\"" },
                { HN_IS_ARRAY, "[]" }, { HN_IS_OBJECT, "{}" } };
enum { N_SAMPLES = sizeof samples / sizeof *samples };

/* The names of a row, or the values that are told by name, as the page has code. */
static void names_text(hn_field_names *names, const char *quote, hn_str *out)
{
    const char *name;
    for (size_t i = 0; (name = names(i)); i++)
        hn_str_print(out, "%s`%s%s%s`", i ? ", " : "", quote, hn_field_key_of(name).text, quote);
}

static void row_text(const hn_field *f, hn_str *out)
{
    char kinds[80] = "";
    if (f->use == HN_USE_NAMED && f->names) {
        hn_str_print(out, "| `%s` | done | ", f->name);
        names_text(f->names, "\"", out);
        hn_str_print(out, " | %s |", f->note);
        return;
    }
    if (f->use == HN_USE_NAMED) {
        char values[200];
        size_t n = 0;
        for (const char *v = f->values; *v && n + 8 < sizeof values; v++) /* parted by blanks, as the page has code */
            n += (size_t)snprintf(values + n, sizeof values - n, *v == ' ' ? "`, `" : "%c", *v);
        hn_str_print(out, "| `%s` | done | `%s` | %s |", f->name, values, f->note);
        return;
    }
    if (f->use != HN_USE_REFUSED)
        hn_kinds_text(f->kinds, kinds, sizeof kinds);
    hn_str_add(out, "| ");
    if (f->name)
        hn_str_print(out, "`%s`", f->name);
    else
        names_text(f->names, "", out);
    hn_str_print(out, " | %s | %s", use_word(f->use), kinds);
    if (f->high != 0)
        hn_str_print(out, ", %.15g to %.15g", f->low, f->high);
    hn_str_print(out, " | %s |", f->note);
}

static void print_page(void)
{
    const hn_fields *t;
    for (size_t i = 0; (t = hn_fields_at(i)); i++) {
        printf("### %s\n\n| field | | takes | |\n|---|---|---|---|\n", t->api);
        for (size_t k = 0; k < t->n; k++) {
            hn_str row = hn_str_on(&heap);
            row_text(&t->of[k], &row);
            printf("%s\n", row.text);
            hn_str_free(&row);
        }
        printf("\n");
    }
}

/* The rows of a table stand after its title, one after the other, and then an empty line. */
static void check_page(const char *page, const hn_fields *t)
{
    char title[120];
    snprintf(title, sizeof title, "\n### %s\n\n| field | | takes | |\n|---|---|---|---|\n", t->api);
    const char *at = strstr(page, title);
    if (!CHECK(at != NULL)) {
        fprintf(stderr, "docs/http.md has no table of %s\n", t->api);
        return;
    }
    at += strlen(title);
    for (size_t k = 0; k < t->n; k++) {
        hn_str row = hn_str_on(&heap);
        row_text(&t->of[k], &row);
        const bool is_there = !strncmp(at, row.text, row.length) && at[row.length] == '\n';
        if (!CHECK(is_there))
            fprintf(stderr, "docs/http.md, %s: expected the line %s\n", t->api, row.text);
        hn_str_free(&row);
        at = strchr(at, '\n');
        if (!at++)
            return;
    }
    CHECK(*at == '\n' || !*at);
}

static bool takes(const hn_fields *t, const char *body, hn_failure *why)
{
    hn_json_text *text = NULL;
    *why = (hn_failure){ .kind = HN_REFUSED_NOT };
    if (!CHECK_OK(hn_json_read(&heap, "body", body, strlen(body), &text)))
        return false;
    const bool is_well = hn_fields_check(t, hn_json_root(text), why);
    hn_json_free(text);
    CHECK(is_well == (why->kind == HN_REFUSED_NOT));
    return is_well;
}

static bool takes_value(const hn_fields *t, const hn_field *f, const char *json, hn_failure *why)
{
    char body[200];
    snprintf(body, sizeof body, "{\"%s\":%s}", f->name, json);
    const bool is_well = takes(t, body, why);
    if (!is_well)
        CHECK(!strcmp(why->param, f->name) && strstr(why->message, f->name));
    return is_well;
}

static void try_named(const hn_fields *t, const hn_field *f)
{
    char value[64];
    hn_failure why;
    const char *name;
    for (size_t i = 0; f->names && (name = f->names(i)); i++) {
        snprintf(value, sizeof value, "\"%s\"", name);
        CHECK(takes_value(t, f, value, &why));
        snprintf(value, sizeof value, "\"%sx\"", name);
        CHECK(!takes_value(t, f, value, &why) && strstr(why.message, name));
    }
    for (const char *at = f->values ? f->values : ""; *at;) {
        const size_t n = strcspn(at, " ");
        snprintf(value, sizeof value, "%.*s", (int)n, at);
        CHECK(takes_value(t, f, value, &why));
        at += n + strspn(at + n, " ");
    }
    CHECK(!takes_value(t, f, "\"no such value\"", &why));
    CHECK(!takes_value(t, f, "{}", &why));
    CHECK(!takes_value(t, f, "17", &why));
}

static void try_range(const hn_fields *t, const hn_field *f)
{
    char value[64];
    hn_failure why;
    if (f->high == 0 || !(f->kinds & (HN_IS_INT | HN_IS_NUMBER)))
        return;
    snprintf(value, sizeof value, "%.17g", f->low);
    CHECK(takes_value(t, f, value, &why));
    snprintf(value, sizeof value, "%.17g", f->low - 1);
    CHECK(!takes_value(t, f, value, &why));
    if (f->high > 1e15)
        return;
    snprintf(value, sizeof value, "%.17g", f->high);
    CHECK(takes_value(t, f, value, &why));
    snprintf(value, sizeof value, "%.17g", f->high + 1);
    CHECK(!takes_value(t, f, value, &why));
}

static void try_kinds(const hn_fields *t, const hn_field *f)
{
    hn_failure why;
    for (int i = 0; i < N_SAMPLES; i++) {
        const hn_kinds kind = samples[i].kind;
        const bool fits = (f->kinds & kind) || (kind == HN_IS_INT && (f->kinds & HN_IS_NUMBER));
        const double value = kind == HN_IS_INT ? 1 : 0.5; /* as in the sample */
        const bool is_number = kind == HN_IS_INT || kind == HN_IS_NUMBER;
        const bool lies_in = !is_number || f->high == 0 || (value >= f->low && value <= f->high);
        CHECK(takes_value(t, f, samples[i].json, &why) == (fits && lies_in));
        if (!fits)
            CHECK(why.kind == HN_REFUSED_INVALID);
    }
}

/* At most 16 of them, texts of at most 512 bytes. */
static void try_labels(const hn_fields *t, const hn_field *f)
{
    hn_failure why;
    hn_str body = hn_str_on(&heap);
    CHECK(takes_value(t, f, "{\"a\":\"b\",\"c\":\"\"}", &why));
    CHECK(!takes_value(t, f, "{\"a\":1}", &why) && !takes_value(t, f, "{\"a\":null}", &why));
    for (int n = 16; n <= 17; n++) {
        hn_str_clear(&body);
        hn_str_print(&body, "{\"%s\":{", f->name);
        for (int i = 0; i < n; i++)
            hn_str_print(&body, "%s\"k%d\":\"v\"", i ? "," : "", i);
        hn_str_add(&body, "}}");
        CHECK(takes(t, body.text, &why) == (n == 16));
    }
    for (int n = 512; n <= 513; n++) {
        hn_str_clear(&body);
        hn_str_print(&body, "{\"%s\":{\"a\":\"%0*d\"}}", f->name, n, 0);
        CHECK(takes(t, body.text, &why) == (n == 512));
    }
    for (int n = 64; n <= 65; n++) {
        hn_str_clear(&body);
        hn_str_print(&body, "{\"%s\":{\"%0*d\":\"a\"}}", f->name, n, 0);
        CHECK(takes(t, body.text, &why) == (n == 64));
    }
    hn_str_free(&body);
}

/* Nothing is read past behind one, in a text, in a name or within. */
static void try_nuls(const hn_fields *t, const hn_field *f)
{
    char value[80];
    hn_failure why;
    static const char *const within[] = { "\"a\\u0000b\"", "\"\\u0000\"", "[\"a\\u0000\"]", "[[1,\"a\\u0000b\"]]",
                                          "{\"a\\u0000\":\"b\"}", "{\"a\":\"b\\u0000\"}" };
    for (size_t i = 0; i < sizeof within / sizeof *within; i++)
        CHECK(!takes_value(t, f, within[i], &why));
    const char *end = f->use == HN_USE_NAMED && f->values && f->values[0] == '"' ? strchr(f->values + 1, '"') : NULL;
    if (end) {
        snprintf(value, sizeof value, "%.*s\\u0000x\"", (int)(end - f->values), f->values);
        CHECK(!takes_value(t, f, value, &why));
    }
}

static void try_row(const hn_fields *t, const hn_field *f)
{
    hn_failure why;
    CHECK(takes_value(t, f, "null", &why));
    try_nuls(t, f);
    if (f->use == HN_USE_REFUSED) {
        CHECK(!takes_value(t, f, "1", &why) && why.kind == HN_REFUSED_UNSUPPORTED && strstr(why.message, f->note));
        return;
    }
    if (f->use == HN_USE_NAMED)
        try_named(t, f);
    else {
        try_kinds(t, f);
        try_range(t, f);
    }
    if (f->use == HN_USE_LABELS)
        try_labels(t, f);
}

/* Every name of a row of many; each is one's alone. */
static void try_each(const hn_fields *t, const hn_field *f)
{
    const char *name;
    for (size_t i = 0; (name = f->names(i)); i++) {
        const hn_field_key key = hn_field_key_of(name);
        hn_field one = *f;
        one.name = key.text;
        one.names = NULL;
        try_row(t, &one);
        for (size_t k = 0; k < t->n; k++)
            CHECK(!t->of[k].name || strcmp(t->of[k].name, key.text) != 0);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(f->names(k), name) != 0);
    }
}

static void try_table(const hn_fields *t)
{
    hn_failure why;
    for (size_t i = 0; i < t->n; i++) {
        if (!t->of[i].name) {
            try_each(t, &t->of[i]);
            continue;
        }
        try_row(t, &t->of[i]);
        for (size_t k = 0; k < i; k++)
            CHECK(!t->of[k].name || strcmp(t->of[i].name, t->of[k].name) != 0);
    }
    CHECK(!takes(t, "{\"no_such_field\":1}", &why) && why.kind == HN_REFUSED_UNKNOWN_FIELD && !strcmp(why.param, "no_such_field"));
    CHECK(!takes(t, "{\"model\\u0000\":null,\"\":1}", &why) && why.kind == HN_REFUSED_UNKNOWN_FIELD);
    CHECK(!takes(t, "[]", &why) && why.kind == HN_REFUSED_INVALID);
}

static bool is_of_row(const hn_field *f, const char *field)
{
    const char *name;
    if (f->name)
        return !strcmp(f->name, field);
    for (size_t i = 0; (name = f->names(i)); i++) {
        const hn_field_key key = hn_field_key_of(name);
        if (!strcmp(key.text, field))
            return true;
    }
    return false;
}

static bool has_row(const hn_fields *t, const char *field)
{
    for (size_t i = 0; i < t->n; i++)
        if (is_of_row(&t->of[i], field))
            return true;
    return false;
}

/* What the clients' own types have: tools/reference/client_fields.py. */
static void check_clients(const hn_json *fields)
{
    CHECK(fields && fields->kind == HN_JSON_OBJECT && fields->as.children.n > 20);
    for (const hn_json *table = fields ? fields->as.children.first : NULL; table; table = table->next) {
        const hn_fields *t;
        size_t i = 0;
        while ((t = hn_fields_at(i)) && strcmp(t->api, table->key) != 0)
            i++;
        if (!CHECK_THAT(t != NULL, "%s: there is no such table", table->key))
            continue;
        for (const hn_json *name = table->as.children.first; name; name = name->next)
            CHECK_THAT(has_row(t, name->as.string.text), "%s: a client can say %s, which has no row", t->api, name->as.string.text);
    }
}

int main(int argc, char **argv)
{
    void *page, *clients;
    size_t bytes;
    hn_json_text *read = NULL;
    const hn_fields *t;
    hn_heap_init(&heap, NULL);
    if (argc > 1 && !strcmp(argv[1], "--print")) {
        print_page();
        return 0;
    }
    if (!CHECK_OK(hn_file_read(&heap, HN_SOURCE_DIR "/docs/http.md", 1 << 20, &page, &bytes)))
        return check_close();
    for (size_t i = 0; (t = hn_fields_at(i)); i++) {
        check_page(page, t);
        try_table(t);
    }
    hn_free(&heap, page);
    if (CHECK_OK(hn_file_read(&heap, HN_SOURCE_DIR "/tests/unit/client_fields.json", 1 << 20, &clients, &bytes))) {
        if (CHECK_OK(hn_json_read(&heap, "client_fields.json", clients, bytes, &read)))
            check_clients(hn_json_get(hn_json_root(read), "fields"));
        hn_json_free(read);
        hn_free(&heap, clients);
    }
    return check_close();
}
