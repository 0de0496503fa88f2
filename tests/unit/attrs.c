/* Attributes are the same if and only if no bit of one differs: each kind of them changed alone, between every two of some values, and
 * held to what is printed of them. What the table does not name does not count. */
#include "graph/attr.h"
#include "tests/harness/check.h"

#include <math.h>
#include <string.h>

typedef struct all_kinds {
    int not_named;
    float real;
    int64_t whole;
    bool flag;
    int word;
    hn_ints list;
} all_kinds;

static const hn_attr table[] = {
    HN_ATTR_FLOAT(all_kinds, real, "0"), HN_ATTR_INT(all_kinds, whole, "0"), HN_ATTR_BOOL(all_kinds, flag, "0"),
    HN_ATTR_ENUM(all_kinds, word, "one", "one|two|three"), HN_ATTR_INTS(all_kinds, list, "1"), HN_ATTR_END,
};

/* All that differ from the first in one attribute, each from each other too; neighbours in their last bit. */
static all_kinds varied(int i)
{
    static const float reals[] = { -0.0f, 1, 1.0000001f, 1e-45f, INFINITY };
    static const int64_t wholes[] = { 1, -1, INT64_C(1) << 53, (INT64_C(1) << 53) + 1, INT64_MIN };
    static const hn_ints lists[] = { { 0, { 0 } }, { 1, { 1 } }, { 2, { 0, 0 } }, { 2, { 0, 1 } }, { 2, { 1, 0 } } };
    all_kinds a = { .list = { 1, { 0 } } };
    switch (i / 5) {
    case 0: a.real = reals[i % 5]; break;
    case 1: a.whole = wholes[i % 5]; break;
    case 2: a.list = lists[i % 5]; break;
    default: a.word = i - 15; /* 0: nothing is changed */
    }
    if (i == 18)
        a = (all_kinds){ .flag = true, .list = a.list };
    return a;
}

int main(int argc, char **argv)
{
    enum { N = 19, TEXT = 512 };
    check_open(argc, argv);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            all_kinds a = varied(i), b = varied(j);
            char left[TEXT], right[TEXT];
            a.not_named = i;
            b.not_named = j + N;
            hn_attrs_print(table, &a, left, sizeof left);
            hn_attrs_print(table, &b, right, sizeof right);
            CHECK_INT(i == j, hn_attrs_same(table, &a, &b));
            CHECK_INT(i == j, !strcmp(left, right));
        }
    CHECK(hn_attrs_same(NULL, "a", "b")); /* an op without any */
    return check_close();
}
