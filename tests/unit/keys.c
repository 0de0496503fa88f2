/* Names of keys in rows: alternatives whole, stars at their ends alone, the first row that fits. */
#include "nn/keys.h"
#include "tests/harness/check.h"

#include <string.h>

static const hn_key_row own[] = {
    { .name = "size|width", .is = HN_IS_INT, .gguf = "size|width" },
    { .name = "note", .is = HN_IS_ANY, .gguf = "general.*|split.no", .note = "a note" },
    { 0 },
};
static const hn_key_row shared[] = {
    { .name = "width", .is = HN_IS_INT, .note = "never reached", .gguf = "width" },
    { .name = "of_a", .is = HN_IS_INT, .of = "A", .gguf = "general.type" },
    { 0 },
};
static const hn_key_row *const tables[] = { own, shared, NULL };

static void check_gguf(void)
{
    check_group("GGUF");
    static const struct {
        const char *name;
        const hn_key_row *row;
    } cases[] = {
        { "size", &own[0] },         { "width", &own[0] },           { "siz", NULL },
        { "sizes", NULL },           { "size|width", NULL },         { "idth", NULL },
        { "general.name", &own[1] }, { "general.a.b", &own[1] },     { "general.", NULL },
        { "general", NULL },         { "generals.name", NULL },      { "x.general.name", NULL },
        { "split.no", &own[1] },     { "split.no.more", NULL },      { "split.n", NULL },
        { "", NULL },                { "*", NULL },                  { "general.type", &own[1] },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_THAT(hn_key_of_gguf(tables, cases[i].name) == cases[i].row, "\"%s\" has another row",
                   cases[i].name);
}

static void check_config(void)
{
    check_group("config.json");
    CHECK(hn_key_named(tables, "AModel", "width") == &own[0]);
    CHECK(hn_key_named(tables, "AModel", "size") == &own[0]);
    CHECK(hn_key_named(tables, "AModel", "wid") == NULL);
    CHECK(hn_key_named(tables, "AModel", "widths") == NULL);
    CHECK(hn_key_named(tables, "AModel", "size|width") == NULL);
    CHECK(hn_key_named(tables, "AModel", "of_a") == &shared[1]);
    CHECK(hn_key_named(tables, "BModel", "of_a") == NULL); /* a row of another class */
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_gguf();
    check_config();
    return check_close();
}
