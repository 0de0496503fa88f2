#!/bin/sh
# test-checks.sh: each check finds a violation planted in a small tree, and none in a clean one.
tools=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
n_passed=0 n_failed=0

clean() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/src/base" "$tree/src/io" "$tree/src/cli" "$tree/include" "$tree/tests" "$tree/docs" \
        "$tree/tools" "$tree/cmake" "$tree/build/CMakeFiles/hn_kernels_avx2.dir"
    grep -v '^inside ' "$tools/../docs/layers.txt" >"$tree/docs/layers.txt"
    printf '/* a: what is read. */\n#include "base/a.h"\n\n/* exit(1) and "abort(" in words */\nint hn_a(void)\n{\n    return 1;\n}\n' >"$tree/src/io/a.c"
    printf '/* a.h: what all have. */\n#ifndef HN_BASE_A_H\n#define HN_BASE_A_H\nint hn_a(void);\n#endif\n' >"$tree/src/base/a.h"
    printf '/* The program. */\nint main(void)\n{\n    exit(1);\n}\n' >"$tree/src/cli/main.c"
}

# try WANTED NAME WORDS: the check's exit status, and words of what it prints
try() {
    if [ "$2" = symbols ]; then
        (cd "$tree/build" && ar rcs libhone.a ./*.o)
        out=$(CC=cc "$tools/check-symbols.sh" "$tree/build" 2>&1)
    else
        out=$("$tools/check-$2.sh" "$tree" 2>&1)
    fi
    got=$?
    if [ "$got" = "$1" ] && echo "$out" | grep -qF -- "$3"; then
        n_passed=$((n_passed + 1))
    else
        echo "check-$2: expected status $1 and \"$3\", found $got and:"
        echo "$out"
        n_failed=$((n_failed + 1))
    fi
}

compile() { # SOURCE OBJECT
    echo "$1" | cc -x c -c - -o "$tree/build/$2"
}

for check in layers sizes banned headers format; do
    clean
    try 0 $check ' 0 failed'
done

clean
mkdir -p "$tree/src/models"
printf 'HN_MODEL(a)\nHN_MODEL(b_c)\nHN_MODEL(d)\n' >"$tree/src/models/models.def"
printf 'And\nmodels that run: a (with\nx, y), b-c and, to embed texts\nalone, d. All but\n' >"$tree/README.md"
try 0 claims ' 0 failed'
printf 'HN_MODEL(e)\n' >>"$tree/src/models/models.def"
try 1 claims 'e is no model that runs'
printf 'models that run: a, b-c, e, f and, to embed texts alone, d. All\n' >"$tree/README.md"
try 1 claims 'f: models.def has none'
printf 'It runs a.\n' >"$tree/README.md"
try 1 claims 'expected "models that run'

clean
printf '#include "io/a.h"\n' >>"$tree/src/base/a.h"
try 1 layers 'src/base/a.h:6: base may not include io/a.h'
clean
mkdir -p "$tree/src/text/unicode" "$tree/src/text/template"
printf '#include "text/template/b.h"\n' >"$tree/src/text/unicode/a.c"
try 1 layers 'src/text/unicode/a.c:1: text/unicode may not include text/template/b.h'
printf '#include "text/unicode/b.h"\n' >"$tree/src/text/template/a.c"
printf 'int x;\n' >"$tree/src/text/unicode/a.c"
try 0 layers ' 0 failed'
mv "$tree/src/text/unicode/a.c" "$tree/src/text/a.c"
try 1 layers 'src/text/a.c: text/a.c is no room'
clean
mkdir "$tree/src/utils" && printf 'int x;\n' >"$tree/src/utils/x.c"
try 1 layers 'utils is no layer'
clean
printf '#include "a.h"\n' >>"$tree/src/io/a.c"
try 1 layers 'write the path from src/'
clean
printf '#include "hone/a.h"\n#include "base/a.h"\n#include "cli/b.h"\n' >>"$tree/src/cli/main.c"
printf '#include "hone/a.h"\n' >"$tree/src/cli/b.h"
try 0 layers ' 0 failed'
printf '#include "io/a.h"\n' >>"$tree/src/cli/b.h"
try 1 layers 'src/cli/b.h:2: src/cli is written on include/hone: io/a.h'
printf 'inside b.h\n' >>"$tree/docs/layers.txt"
try 1 layers 'src/cli/main.c:8: src/cli is written on include/hone: cli/b.h, which looks inside'
printf 'inside main.c\n' >>"$tree/docs/layers.txt"
try 0 layers ' 0 failed'
printf 'int b;\n' >"$tree/src/cli/b.h"
try 1 layers 'docs/layers.txt: b.h needs nothing inside: take it off the list'
rm "$tree/src/cli/b.h"
try 1 layers 'docs/layers.txt: b.h needs nothing inside: take it off the list'

clean
mkdir -p "$tree/src/server"
printf '#include "hone/a.h"\n#include "base/a.h"\n#include "server/b.h"\n' >"$tree/src/server/a.c"
printf '#include "server/b.h"\n' >>"$tree/src/cli/main.c"
try 0 layers ' 0 failed'
printf '#include "infer/b.h"\n' >>"$tree/src/server/a.c"
printf '#include "server/b.h"\n' >>"$tree/src/io/a.c"
try 1 layers 'src/server/a.c:4: server may not include infer/b.h'
try 1 layers 'src/io/a.c:9: io may not include server/b.h'

clean
{ printf 'int hn_long(void)\n{\n'; yes '    ;' | head -81; printf '}\n'; } >"$tree/src/io/long.c"
try 1 sizes 'src/io/long.c:hn_long: 81 lines: expected at most 80'
printf 'src/io/long.c:hn_long 90 a table\n' >"$tree/tools/sizes-allowed.txt"
try 0 sizes ' 0 failed'
yes '/* */' | head -601 >"$tree/src/io/a.c"
try 1 sizes 'src/io/a.c: 601 lines'

clean
printf 'void f(char *p)\n{\n    /* a */ strcpy (p, "x");\n}\n' >"$tree/src/io/a.c"
try 1 banned 'src/io/a.c:3: strcpy() is banned'
clean
printf 'int g(const char *p) { return p ? atoi(p) : 0; }\n' >"$tree/include/g.h"
try 1 banned 'include/g.h:1: atoi() is banned'
clean
mkdir -p "$tree/src/cli" && printf 'void *g(const char *p) { return fopen(p, "w"); }\n' >"$tree/src/cli/g.c"
try 1 banned 'src/cli/g.c:1: fopen() is of src/base/out_file.c alone'
rm -r "$tree/src/cli"
clean
printf '#include <unistd.h>\n' >>"$tree/src/io/a.c"
try 1 banned 'src/io/a.c:9: <unistd.h> is of src/base/os alone'
printf 'long g(void) { return getpid(); }\n' >"$tree/src/io/a.c"
try 1 banned 'src/io/a.c:1: getpid() is of src/base/os alone'
printf 'int g(void) { return hn_os_rename("a", "b"); }\n' >"$tree/src/io/a.c"
try 1 banned 'src/io/a.c:1: hn_os_rename() is of src/base alone'
mkdir -p "$tree/src/infer" && printf 'int g(void) { return hn_isa_available(0) + hn_os_map(0, 1); }\n' >"$tree/src/infer/m.c"
try 1 banned 'src/infer/m.c:1: hn_isa_available() touches the process'
try 1 banned 'src/infer/m.c:1: hn_os_map() touches the process'
rm -r "$tree/src/infer"
mkdir -p "$tree/src/models" && printf 'void *g(void) { return hn_linear(0, 0, 0); }\n' >"$tree/src/models/m.c"
try 1 banned 'src/models/m.c:1: hn_linear() sums as one chain whatever the mode'
rm -r "$tree/src/models"
mkdir -p "$tree/src/base/os/posix"
printf '#include <unistd.h>\nlong g(void) { return getpid(); }\n' >"$tree/src/base/os/posix/a.c"
printf 'int hn_a(void);\n' >"$tree/src/io/a.c"
try 0 banned ' 0 failed'
clean
printf 'double g(const char *p)\n{\n    return strtod(p, 0);\n}\n' >"$tree/src/cli/g.c"
try 1 banned 'src/cli/g.c:3: strtod() is banned'
clean
printf 'void g(char *p, double x)\n{\n    snprintf(p, 8, "%%d",\n             1);\n    snprintf(p, 8,\n             "%%.3g", x);\n}\n' >"$tree/src/io/a.c"
try 1 banned 'src/io/a.c:5: snprintf() of a number'

clean
mkdir -p "$tree/include/hone" "$tree/src/engine"
printf 'HN_API int hn_e(int x);\n' >"$tree/include/hone/a.h"
printf 'int hn_e(int x)\n{\n    HN_ENTER();\n    return x;\n}\n' >"$tree/src/engine/a.c"
try 0 entries '1 passed, 0 failed'
printf 'int hn_e(int x)\n{\n    return x;\n}\n' >"$tree/src/engine/a.c"
try 1 entries 'hn_e: does-not src/engine/a.c:3: expected HN_ENTER(); first'
printf 'int hn_b(int x)\n{\n    return x;\n}\n' >"$tree/src/engine/a.c"
try 1 entries 'hn_e: it is declared in include/hone and defined nowhere'

clean
mkdir -p "$tree/tests/e2e"
printf 'def check_a\nend\ndef check_ab(x)\nend\ncheck_a\ncheck_ab(1)\n' >"$tree/tests/e2e/a.rb"
try 0 called '2 passed, 0 failed'
printf 'def check_a\nend\ndef check_ab(x)\nend\ncheck_ab(1)\n' >"$tree/tests/e2e/a.rb"
try 1 called 'tests/e2e/a.rb: check_a is defined, and called nowhere'
rm -r "$tree/tests/e2e"

clean
mkdir -p "$tree/.ci"
rows() { # of docs/nightly.md
    printf '# Gates\n\n| gate | what | last result | at |\n|---|---|---|---|\n' >"$tree/docs/nightly.md"
    printf '| %s | what it holds | passed \\| 3 | %s |\n' "$@" >>"$tree/docs/nightly.md"
}
printf 'gate "one" one\ngate "two, long" env A=1 two\n' >"$tree/.ci/nightly"
rows one 0123abc 'two, long' 0123abc
try 0 gates '2 passed, 0 failed'
rows one 0123abc
try 1 gates 'no row of the gate "two, long"'
rows one 0123abc 'two, long' 0123abc three 0123abc
try 1 gates 'no gate of the row "three"'
rows 'two, long' 0123abc one 0123abc
try 1 gates 'another order'
rows one 0123abc 'two, long' 'by hand'
try 1 gates '"two, long": expected a commit at the end of its row, found "by hand"'
(cd "$tree" && git init -q && git -c user.name=a -c user.email=a commit -q --allow-empty -m a)
rows one "$(git -C "$tree" rev-parse --short HEAD)" 'two, long' 0123abc
try 1 gates '"two, long" passed at 0123abc, which is no commit before this one'
rows one "$(git -C "$tree" rev-parse --short HEAD)" 'two, long' "$(git -C "$tree" rev-parse HEAD)"
try 0 gates '2 passed, 0 failed'
rm -rf "$tree/.ci" "$tree/.git"

clean
mkdir -p "$tree/include/hone"
cat >"$tree/include/hone/version.h" <<'END'
/* version.h: what roff takes for its own is text here.
 *
 * .so begins a line; 'quoted words do, too; and \xylophone, -minus, `ticks`.
 *
 *     .example \n - ^ ~ 'x' */
#define HN_VERSION_MAJOR 1
/* .A declaration. */
HN_API int hn_e(char c); /* '\\0' */
END
try 0 man ' 0 failed'
opaque() { printf '/* a.h: a type. */\n%s\ntypedef struct hn_o hn_o;\nHN_API int hn_f(hn_o *o);\n' "$1" >"$tree/include/hone/a.h"; }
opaque '/* The caller frees it. Used by one thread at a time. */'
try 0 man ' 0 failed'
opaque '/* Used by one thread at a time. */'
try 1 man 'hn_o: its comment does not say who frees it'
opaque '/* The caller closes it. */'
try 1 man 'hn_o: its comment does not say what threads may do with it'
opaque '/* The caller frees it. Used by one thread at a time. */
enum { HN_X };'
try 1 man 'hn_o: its comment does not say who frees it'
printf '/* b.h: another name. */\nHN_API int hn_f(void);\n' >"$tree/include/hone/a.h"
try 1 man 'include/hone/a.h: expected a first line that begins with /* a.h:'
printf '/* a.h: without its function. */\nHN_API\nint hn_f(void);\n' >"$tree/include/hone/a.h"
try 1 man 'hn_f: in the pages'

clean
while IFS='|' read -r words text; do
    printf "/* a: what is read. */\n$text" >"$tree/src/io/a.c"
    try 1 format "src/io/a.c:$words"
done <<'LINES'
2: a tab|\tint a;\n
2: a blank at the end|int a; \n
2: a line of 164 bytes|int a; /*%152s */\n
4: two empty lines|int a;\n\n\nint b;\n
4: an empty line after {|int f(void)\n{\n\n    return 1;\n}\n
6: an empty line before }|int f(void)\n{\n    return 1;\n\n}\n
4: expected a blank after if|int f(int a)\n{\n    if(a)\n        return 0;\n    return 1;\n}\n
2: expected a blank after a comma|int f(int a,int b);\n
2: expected the * of a pointer|int f(char* p);\n
2: a function: expected its {|int f(int a) {\n    return a;\n}\n
5: expected { at the end|int f(int a)\n{\n    if (a)\n    {\n        a++;\n    }\n    return a;\n}\n
4: indented by 2: expected 4|int f(void)\n{\n  return 1;\n}\n
5: indented by 4: expected 8|int f(int a)\n{\n    if (a)\n    return 0;\n    return 1;\n}\n
6: indented by 8: expected 4|int f(int a)\n{\n    if (a)\n        a++;\n        a++;\n    return a;\n}\n
5: indented by 8: expected 4|int f(int a)\n{\n    switch (a) {\n        case 1: return 0;\n    }\n    return a;\n}\n
6: indented by 0: expected 4|int f(void)\n{\n    const int a[] = { 1,\n                      2 };\nreturn a[0];\n}\n
9: indented by 8: expected 4|#ifdef A\nint f(int a)\n{\n#else\nint f(void)\n{\n#endif\n        return 1;\n}\n
5: indented by 8: expected 4|int f(int a)\n{\n    do a++;\n        while (a < 9);\n    return a;\n}\n
4: expected a blank beside {|int f(int a)\n{\n    if (a){\n        a++;\n    }\n    return a;\n}\n
2: expected a blank within {}|const int a[] = {1 };\n
4: expected a blank after a semicolon|int f(int a)\n{\n    for (int i = 0;i < 9; i++)\n        a++;\n    return a;\n}\n
4: expected blanks about an operator|int f(int a)\n{\n    return a==1;\n}\n
2: expected blanks about an operator|const int a= 1;\n
4: a blank within ()|int f(int a)\n{\n    return f( a);\n}\n
LINES
printf 'int a;\n\n' >"$tree/src/io/a.c"
try 1 format 'src/io/a.c: an empty line at its end'
cat >"$tree/src/io/a.c" <<'C'
/* a: what is set as it should be. */
static int f(int a, const char *b,
             int c)
{
    static const struct pair of[] = { { 1, 2 },
                                      { 3, 4 } };
    /* A drawing:
     *   a -> b
     */
    for (int i = 0; i < c; i++)
        if (a)
            a++;
        else
            switch (a) {
            case 1:
                a += f(a, "} { ;",
                       2);
                break;
            default: goto end;
            }
#if A
    if (a) {
#else
    if (c) {
#endif
        EACH(i, of)
            a += of[i].a;
        g(&(hn_pair){ 1, 2 });
    } else {
        a = c ? (hn_pair){ 1, 2 }.a
              : 3;
    }
end:
    return a;
}
C
try 0 format ' 0 failed'
for text in 'int a;' '/* ---- a heading ---- */\nint a;' '/* clang-format off */\nint a;'; do
    printf "$text\n" >"$tree/src/io/a.c"
    try 1 format 'src/io/a.c:1: expected a comment first, of what the file is for'
done
printf '/* a: what is read. */\nint a;\n' >"$tree/src/io/a.c"
printf 'int a;\n' >"$tree/tests/a.c"
try 0 format ' 0 failed'

clean
table() { printf '| Name | What | File |\n|---|---|---|\n%s\n%s\n' "$1" "$2" >"$tree/docs/names.md"; }
table '| a | x | `src/io/a.c` |' '| return | x | `src/io/a.c` |'
try 0 names '2 passed, 0 failed'
table '| return | x | `src/io/a.c` |' '| a | x | `src/io/a.c` |'
try 1 names 'docs/names.md: a: expected before return'
table '| a | x | `src/io/b.c` |' '| return | x | `src/io/a.c` |'
try 1 names 'docs/names.md: a: src/io/b.c is not there'
table '| a | x | `src/io/a.c` |' '| zebra | x | `src/io/a.c` |'
try 1 names 'docs/names.md: zebra: src/io/a.c does not have the word'

clean
printf 'size_t hn_b(void);\n' >"$tree/src/base/b.h"
try 1 headers 'src/base/b.h: does not compile alone'
printf '#ifndef HN_BASE_A_H\n#define HN_BASE_A_H\n#endif\n' >"$tree/src/base/b.h"
try 1 headers 'src/base/b.h: expected to be guarded by HN_BASE_B_H'
clean
mkdir "$tree/include/hone"
public() { printf '#ifndef HONE_A_H\n#define HONE_A_H\n#include <stddef.h>\n#define HN_API\n#define HN_VERSION_MAJOR 1\n%s\n#endif\n' "$1" >"$tree/include/hone/a.h"; }
public 'typedef enum hn_e { HN_A = 0 } hn_e;'
try 0 headers ' 0 failed'
public '#define HN_LIST(X) X(A, 0)
typedef enum hn_e {
HN_LIST(HN_NAME)
} hn_e;'
try 1 headers 'include/hone/a.h:6:#define HN_LIST(X) X(A, 0): a binding generator has no preprocessor'

clean
compile 'int hn_a; static int b; int *c(void); void hn_f(void) { b++; }' a.o
try 0 symbols '2 passed, 0 failed'
compile 'void helper(void) { }' b.o
try 1 symbols 'helper: expected hn_...'
rm "$tree/build/b.o" "$tree/build/libhone.a"
compile 'void hn_sum_f32_avx2(void) { }' CMakeFiles/hn_kernels_avx2.dir/k.c.o
try 0 symbols ' 0 failed'
compile 'void hn_sum_f32_ref(void) { }' CMakeFiles/hn_kernels_avx2.dir/k.c.o
try 1 symbols 'hn_sum_f32_ref: expected hn_..._avx2'
compile "double exp(double); double hn_b(double); double hn_b(double x) { return exp(x); }" b.o
try 1 symbols "b.o: takes exp from the C library"

structs() { # a header with `$1` as a function's struct, and `$2` as its line of the list
    clean
    mkdir -p "$tree/include/hone" "$tree/src/engine"
    printf '/* const hn_c *x */\ntypedef struct hn_b {\n    int x;\n} hn_b;\ntypedef struct hn_a {\n%s\n} hn_a;\nHN_API int hn_f(void (*on)(const hn_b *b),\n                const hn_a *a);\n' \
        "$1" >"$tree/include/hone/a.h"
    echo "$2" >"$tree/src/engine/structs.def"
    printf 'x = hn_take_struct("hn_a", a, sizeof o, &o);\n' >"$tree/src/engine/a.c"
}
structs '    size_t size;\n    int x, *y;' 'HN_STRUCT(hn_a, y)'
sed -i 's/\\n/\n/g' "$tree/include/hone/a.h"
try 0 structs '2 passed, 0 failed'
structs '    int x;' 'HN_STRUCT(hn_a, x)'
try 1 structs 'hn_a: a caller fills it: expected size_t size; as its first field'
structs '    size_t size; int x, z;' 'HN_STRUCT(hn_a, x)'
try 1 structs 'hn_a: its last field is z: src/engine/structs.def ends it with x of HN_STRUCT'
structs '    size_t size; const hn_b *b;' 'HN_STRUCT(hn_a, b)'
try 1 structs 'hn_b: a caller fills it'
structs '    size_t size; void (*on)(const hn_b *b);' 'HN_STRUCT(hn_a, on)'
try 0 structs '2 passed, 0 failed'
rm "$tree/src/engine/a.c"
try 1 structs 'hn_a: no hn_take_struct takes it'
structs '    size_t size; const hn_b *b; int n_b;' 'HN_STRUCT(hn_a, n_b)'
try 1 structs 'hn_b: a caller fills it: expected size_t size; as its first field'
sed -i 's/^    int x;$/    size_t size;\n    int x;/' "$tree/include/hone/a.h"
try 1 structs 'hn_b: its last field is x: src/engine/structs.def ends it with no field of HN_STRUCT'
echo 'HN_STRUCT(hn_b, x)' >>"$tree/src/engine/structs.def"
try 1 structs 'hn_b: no hn_take_element takes it'
echo 'hn_take_element("hn_b", list, i, sizeof o, &o);' >>"$tree/src/engine/a.c"
try 0 structs '2 passed, 0 failed'
structs '    size_t size;' 'HN_STRUCT(hn_a, size)'
echo 'HN_STRUCT(hn_b, x)' >>"$tree/src/engine/structs.def"
try 1 structs 'hn_b: src/engine/structs.def has it, and no caller fills it'

# What the library fills or lends.
gives() { # a function `$1` of hn_a, which has the fields `$2`; the line of the list
    clean
    mkdir -p "$tree/include/hone" "$tree/src/engine"
    printf 'typedef struct hn_a { %s; } hn_a;\nHN_API %s;\n' "$2" "$1" >"$tree/include/hone/a.h"
    echo "${3:-}" >"$tree/src/engine/structs.def"
    printf 'HN_GIVES(hn_a, out, to, size);\n' >"$tree/src/engine/a.c"
}
gives 'int hn_f(hn_a *out, size_t size)' 'int x; char y[8]' 'HN_RESULT(hn_a, y)'
try 0 structs '1 passed, 0 failed'
gives 'int hn_f(int i, hn_a *turn_or_null, size_t turn_size, int k)' 'int x' 'HN_RESULT(hn_a, x)'
try 0 structs '1 passed, 0 failed'
printf '    HN_ENTER();\n    HN_TRY(f());\n    HN_GIVES(hn_a, out, to, size);\n' >"$tree/src/engine/a.c"
try 1 structs 'HN_GIVES comes behind src/engine/a.c:2, from where it may return'
gives 'int hn_f(hn_a *out)' 'int x' 'HN_RESULT(hn_a, x)'
try 1 structs 'hn_a: hn_f fills it: expected its size as the next parameter, size_t size'
gives 'int hn_f(hn_a *out, size_t n)' 'int x' 'HN_RESULT(hn_a, x)'
try 1 structs 'hn_a: hn_f fills it: expected its size as the next parameter, size_t size'
gives 'int hn_f(hn_a *out, size_t size)' 'int x, z' 'HN_RESULT(hn_a, x)'
try 1 structs 'hn_a: its last field is z: src/engine/structs.def ends it with x of HN_RESULT'
gives 'int hn_f(hn_a *out, size_t size)' 'int x' 'HN_RESULT(hn_a, x)'
rm "$tree/src/engine/a.c"
try 1 structs 'hn_a: no HN_GIVES fills it'
gives 'const hn_a *hn_f(void)' 'int x'
try 0 structs '1 passed, 0 failed'
gives 'const hn_a *hn_f(void)' 'int x' 'HN_RESULT(hn_a, x)'
try 1 structs 'hn_a: src/engine/structs.def has it, and no caller is given it'
gives 'int hn_f(const hn_a **out)' 'int x'
try 0 structs '1 passed, 0 failed'
gives 'int hn_f(void (*call)(void *context, const hn_a *a), void *context)' 'int x'
try 0 structs '1 passed, 0 failed'
gives 'int hn_f(void (*call)(hn_a *a))' 'int x'
try 1 structs 'hn_a: a callback of hn_f gets it: expected const hn_a *'
gives 'hn_a *hn_f(void)' 'int x'
try 1 structs 'hn_a: it is returned: expected const hn_a *'
gives 'hn_a hn_f(void)' 'int x'
try 1 structs 'hn_a: it is returned: expected const hn_a *'
gives 'int hn_f(hn_a **out)' 'int x'
try 1 structs 'hn_a: hn_f takes it by value, or by pointers that are not const'
gives 'int hn_f(void)' 'int x'
try 1 structs 'hn_a: no function takes, fills or lends it'
gives 'const hn_a *hn_f(void)' 'hn_b b'
sed -i '1i typedef struct hn_b { int x; } hn_b;' "$tree/include/hone/a.h"
try 1 structs 'hn_b: hn_a holds it by value: expected const hn_b *'
gives 'const hn_a *hn_f(void)' 'const hn_b *b; int n_b'
sed -i '1i typedef struct hn_b { int x; } hn_b;' "$tree/include/hone/a.h"
try 1 structs 'hn_b: hn_a points to many: no element of an array can grow that has no size'
sed -i 's/{ int x; } hn_b/{ size_t size; int x; } hn_b/' "$tree/include/hone/a.h"
try 0 structs '2 passed, 0 failed'
gives 'const hn_a *hn_f(void)' 'const hn_b *b'
sed -i '1i typedef struct hn_b { int x; } hn_b;' "$tree/include/hone/a.h"
try 0 structs '2 passed, 0 failed'
gives 'const hn_a *hn_f(const hn_lm_span *s)' 'int x'
sed -i '1i typedef struct hn_lm_span { int x; } hn_lm_span;' "$tree/include/hone/a.h"
try 1 structs 'hn_lm_span: a caller fills it: its elements have sizes of their own'
gives 'const hn_a *hn_f(void)' 'const hn_lm_span *s'
sed -i '1i typedef struct hn_lm_span { int x; } hn_lm_span;' "$tree/include/hone/a.h"
try 1 structs 'hn_lm_span: no element of an array and no value within a struct: it can grow'

# Layouts: a struct that may grow and one that may not, an enum.
layouts() { # what hn_a has, what hn_b has, what the enum has, the list's line of hn_a
    printf '#include <stddef.h>\n' >"$tree/include/hone/hone.h"
    echo "typedef struct hn_a { size_t size; $1 } hn_a; typedef struct hn_b { $2 } hn_b; typedef enum hn_e { $3 } hn_e;" >>"$tree/include/hone/hone.h"
    echo "$4" >"$tree/src/engine/structs.def"
}
clean
mkdir -p "$tree/include/hone" "$tree/src/engine"
layouts 'int x, *y[2];' 'void (*f)(int a, int b); int z;' 'HN_P, HN_Q = 7' 'HN_STRUCT(hn_a, y)'
"$tools/check-layouts.sh" "$tree" --record
try 0 layouts ' 0 failed'
layouts 'int x, *y[2]; long more;' 'void (*f)(int a, int b); int z;' 'HN_P, HN_Q = 7, HN_R' 'HN_STRUCT(hn_a, y)'
try 0 layouts ' 0 failed'
layouts 'int x, *y[2]; long more;' 'void (*f)(int a, int b); int z;' 'HN_P, HN_Q = 7' 'HN_STRUCT(hn_a, more)'
try 1 layouts 'hn_a: 32 bytes in the last release, 40 now'
layouts 'long more; int x, *y[2];' 'void (*f)(int a, int b); int z;' 'HN_P, HN_Q = 7' 'HN_STRUCT(hn_a, y)'
try 1 layouts 'hn_a.x at 8 of 4 in the last release; now hn_a.x at 16 of 4'
layouts 'int x, *y[2];' 'void (*f)(int a, int b); int z; long more;' 'HN_P, HN_Q = 7' 'HN_STRUCT(hn_a, y)'
try 1 layouts 'hn_b: 16 bytes in the last release, 24 now'
layouts_lent() {
    layouts "$@"
    echo '#define HN_API' >"$tree/include/hone/b.h"
    echo 'HN_API const hn_b *hn_f(void);' >>"$tree/include/hone/b.h"
}
layouts_lent 'int x, *y[2];' 'void (*f)(int a, int b); int z; long more;' 'HN_P, HN_Q = 7' 'HN_STRUCT(hn_a, y)'
try 0 layouts ' 0 failed'
layouts_lent 'int x, *y[2];' 'long more; void (*f)(int a, int b); int z;' 'HN_P, HN_Q = 7' 'HN_STRUCT(hn_a, y)'
try 1 layouts 'hn_b.f at 0 of 8 in the last release; now hn_b.f at 8 of 8'
rm "$tree/include/hone/b.h"
layouts 'int x, *y[2]; long more;' 'void (*f)(int a, int b); int z;' 'HN_P, HN_Q = 7' 'HN_RESULT(hn_a, y)'
try 0 layouts ' 0 failed'
layouts 'int x, *y[2];' 'int z;' 'HN_P, HN_Q = 7' 'HN_STRUCT(hn_a, y)'
try 1 layouts 'hn_b.f at 0 of 8 in the last release; now it is gone'
layouts 'int x, *y[2];' 'void (*f)(int a, int b); int z;' 'HN_P, HN_Q' 'HN_STRUCT(hn_a, y)'
try 1 layouts 'HN_Q 7 in the last release; now HN_Q 1'

# The interface of a shared library beside its record, and its headers.
shared() { # its functions
    printf '#define HN_API\n#include "hone/a.h"\nstruct hn_a { int x; };\n%s\n' "$1" |
        cc -g -fPIC -shared -fvisibility=hidden -x c -I"$tree/include" - -o "$tree/build/libhone.so"
}
header() { printf 'typedef struct hn_a hn_a;\n%s\n' "$1" >"$tree/include/hone/a.h"; }
of_release='__attribute__((visibility("default"))) int hn_f(%shn_a *a, %s n) { return a->x + (int)n; }'
# Whose interface is it: what the library is with these types, and how the check ends
interface() { # WANTED WORDS CONST TYPE MORE
    header "HN_API int hn_f($3hn_a *a, $4 n);"
    # shellcheck disable=SC2059
    shared "$(printf "$of_release" "$3" "$4") $5"
    tried "$1" "$2" "$tools/abi.sh" "$tree/build" "$tree"
}
# tried WANTED WORDS COMMAND...: its exit status, or any but 0, and words of what it prints
tried() {
    wanted=$1 words=$2
    shift 2
    out=$("$@" 2>&1)
    got=$?
    [ "$wanted" != other ] || [ $got = 0 ] || got=other
    if [ "$got" = "$wanted" ] && echo "$out" | grep -qF -- "$words"; then
        n_passed=$((n_passed + 1))
    else
        echo "$*: expected status $wanted and \"$words\", found $got and:"
        echo "$out"
        n_failed=$((n_failed + 1))
    fi
}
clean
mkdir -p "$tree/include/hone"
more='__attribute__((visibility("default"))) int hn_g(void); int hn_g(void) { return 1; }'
if command -v abidiff >/dev/null 2>&1 && command -v xz >/dev/null 2>&1; then
    header 'HN_API int hn_f(hn_a *a, int n);'
    # shellcheck disable=SC2059
    shared "$(printf "$of_release" '' int) $more"
    mkdir -p "$tree/docs/abi" "$tree/src/engine"
    abidw --headers-dir "$tree/include/hone" --drop-private-types --exported-interfaces-only --no-corpus-path --no-comp-dir-path \
        --no-show-locs "$tree/build/libhone.so" | xz >"$tree/docs/abi/libhone.abi.xz"
    interface 0 'that of the last release, or more' '' int "$more"
    interface 0 'that of the last release, or more' '' int "$more __attribute__((visibility(\"default\"))) int hn_new(void) { return 2; }"
    interface 0 'that of the last release, or more' 'const ' int "$more"
    interface other "hn_g" '' int ''
    interface other "type name changed from 'int' to 'long int'" '' long "$more"
else
    echo "skipped: abi.sh: abidiff or xz is not installed"
fi

# Numbers of tables: a line more, one between others, one that is gone.
enums() { # the lines of types, those of optimisers
    printf '%s\n' "$1" >"$tree/src/quant/types.def"
    printf '%s\n' "$2" >"$tree/src/train/optimizers.def"
}
numbered() { # HEADER TABLE: an enum without names
    printf 'typedef enum hn_e {\n    /* Written by tools/enums.sh from %s: */\n    /* End of what tools/enums.sh writes. */\n} hn_e;\n' "$2" \
        >"$tree/include/hone/$1"
}
clean
mkdir -p "$tree/src/quant" "$tree/src/train" "$tree/include/hone" "$tree/docs/abi"
numbered tensor.h src/quant/types.def
numbered train.h src/train/optimizers.def
types='HN_SCALAR(F32,  f32, "F32")
HN_FORMAT(q8_0, "Q8_0")
HN_LISTED("Q4_2", 4)'
optimizers='HN_OPTIMIZER(adamw, ADAMW, 0)
HN_OPTIMIZER(sgd,   SGD,   0)'
enums "$types" "$optimizers"
try 1 enums 'include/hone/train.h: found (<), and expected of the table that it names (>); tools/enums.sh writes it'
"$tools/enums.sh" "$tree" >/dev/null
try 0 enums '2 passed, 0 failed'
tried 0 '    HN_ELEMENT_f32 = 0, HN_ELEMENT_q8_0 = 1' cat "$tree/include/hone/tensor.h"
tried 0 '    HN_TRAINER_ADAMW, /* "adamw", or NULL */' cat "$tree/include/hone/train.h"
tried 0 '    HN_TRAINER_SGD    /* "sgd" */' cat "$tree/include/hone/train.h"
printf 'HN_ELEMENT_f32 0\nHN_ELEMENT_q8_0 1\nHN_TRAINER_ADAMW 0\nHN_TRAINER_SGD 1\n' >"$tree/docs/abi/layouts.txt"
enums "$types
HN_SCALAR(U8, u8, NULL)" "$optimizers"
try 1 enums '>     HN_ELEMENT_f32 = 0, HN_ELEMENT_q8_0 = 1, HN_ELEMENT_u8 = 2'
"$tools/enums.sh" "$tree" >/dev/null
try 0 enums '2 passed, 0 failed'
enums "HN_FORMAT(q4_0, \"Q4_0\")
$types" "$optimizers"
try 1 enums 'src/quant/types.def: HN_ELEMENT_f32 is 0 in the last release (docs/abi/layouts.txt) and would be 1: a new line goes behind the last'
enums "$types" 'HN_OPTIMIZER(sgd, SGD, 0)'
try 1 enums 'src/train/optimizers.def: HN_TRAINER_SGD is 1 in the last release'
enums "$types" ''
try 1 enums 'src/train/optimizers.def: no line that tools/enums.sh reads'
enums "$types" "$optimizers"
sed -i '/End of what/d' "$tree/include/hone/train.h"
try 1 enums 'include/hone/train.h: expected one line "    /* End of what tools/enums.sh writes. */"'

# 51 functions, as fewer are taken for a library that could not be read.
clean
mkdir -p "$tree/include/hone"
functions=$(seq 1 51 | sed 's/.*/int hn_f&(void);/')
exports() { # the header's, the library's
    echo "$1" | sed 's/^int/HN_API int/' >"$tree/include/hone/a.h"
    echo "$2" | sed 's/(void);/(void) { return 1; }/; s/^int/__attribute__((visibility("default"))) int/' |
        cc -fPIC -shared -fvisibility=hidden -x c - -o "$tree/build/libhone.so"
    shift 2
    tried "$1" "$2" "$tools/check-exports.sh" "$tree/build/libhone.so" "$tree/include"
}
exports "$functions" "$functions" 0 '51 passed, 0 failed'
exports "$functions" "$functions
int hn_more(void);" 1 'hn_more: shown by the library, and in no public header'
exports "$functions
int hn_gone(void);" "$functions" 1 'hn_gone: in a public header, and not shown by the library'

echo "$n_passed passed, $n_failed failed, 0 skipped"
[ $n_failed = 0 ] && [ $n_passed != 0 ]
