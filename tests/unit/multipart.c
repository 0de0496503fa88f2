/* Forms as clients send them, and what is none. */
#include "server/multipart.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

/* What is in a form, in words; a message if it is refused. */
static const char *read_form(const char *type, const char *body, size_t n)
{
    static char said[1024];
    hn_multipart m;
    hn_part part;
    bool is_there = true;
    said[0] = 0;
    hn_status status = hn_multipart_begin(&m, type, body, n);
    while (status == HN_OK && is_there) {
        status = hn_multipart_next(&m, &part, &is_there);
        if (status == HN_OK && is_there)
            snprintf(said + strlen(said), sizeof said - strlen(said), "%s|%s%s|%s|%.*s\n", part.name, part.is_file ? "file " : "",
                     part.file, part.type, (int)part.n, part.bytes);
    }
    return status == HN_OK ? said : hn_error_message();
}

static const char type[] = "multipart/form-data; boundary=xYz";

static void is(const char *want, const char *body) { CHECK_TEXT(want, read_form(type, body, strlen(body))); }

static void refused(const char *words, const char *body)
{
    const char *said = read_form(type, body, strlen(body));
    CHECK_THAT(strstr(said, words) != NULL, "expected \"%s\", found %s", words, said);
}

#define FIELD(name) "Content-Disposition: form-data; name=\"" name "\"\r\n"

static void test_forms(void)
{
    is("purpose|||fine-tune\nfile|file a.jsonl|application/jsonl|{}\n\n",
       "--xYz\r\n" FIELD("purpose") "\r\nfine-tune\r\n--xYz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n"
       "Content-Type: application/jsonl\r\n\r\n{}\n\r\n--xYz--\r\n");
    is("a|||\nb|||\r\n--xY\r\n\n", "--xYz\r\n" FIELD("a") "\r\n\r\n--xYz\r\n" FIELD("b") "\r\n\r\n--xY\r\n\r\n--xYz--");
    is("a|||x\n", "--xYz\r\ncontent-DISPOSITION:form-data;name=a\r\nX: y\r\nContent-Transfer-Encoding: binary\r\n\r\nx\r\n--xYz--");
    is("a|||\n", "--xYz\r\n" FIELD("a") "\r\n--xYz--");
    is("q\"\\|file C:\\x\xc3\xa9||x\n", "--xYz\r\nContent-Disposition: form-data; name=\"q\\\"\\\\\"; filename=\"C:\\x\xc3\xa9\"\r\n\r\nx\r\n--xYz--");
    is("a|file ||x\n", "--xYz\r\nContent-Disposition: form-data; name=\"a\"; filename*=utf-8''%e2%82%ac\r\n\r\nx\r\n--xYz--");
    static const char zero[] = "--xYz\r\n" FIELD("a") "\r\n\0\xff\r\n--xYz--";
    hn_multipart m;
    hn_part part;
    bool is_there;
    CHECK_OK(hn_multipart_begin(&m, "Multipart/Form-Data; charset=utf-8; boundary=\"xYz\"", zero, sizeof zero - 1));
    CHECK_OK(hn_multipart_next(&m, &part, &is_there));
    CHECK(is_there && part.n == 2 && !memcmp(part.bytes, "\0\xff", 2));
}

static void test_refused(void)
{
    refused("does not begin with its boundary", "");
    refused("does not begin with its boundary", "\r\n--xYz\r\n" FIELD("a") "\r\nx\r\n--xYz--");
    refused("has no part", "--xYz--");
    refused("does not end its line", "--xYzz\r\n" FIELD("a") "\r\nx\r\n--xYz--");
    refused("does not end its line", "--xYz\n" FIELD("a") "\r\nx\r\n--xYz--");
    refused("part 1: has no end", "--xYz\r\n" FIELD("a") "\r\nx\r\n--xY");
    refused("part 1: has no end", "--xYz\r\n" FIELD("a") "\r\nx");
    refused("part 1: its head has no end", "--xYz\r\n" FIELD("a"));
    refused("behind the form's last boundary stand 3 bytes", "--xYz\r\n" FIELD("a") "\r\nx\r\n--xYz--abc");
    refused("part 1: has no Content-Disposition", "--xYz\r\n\r\nx\r\n--xYz--");
    refused("part 1: expected one name", "--xYz\r\nContent-Disposition: form-data\r\n\r\nx\r\n--xYz--");
    refused("part 1: expected one name", "--xYz\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\nx\r\n--xYz--");
    refused("part 1: expected one name", "--xYz\r\nContent-Disposition: form-data; name=a; filename=b; filename=c\r\n\r\nx\r\n--xYz--");
    refused("part 1: has two", "--xYz\r\n" FIELD("a") FIELD("b") "\r\nx\r\n--xYz--");
    refused("is no form-data", "--xYz\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--xYz--");
    refused("is malformed", "--xYz\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--xYz--");
    refused("is malformed", "--xYz\r\nContent-Disposition: form-data; name=a b\r\n\r\nx\r\n--xYz--");
    refused("is not UTF-8", "--xYz\r\n" FIELD("\xff") "\r\nx\r\n--xYz--");
    refused("control character", "--xYz\r\n" FIELD("a") "X: \x01\r\n\r\nx\r\n--xYz--");
    refused("no name and colon", "--xYz\r\n" FIELD("a") " x: y\r\n\r\nx\r\n--xYz--");
    refused("is encoded", "--xYz\r\n" FIELD("a") "Content-Transfer-Encoding: base64\r\n\r\nx\r\n--xYz--");
}

static void test_types(void)
{
    static const char *const wrong[] = { "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"a",
                                         "multipart/form-data; boundary=a; boundary=a", "multipart/form-data; boundary=\"a \"",
                                         "multipart/form-data; boundary=a b", "multipart/mixed; boundary=a", "text/plain",
                                         "multipart/form-data; boundary=01234567890123456789012345678901234567890123456789012345678901234567890" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hn_multipart m;
        CHECK_THAT(hn_multipart_begin(&m, wrong[i], "--a--", 5) == HN_ERR_FORMAT, "%s is taken", wrong[i]);
    }
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    test_forms();
    test_refused();
    test_types();
    return check_close();
}
