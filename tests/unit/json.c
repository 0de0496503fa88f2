/* JSON and growing strings: what is read is what was written; malformed text is refused at its
 * byte; every allocation may fail. */
#include "base/json.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static hn_heap heap;

static hn_status read_text(const char *text, hn_json_text **out)
{
    return hn_json_read(&heap, "t", text, strlen(text), out);
}

static void refuses(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "byte 0: expected a value, found the end" },
        { "  ", "byte 2" },
        { "[1,]", "byte 3: expected a value, found ']'" },
        { "[1 2]", "byte 3: expected ',' or ']'" },
        { "{\"a\" 1}", "byte 5: expected ':'" },
        { "{a:1}", "byte 1: expected a key" },
        { "{\"a\":1,}", "byte 7: expected a key" },
        { "{\"a\":1]", "byte 6: expected ',' or '}'" },
        { "[", "found the end" },
        { "nul", "byte 3: expected null, found the end" },
        { "truth", "byte 3" },
        { "01", "leading zero" },
        { "-", "a digit" },
        { "+1", "a value" },
        { "1.", "after the point" },
        { ".5", "a value" },
        { "1e", "exponent" },
        { "1e999", "out of range" },
        { "NaN", "a value" },
        { "\"", "closing quote" },
        { "\"a\nb\"", "closing quote" },
        { "\"\\x\"", "an escape" },
        { "\"\\u12g4\"", "hexadecimal" },
        { "\"\\ud800\"", "low surrogate" },
        { "\"\\ud800\\u0041\"", "low surrogate" },
        { "\"\\udc00\"", "high surrogate" },
        { "\"\xff\"", "UTF-8, found byte 0xff" },
        { "\"\xc0\x80\"", "UTF-8" },
        { "\"\xed\xa0\x80\"", "UTF-8" },
        { "\"\xe2\x82", "UTF-8" },
        { "1 1", "byte 2: expected the end" },
        { "// x\n1", "a value" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_json_text *text = NULL;
        CHECK_FAILS(read_text(cases[i].text, &text), HN_ERR_FORMAT, cases[i].words);
        CHECK(text == NULL);
    }
    char deep[2 * HN_JSON_MAX_DEPTH + 3] = "";
    hn_json_text *text = NULL;
    memset(deep, '[', HN_JSON_MAX_DEPTH + 1);
    CHECK_FAILS(read_text(deep, &text), HN_ERR_FORMAT, "nested deeper than 64");
    memset(deep, '[', HN_JSON_MAX_DEPTH);
    memset(deep + HN_JSON_MAX_DEPTH, ']', HN_JSON_MAX_DEPTH);
    CHECK_OK(read_text(deep, &text));
    hn_json_free(text);
    char digits[600];
    memset(digits, '1', sizeof digits);
    CHECK_FAILS(hn_json_read(&heap, "t", digits, sizeof digits, &text), HN_ERR_FORMAT,
                "600 characters");
}

static void reads(void)
{
    hn_json_text *text = NULL;
    CHECK_OK(read_text(
        " { \"a\" : [ 1 , -2.5e1 , true , null , [ ] , { } ] ,\n\"b\\u00e9\\ud83d\\ude00\" : "
        "\"x\\\"\\n\\u0000y\", \"big\": 9223372036854775807, \"over\": "
        "9223372036854775808, \"z\": -0 } ",
        &text));
    if (!text)
        return;
    hn_json_text *twice = NULL;
    CHECK_FAILS(read_text("{\"x\":{\"a\":1,\"b\":2,\"\\u0061\":3}}", &twice), HN_ERR_FORMAT,
                "key \"a\" is given twice in one object");
    char many[4000] = "{";
    for (int i = 0; i < 200; i++)
        snprintf(many + strlen(many), 16, "\"k%d\":%d,", i, i);
    snprintf(many + strlen(many), 16, "\"k77\":0}");
    CHECK_FAILS(read_text(many, &twice), HN_ERR_FORMAT, "key \"k77\" is given twice");
    snprintf(many + strlen(many) - 8, 16, "\"k200\":0}");
    if (CHECK_OK(read_text(many, &twice)))
        hn_json_free(twice);
    const hn_json *root = hn_json_root(text), *a = hn_json_get(root, "a");
    int64_t integer = 0;
    double number = 0;
    bool flag = false;
    const char *string = NULL;
    CHECK_INT(5, (int64_t)root->as.children.n);
    CHECK_INT(6, (int64_t)a->as.children.n);
    CHECK_OK(hn_json_want_int(hn_json_at(a, 0), "a", &integer));
    CHECK_INT(1, integer);
    CHECK_OK(hn_json_want_double(hn_json_at(a, 1), "a", &number));
    CHECK(number == -25);
    CHECK_OK(hn_json_want_bool(hn_json_at(a, 2), "a", &flag));
    CHECK(flag);
    CHECK_INT(HN_JSON_NULL, hn_json_at(a, 3)->kind);
    CHECK_INT(0, (int64_t)hn_json_at(a, 4)->as.children.n);
    CHECK_INT(HN_JSON_OBJECT, hn_json_at(a, 5)->kind);
    CHECK(hn_json_at(a, 6) == NULL && hn_json_at(root, 0) == NULL &&
          hn_json_get(a, "a") == NULL);
    const hn_json *b = hn_json_get(root, "b\xc3\xa9\xf0\x9f\x98\x80");
    CHECK(b && b->as.string.bytes == 5 && !memcmp(b->as.string.text, "x\"\n\0y", 6));
    CHECK_FAILS(hn_json_want_string(b, "b", &string), HN_ERR_FORMAT, "zero byte");
    CHECK_OK(hn_json_want_int(hn_json_get(root, "big"), "big", &integer));
    CHECK_INT(INT64_MAX, integer);
    CHECK_INT(HN_JSON_DOUBLE, hn_json_get(root, "over")->kind);
    CHECK_OK(hn_json_want_double(hn_json_get(root, "z"), "z", &number));
    CHECK(number == 0 && signbit(number));
    CHECK_FAILS(hn_json_want_int(hn_json_get(root, "none"), "layers", &integer), HN_ERR_FORMAT,
                "layers: expected an integer, found nothing");
    CHECK_FAILS(hn_json_want_string(a, "a", &string), HN_ERR_FORMAT, "found an array");
    hn_json_free(text);
}

/* Of every kind, each accessor: what is of its kind as it was read, everything else empty. */
static void holds_what_it_is(void)
{
    const char sample[] = "[null,true,-7,2.5,\"a\\u0000b\",[1,2],{\"k\":3}]";
    hn_json_text *text = NULL;
    CHECK_OK(read_text(sample, &text));
    for (size_t i = 0; text && i <= 7; i++) { /* past the end it is NULL */
        const hn_json *v = hn_json_at(hn_json_root(text), i);
        CHECK_INT(i == 1, hn_json_is_true(v));
        CHECK_INT(i == 2 ? -7 : 0, hn_json_int(v));
        CHECK(hn_json_number(v) == (i == 2 ? -7 : i == 3 ? 2.5 : 0));
        CHECK_INT(i == 4 ? 3 : 0, (int64_t)hn_json_bytes(v));
        CHECK(!memcmp(hn_json_string(v), i == 4 ? "a\0b" : "", i == 4 ? 4 : 1));
        CHECK_INT(i == 5 ? 2 : i == 6 ? 1 : 0, (int64_t)hn_json_count(v));
        CHECK_INT(i == 5 ? 1 : i == 6 ? 3 : 0, hn_json_int(hn_json_first(v)));
    }
    hn_json_free(text);
    const hn_json made = hn_json_of_string("xyz", 2);
    CHECK_INT(HN_JSON_STRING, made.kind);
    CHECK_INT(2, (int64_t)hn_json_bytes(&made));
    CHECK(!strncmp(hn_json_string(&made), "xyz", 3));
}

static void write_all(hn_str *to)
{
    static const double numbers[] = { 0.1, 1e300, -2.5, 3, 5e-324, 1.0 / 3, NAN };
    hn_json_writer w = hn_json_write_to(to);
    hn_json_begin_object(&w);
    hn_json_key(&w, "n");
    hn_json_begin_array(&w);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hn_json_add_double(&w, numbers[i]);
    hn_json_end_array(&w);
    hn_json_key(&w, "s\"\\");
    hn_json_add_string(&w, "tab\t\xc3\xa9\xff\x01");
    hn_json_key(&w, "e");
    hn_json_begin_object(&w);
    hn_json_end_object(&w);
    hn_json_key(&w, "i");
    hn_json_add_int(&w, INT64_MIN);
    hn_json_key(&w, "b");
    hn_json_add_bool(&w, false);
    hn_json_end_object(&w);
}

static void writes(void)
{
    hn_str s = hn_str_on(&heap);
    CHECK_TEXT("", s.text);
    write_all(&s);
    CHECK_OK(hn_str_status(&s));
    CHECK_TEXT("{\"n\":[0.1,1e+300,-2.5,3.0,4.94066e-324,0.3333333333333333,null],"
               "\"s\\\"\\\\\":\"tab\\u0009\xc3\xa9\\ufffd\\u0001\",\"e\":{},"
               "\"i\":-9223372036854775808,\"b\":false}",
               s.text);
    hn_json_text *text = NULL;
    CHECK_OK(hn_json_read(&heap, "t", s.text, s.length, &text));
    const hn_json *n = hn_json_get(text ? hn_json_root(text) : NULL, "n");
    CHECK(n && hn_json_at(n, 4)->as.number == 5e-324 && hn_json_at(n, 5)->as.number == 1.0 / 3);
    hn_json_free(text);
    hn_str_clear(&s);
    CHECK_TEXT("", s.text);
    hn_str_free(&s);
    hn_str_free(&s);
}

static void memory_may_fail(void)
{
    static const char sample[] = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,[\"a\"]]";
    for (int64_t n = 1;; n++) {
        hn_json_text *text = NULL;
        hn_str s = hn_str_on(&heap);
        atomic_store(&heap.fail_at, atomic_load(&heap.n_calls) + n);
        const hn_status status = read_text(sample, &text);
        if (status == HN_OK)
            write_all(&s);
        const bool is_whole = status == HN_OK && s.status == HN_OK;
        CHECK(is_whole || status == HN_ERR_MEMORY || hn_str_status(&s) == HN_ERR_MEMORY);
        atomic_store(&heap.fail_at, 0);
        hn_json_free(text);
        hn_str_free(&s);
        if (is_whole) {
            CHECK(n > 6);
            return;
        }
    }
}

/* Digits beyond a double's are there still, and are written again. */
static void keeps_digits(void)
{
    static const struct {
        const char *text, *source;
    } cases[] = {
        { "18446744073709551615", "18446744073709551615" }, { "-9007199254740993.0", "-9007199254740993.0" },
        { "0.10000000000000000555E-3", "0.10000000000000000555E-3" }, { "0.1", NULL }, { "1e300", NULL },
        { "100000000000000000000000", NULL }, { "0.000000000000000000000123", NULL }, { "9223372036854775807", NULL }, { "-0", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int in_list = 0; in_list < 2; in_list++) { /* the text may end with the number */
            char text[80];
            hn_json_text *json;
            hn_str out = hn_str_on(&heap);
            hn_json_writer w = hn_json_write_to(&out);
            snprintf(text, sizeof text, in_list ? "[%s,\"x\"]" : "%s", cases[i].text);
            if (!CHECK_OK(read_text(text, &json)))
                continue;
            const hn_json *number = in_list ? hn_json_at(hn_json_root(json), 0) : hn_json_root(json);
            const char *source = hn_json_source(number);
            CHECK_THAT(!source == !cases[i].source && (!source || !strcmp(source, cases[i].source)), "%s: found %s", text,
                       source ? source : "none");
            hn_json_add_scalar(&w, number);
            if (cases[i].source)
                CHECK_TEXT(cases[i].source, out.text);
            hn_str_free(&out);
            hn_json_free(json);
        }
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    refuses();
    reads();
    holds_what_it_is();
    keeps_digits();
    writes();
    memory_may_fail();
    hn_json_free(NULL);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
