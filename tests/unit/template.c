/* What templates are refused for, where, and what bounds them. */
#include "text/template/template.h"
#include "tests/harness/check.h"

#include <string.h>

static hn_heap heap;

static hn_status render(const char *source, const hn_template_options *options, hn_str *out)
{
    hn_template *t = NULL;
    const hn_template_input input = { .options =
                                          options ? *options : (hn_template_options){ 0 } };
    HN_TRY(hn_template_parse(&heap, "chat template", source, strlen(source), &t));
    const hn_status status = hn_template_render(t, &input, out, NULL, NULL);
    hn_template_free(t);
    return status;
}

static void refuses(void)
{
    static const struct {
        const char *source;
        hn_status status;
        const char *words;
    } cases[] = {
        { "\n{{ messges[0] }}", HN_ERR_FORMAT, "chat template:2: 'messges' is undefined" },
        { "{{ {}.a.b }}", HN_ERR_FORMAT,
          "chat template:1: 'dict object' has no attribute 'a'" },
        { "{{ none.a.b }}", HN_ERR_FORMAT, "'None' has no attribute 'a'" },
        { "a\n\n{{ raise_exception('roles: ' ~ 2) }}", HN_ERR_ARGUMENT,
          "chat template:3: raised: roles: 2" },
        { "{% if true %}\n", HN_ERR_FORMAT, "chat template:1: Unexpected end of template" },
        { "{{ 1", HN_ERR_FORMAT,
          "unexpected end of template, expected 'end of print statement'" },
        { "\n{% endif %}", HN_ERR_FORMAT, "chat template:2: Encountered unknown tag 'endif'" },
        { "{% for i in [] %}{% endif %}", HN_ERR_FORMAT,
          "looking for the following tags: 'endfor' or 'else'" },
        { "{{ 'abc }}", HN_ERR_FORMAT, "a string that does not end" },
        { "{{ (1] }}", HN_ERR_FORMAT, "unexpected ']'" },
        { "{{ ) }}", HN_ERR_FORMAT, "unexpected ')'" },
        { "{{ 1 ? 2 }}", HN_ERR_FORMAT, "unexpected char '?'" },
        { "{{ }}", HN_ERR_FORMAT, "Expected an expression, got 'end of print statement'" },
        { "{# open", HN_ERR_FORMAT, "Missing end of comment tag" },
        { "{% raw %} x", HN_ERR_FORMAT, "Missing end of raw directive" },
        { "{{ 99999999999999999999 }}", HN_ERR_FORMAT, "an integer beyond 64 bits" },
        { "{{ 9223372036854775807 + 1 }}", HN_ERR_FORMAT, "an integer beyond 64 bits" },
        { "{{ 1 // 0 }}", HN_ERR_FORMAT, "by zero" },
        { "{% set loop = 1 %}{% for loop in [1] %}{% endfor %}", HN_ERR_FORMAT,
          "special loop variable" },
        { "{% set 1 = 2 %}", HN_ERR_FORMAT, "can't assign to 'const'" },
        { "{% break %}", HN_ERR_FORMAT, "'break' outside loop" },
        { "{% for i in [1] %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}",
          HN_ERR_FORMAT, "'continue' outside loop" },
        { "{% include 'x' %}", HN_ERR_UNSUPPORTED,
          "chat template:1: {% include %} is not for chat templates" },
        { "{% extends 'x' %}", HN_ERR_UNSUPPORTED, "extends" },
        { "{% import 'x' as y %}", HN_ERR_UNSUPPORTED, "import" },
        { "{% block x %}{% endblock %}", HN_ERR_UNSUPPORTED, "block" },
        { "{{ lipsum() }}", HN_ERR_UNSUPPORTED, "lipsum()" },
        { "{{ [1]|random }}", HN_ERR_UNSUPPORTED, "random" },
        { "{{ x|nosuch }}", HN_ERR_FORMAT, "No filter named 'nosuch'." },
        { "{{ x is nosuch }}", HN_ERR_FORMAT, "No test named 'nosuch'." },
        { "{% if 1 %}{{ 1|nosuch }}{% endif %}", HN_ERR_FORMAT,
          "No filter named 'nosuch' found." },
        { "{{ [1].append(2) }}", HN_ERR_FORMAT,
          "access to attribute 'append' of 'list' object is unsafe." },
        { "{{ {}.update({}) }}", HN_ERR_FORMAT,
          "attribute 'update' of 'dict' object is unsafe" },
        { "{{ ''.__class__() }}", HN_ERR_FORMAT,
          "attribute '__class__' of 'str' object is unsafe" },
        { "{% set n = namespace() %}{% set n._x = 1 %}", HN_ERR_FORMAT, "underscore-prefixed" },
        { "{% set d = {} %}{% set d.x = 1 %}", HN_ERR_FORMAT, "non-namespace object" },
        { "{{ 5() }}", HN_ERR_FORMAT, "'int' object is not callable" },
        { "{% for i in 5 %}{% endfor %}", HN_ERR_FORMAT, "'int' object is not iterable" },
        { "{% for i in [1] %}{{ loop([]) }}{% endfor %}", HN_ERR_FORMAT, "'recursive' marker" },
        { "{{ 'a'|map('upper') }}", HN_ERR_FORMAT, "add |list or |join" },
        { "{{ 'a'.encode() }}", HN_ERR_UNSUPPORTED, "encode()" },
        { "{{ '%d' % 'x' }}", HN_ERR_FORMAT, "%d format: a real number is required, not str" },
        { "{{ '{}{}'.format(1) }}", HN_ERR_FORMAT, "out of range" },
        { "\xff", HN_ERR_FORMAT, "byte 0: not UTF-8" },
        { "{{ range(1, 200000)|list }}", HN_ERR_FORMAT, "MAX_RANGE (100000)" },
        { "{{ undefined_name|tojson }}", HN_ERR_FORMAT,
          "Object of type Undefined is not JSON serializable" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_str out = hn_str_on(&heap);
        check_group(cases[i].source);
        CHECK_FAILS(render(cases[i].source, NULL, &out), cases[i].status, cases[i].words);
        CHECK_INT(0, (int64_t)out.length);
        hn_str_free(&out);
    }
    check_group(NULL);
}

static void is_bounded(void)
{
    static const struct {
        const char *source;
        hn_template_options options;
        const char *words;
    } cases[] = {
        { "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", { 0 }, "nested deeper than 600" },
        { "{% for i in [[]] recursive %}{{ loop([[]]) }}{% endfor %}",
          { 0 },
          "nested deeper than 600" },
        { "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
          { 0 },
          "more than 50000000 steps" },
        { "{% for i in range(9) %}12345678{% endfor %}",
          { .max_bytes = 64 },
          "output of more than 64 bytes" },
        { "{{ 'x' * 9999999999999 }}", { 0 }, "more than" },
        { "{% set n = namespace(x='x') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% "
          "endfor %}",
          { .max_memory = 1 << 20 },
          "more than 1048576 bytes of memory" },
        { "{% set n = namespace(x=[]) %}{% for i in range(9999) %}{% set n.x = [n.x] %}{% "
          "endfor %}{{ n.x }}",
          { 0 },
          "nested deeper" },
        { "{% set n = namespace(x=[]) %}{% for i in range(9999) %}{% set n.x = [n.x] %}{% "
          "endfor %}{{ n.x|tojson }}",
          { 0 },
          "nested deeper" },
        { "{% set n = namespace() %}{% set n.n = n %}{{ n }}", { 0 }, "nested deeper" },
        { "{{ '%999999999s' % 1 }}", { 0 }, "a width" },
        { "{{ 'x'.center(99999999999) }}", { 0 }, "a width" },
        { "{{ range(100000)|batch(1)|list|tojson(indent=1000) }}",
          { .max_memory = 16 << 20 },
          "more than 16777216 bytes" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_str out = hn_str_on(&heap);
        check_group(cases[i].source);
        const hn_status status = render(cases[i].source, &cases[i].options, &out);
        CHECK_FAILS(status, status, cases[i].words);
        CHECK(status == HN_ERR_FORMAT || status == HN_ERR_MEMORY ||
              status == HN_ERR_UNSUPPORTED);
        hn_str_free(&out);
    }
    check_group(NULL);
    char deep[3000] = "";
    hn_template *t = NULL;
    memset(deep, '(', sizeof deep - 1);
    memcpy(deep, "{{", 2);
    CHECK_FAILS(hn_template_parse(&heap, "t", deep, 400, &t), HN_ERR_FORMAT,
                "nested deeper than 200");
    CHECK_FAILS(hn_template_parse(&heap, "t", deep, sizeof deep - 1, &t), HN_ERR_FORMAT,
                "brackets open");
    CHECK(t == NULL);
}

/* `piece` n times between the ends. */
static hn_status parse_long(const char *begin, const char *piece, int n, const char *end)
{
    hn_template *t = NULL;
    hn_str source = hn_str_on(&heap);
    hn_str_add(&source, begin);
    for (int i = 0; i < n; i++)
        hn_str_add(&source, piece);
    hn_str_add(&source, end);
    const hn_status status = hn_template_parse(&heap, "t", source.text, source.length, &t);
    hn_str_free(&source);
    hn_template_free(t);
    return status;
}

static void long_templates(void)
{
    CHECK_FAILS(parse_long("{{ 1", "+1", 400, " }}"), HN_ERR_FORMAT, "more than 200 operators");
    CHECK_FAILS(parse_long("{{ x", ".a", 400, " }}"), HN_ERR_FORMAT, "more than 200 operators");
    CHECK_FAILS(parse_long("{% if 1 %}", "{% elif 1 %}", 9999, "{% endif %}"), HN_ERR_FORMAT,
                "more than 500 elif");
    CHECK_FAILS(parse_long("", "{% if 1 %}", 9999, ""), HN_ERR_FORMAT,
                "nested deeper than 200");
    CHECK_FAILS(parse_long("{% for a in b %}", "{% for a in b %}", 9999, ""), HN_ERR_FORMAT,
                "nested deeper than 200");
    CHECK_FAILS(parse_long("{{ ", "-", 9999, "1 }}"), HN_ERR_FORMAT, "nested deeper than 200");
    CHECK_FAILS(parse_long("{{ ", "not ", 9999, "1 }}"), HN_ERR_FORMAT,
                "nested deeper than 200");
    CHECK_FAILS(parse_long("{{ ", "1 if 1 else ", 9999, "1 }}"), HN_ERR_FORMAT,
                "nested deeper than 200");
    CHECK_FAILS(parse_long("", "                ", 300000, ""), HN_ERR_FORMAT,
                "expected at most 4194304");
    CHECK_OK(parse_long("{{ 1", " ~ 1", 9999, " }}"));
    CHECK_OK(parse_long("", "{{ a }}{% if b %}{% set c = 1 %}{% endif %}", 20000, ""));
    hn_str row = hn_str_on(&heap), source = hn_str_on(&heap);
    for (int i = 0; i < 150; i++)
        hn_str_add(&row, "+1");
    hn_str_add(&row, ")");
    hn_str_add(&source, "{{ ");
    for (int i = 0; i < 90; i++)
        hn_str_add(&source, "(");
    hn_str_add(&source, "1");
    CHECK_FAILS(parse_long(source.text, row.text, 90, " }}"), HN_ERR_FORMAT,
                "nested deeper than 1000");
    hn_str_free(&row);
    hn_str_free(&source);
}

static void generation_spans(void)
{
    static const char source[] =
        "a{% generation %}b\xc3\xa9{% endgeneration %}c{% generation %}d{% endgeneration %}",
                      hidden[] = "{% macro m() %}{% generation %}x{% endgeneration %}{% "
                                 "endmacro %}{{ m() }}";
    hn_template *t = NULL;
    hn_template_spans spans = { 0 };
    const hn_template_input input = { 0 };
    hn_str out = hn_str_on(&heap);
    hn_str_add(&out, "before ");
    CHECK_OK(hn_template_parse(&heap, "t", source, sizeof source - 1, &t));
    for (int again = 0; again < 2; again++) {
        hn_str_clear(&out);
        hn_str_add(&out, "before ");
        CHECK_OK(hn_template_render(t, &input, &out, &spans, NULL));
        CHECK_TEXT("before ab\xc3\xa9"
                   "cd",
                   out.text);
        CHECK(spans.n == 2 && spans.at[0].begin == 8 && spans.at[0].end == 11 &&
              spans.at[1].begin == 12 && spans.at[1].end == 13);
    }
    CHECK(hn_template_mentions(t, "x") == false);
    hn_template_free(t);
    CHECK_OK(hn_template_parse(&heap, "t", hidden, sizeof hidden - 1, &t));
    CHECK(!hn_template_mentions(t, "m")); /* its own: a variable of this name would change nothing */
    CHECK_FAILS(hn_template_render(t, &input, &out, &spans, NULL), HN_ERR_UNSUPPORTED,
                "no known place");
    CHECK_TEXT("before ab\xc3\xa9"
               "cd",
               out.text);
    CHECK_OK(hn_template_render(t, &input, &out, NULL, NULL));
    hn_template_free(t);
    hn_free(&heap, spans.at);
    hn_str_free(&out);
}

static void memory_may_fail(void)
{
    static const char source[] =
        "{% macro m(a, b=1) %}{{ a }}{{ b }}{% endmacro %}{% set x %}{{ m(1) }}{% endset %}"
        "{% for i in [3, 1]|sort if i %}{{ i ~ x }}{{ {'a': i}|tojson }}{{ '%s' % i }}{% "
        "endfor %}";
    for (int64_t n = 1; n < 10000; n++) {
        hn_str out = hn_str_on(&heap);
        atomic_store(&heap.fail_at, atomic_load(&heap.n_calls) + n);
        const hn_status status = render(source, NULL, &out);
        atomic_store(&heap.fail_at, 0);
        CHECK(status == HN_OK || status == HN_ERR_MEMORY);
        hn_str_free(&out);
        if (status == HN_OK) {
            CHECK(n > 6);
            return;
        }
    }
}

/* What is read from outside, and not only a member's name, a loop's variable or what the template sets before. */
static void reads(void)
{
    static const struct {
        const char *source, *read, *unread;
    } cases[] = {
        { "{{ messages[0].tools }}{{ messages[0]['tools'] }}", "messages", "tools" },
        { "{% for tools in messages %}{{ tools }}{% else %}{{ x }}{% endfor %}", "x", "tools" },
        { "{% set tools = 1 %}{{ tools }}{{ x }}", "x", "tools" },
        { "{% if tools is not defined %}{% set tools = 1 %}{% endif %}{{ tools }}", "tools", "x" },
        { "{% if x %}{% set tools = 1 %}{% endif %}{{ tools }}", "tools", "y" },
        { "{% macro f(tools, y=x) %}{{ tools }}{% endmacro %}{{ f(1) }}", "x", "tools" },
        { "{% for m in messages if m == tools %}{{ loop.index }}{% endfor %}", "tools", "loop" },
        { "{% with tools = x %}{{ tools }}{% endwith %}", "x", "tools" },
        { "{{ strftime_now('%Y') }}{{ 'tools' }}", "strftime_now", "tools" },
        { "{{ f(tools=x) }}", "x", "tools" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_template *t = NULL;
        if (!CHECK_OK(hn_template_parse(&heap, "t", cases[i].source, strlen(cases[i].source), &t)))
            continue;
        CHECK_THAT(hn_template_mentions(t, cases[i].read), "%s reads %s", cases[i].source, cases[i].read);
        CHECK_THAT(!hn_template_mentions(t, cases[i].unread), "%s reads no %s", cases[i].source, cases[i].unread);
        hn_template_free(t);
    }
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    refuses();
    is_bounded();
    long_templates();
    generation_spans();
    reads();
    memory_may_fail();
    hn_template_free(NULL);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
