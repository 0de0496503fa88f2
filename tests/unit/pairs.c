/* Queries and forms as objects: what is read, as what, and what is refused. */
#include "server/pairs.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

static hn_heap heap;

/* The object as it is written; NULL: refused. */
static const char *read_query(const char *query, const hn_fields *fields, const hn_fields *within)
{
    static char out[1024];
    hn_pairs pairs;
    hn_json_text *text = NULL;
    hn_failure why = { .kind = HN_REFUSED_NOT };
    const bool is_well = hn_pairs_of_query(&pairs, &heap, query, &why) && hn_pairs_read(&pairs, fields, within, &text, &why);
    hn_str said = hn_str_on(&heap);
    hn_json_writer w = hn_json_write_to(&said);
    if (is_well)
        hn_json_add_value(&w, hn_json_root(text));
    snprintf(out, sizeof out, "%s", said.text);
    CHECK(is_well == (why.kind == HN_REFUSED_NOT) && is_well == (text != NULL));
    hn_str_free(&said);
    hn_json_free(text);
    hn_pairs_free(&pairs);
    return is_well ? out : NULL;
}

static void gives(const char *query, const char *expected)
{
    const char *found = read_query(query, &hn_fields_files_list, NULL);
    if (!CHECK(found && !strcmp(found, expected)))
        fprintf(stderr, "%s: expected %s, found %s\n", query, expected, found ? found : "a refusal");
}

static void refuses(const char *query) { CHECK(!read_query(query, &hn_fields_files_list, NULL)); }

static void try_nested(void)
{
    const char *found = read_query("metadata[a]=1&limit=2&metadata[b]=x", &hn_fields_jobs_list, NULL);
    CHECK(found && !strcmp(found, "{\"metadata\":{\"a\":\"1\",\"b\":\"x\"},\"limit\":2}"));
    found = read_query("metadata=null", &hn_fields_jobs_list, NULL);
    CHECK(found && !strcmp(found, "{\"metadata\":\"null\"}"));
    found = read_query("expires_after[seconds]=3600&expires_after[anchor]=created_at", &hn_fields_files, &hn_fields_expires_after);
    CHECK(found && !strcmp(found, "{\"expires_after\":{\"seconds\":3600,\"anchor\":\"created_at\"}}"));
    CHECK(!read_query("metadata=a&metadata[b]=c", &hn_fields_jobs_list, NULL));
    CHECK(!read_query("metadata[a]=1&metadata[a]=2", &hn_fields_jobs_list, NULL));
    CHECK(!read_query("metadata[]=1", &hn_fields_jobs_list, NULL));
    CHECK(!read_query("metadata[a=1", &hn_fields_jobs_list, NULL));
}

static void try_many(void)
{
    hn_pairs pairs = { .heap = &heap };
    hn_failure why;
    char name[8] = "a0";
    for (int i = 0; i < HN_MOST_PAIRS; i++) {
        name[1] = (char)('0' + i);
        CHECK(hn_pairs_add(&pairs, name, "v", 1, &why));
    }
    CHECK(!hn_pairs_add(&pairs, "more", "v", 1, &why));
    hn_pairs_free(&pairs);
}

int main(void)
{
    hn_heap_init(&heap, NULL);
    gives("", "{}");
    gives("limit=7&after=a%20b+c", "{\"limit\":7,\"after\":\"a b c\"}");
    gives("after=7&&purpose=", "{\"after\":\"7\",\"purpose\":\"\"}");
    gives("after=%22%5C%c3%a9", "{\"after\":\"\\\"\\\\\xc3\xa9\"}");
    gives("order=asc", "{\"order\":\"asc\"}");
    static const char *const wrong[] = { "limit=x", "limit=007", "limit=-1", "limit=99999999999999999999", "limit=1&limit=1", "order=up", "none=1",
                                         "after=%", "after=%f", "after=%zz", "after=%00", "after=%ff", "%00=1", "=1", "after[a]=1" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses(wrong[i]);
    try_nested();
    try_many();
    CHECK(!heap.live_blocks);
    return check_close();
}
