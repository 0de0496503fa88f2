#!/bin/sh
# check-banned.sh [ROOT]: calls that hone's library may not make. User input cannot end the process,
# overflow a buffer or depend on the locale; src/cli, which is the process, may, but nobody reads a number
# otherwise than by hn_number_read; numbers are printed by hn_str_print and hn_text_print. The operating system
# is src/base/os: no other file includes a header that is not of C itself, or calls what only a system has.
# No function of a file's own is named as one that a system declares in the headers of C beyond C (macOS has wait() in <stdlib.h>).
# And what opens files for writing, names or cuts them is called in src/base alone, which holds what README promises
# of them: nothing is written over an input, or half, or by two at once. That goes for src/cli too.
# What a JSON value holds is asked of base/json.h, which knows its kind: the union is read in src/base/json* alone, and
# written where values of one's own are made. Templates have values of their own, which are named alike.
# Files are mapped by src/base/map_file.c and the right to a matrix unit is asked for by src/base/isa.c, which do as the heap says; what looks
# at all levels, and asks, is the program, and hn_engine_level.
# Models and training multiply by weights through src/nn/rounding.h alone, which knows how the mode sums.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
find src include -type f \( -name '*.[ch]' -o -name '*.cu' \) 2>/dev/null | sort |
awk '
BEGIN {
    n = split("abort exit _exit quick_exit strcpy strcat sprintf vsprintf gets atoi atol atof strtok " \
              "alloca rand srand random drand48 system popen setlocale", word, " ")
    for (i = 1; i <= n; i++) banned[word[i]] = 1
    n = split("open openat open64 creat fopen fopen64 fdopen freopen tmpfile mkstemp mkostemp rename renameat " \
              "renameat2 link linkat symlink truncate ftruncate copy_file_range sendfile", word, " ")
    for (i = 1; i <= n; i++) of_files[word[i]] = 1
    n = split("hn_os_open_new hn_os_open_log hn_os_open_lock hn_os_rename hn_os_rename_new hn_os_resize " \
              "hn_os_open_reader hn_os_open_reader_itself", word, " ")
    for (i = 1; i <= n; i++) of_base[word[i]] = 1
    of_touch["hn_os_map"] = "^src/base/(map_file.c|os/)"
    of_touch["hn_os_matrix_unit"] = "^src/base/(isa.c|os/)"
    of_touch["hn_isa_available"] = of_touch["hn_isa_host"] = "^src/(base/isa|cli/|engine/devices.c)"
    n = split("hn_linear hn_linear_id", word, " ")
    for (i = 1; i <= n; i++) of_nn[word[i]] = 1
    n = split("getpid isatty access unlink mkdir rmdir getcwd chdir stat lstat fstat opendir clock_gettime gmtime_r " \
              "localtime_r sigaction signal raise setenv sysconf uname mkdtemp dlopen fileno chmod uselocale " \
              "newlocale usleep nanosleep remove gmtime localtime time", word, " ")
    for (i = 1; i <= n; i++) of_system[word[i]] = 1
    n = split("assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp stdalign stdarg stdatomic " \
              "stdbool stddef stdint stdio stdlib stdnoreturn string tgmath time uchar wchar wctype " \
              "immintrin xmmintrin cpuid arm_neon", word, " ")
    for (i = 1; i <= n; i++) of_c[word[i] ".h"] = 1
    n = split("a64l asctime_r bsd_signal clock_getcpuclockid clock_getres clock_gettime clock_nanosleep " \
              "clock_settime ctermid ctime_r dprintf drand48 duplocale ecvt erand48 fcvt fdopen fileno flockfile " \
              "fmemopen freelocale fseeko ftello ftrylockfile funlockfile gcvt getc_unlocked getchar_unlocked " \
              "getdate getdelim getline getpriority getrlimit getrusage getsubopt gmtime_r grantpt initstate " \
              "isascii iswalnum iswalpha iswcntrl iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace " \
              "iswupper iswxdigit j0 j1 jn jrand48 kill killpg l64a lcong48 localtime_r lrand48 mbsnrtowcs memccpy " \
              "mkdtemp mkstemp mktemp mrand48 nanosleep newlocale nrand48 open_memstream open_wmemstream pclose " \
              "popen posix_memalign posix_openpt psiginfo psignal pthread_kill pthread_sigmask ptsname " \
              "putc_unlocked putchar_unlocked putenv rand_r random realpath renameat return scalb seed48 setenv " \
              "setkey setpriority setrlimit setstate sigaction sigaddset sigaltstack sigdelset sigemptyset " \
              "sigfillset sighold sigignore siginterrupt sigismember siglongjmp sigpause sigpending sigprocmask " \
              "sigqueue sigrelse sigset sigsetjmp sigsuspend sigtimedwait sigwait sigwaitinfo srand48 srandom " \
              "stpcpy stpncpy strdup strerror_r strndup strnlen strptime strsignal strtok_r tempnam timer_create " \
              "timer_delete timer_getoverrun timer_gettime timer_settime toascii towlower towupper tzset unlockpt " \
              "unsetenv uselocale vdprintf wait waitid waitpid wcpcpy wcpncpy wcscasecmp wcsdup wcsncasecmp wcsnlen " \
              "wcsnrtombs wcswidth wctype wcwidth y0 y1 yn", word, " ")
    for (i = 1; i <= n; i++) of_headers[word[i]] = 1
    n = split("strtod strtof strtold atof localeconv", word, " ")
    for (i = 1; i <= n; i++) reads[word[i]] = 1
    n = split("printf fprintf snprintf vprintf vfprintf dprintf", word, " ")
    for (i = 1; i <= n; i++) prints[word[i]] = 1
}
# Whether a statement prints a number that is not whole.
function prints_real(text) { return text ~ /%[-+ #0-9.*]*l?[aefgAEFG]/ }
# Without strings and comments, which may go on over lines.
function code_of(line,    out, c, two, i) {
    out = ""
    for (i = 1; i <= length(line); i++) {
        two = substr(line, i, 2)
        c = substr(line, i, 1)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++ }
        } else if (quote != "") {
            if (c == "\\") i++
            else if (c == quote) quote = ""
        } else if (two == "/*") { in_comment = 1; i++ }
        else if (two == "//") break
        else if (c == "\"" || c == "\047") quote = c
        else out = out c
    }
    quote = ""
    return out
}
{
    file = $0
    is_cli = file ~ /^src\/cli\//
    is_system = file ~ /^src\/base\/os\//
    is_base = file ~ /^src\/base\//
    makes_json = file ~ /^src\/(base\/json|text\/template\/|data\/tree\.c$|nn\/config\.c$)/
    n_files++
    at = in_comment = 0
    printing = ""
    while ((getline line < file) > 0) {
        at++
        code = code_of(line)
        if (!is_system && line ~ /^ *# *include *</) {
            header = line
            sub(/^ *# *include *</, "", header)
            sub(/>.*/, "", header)
            if (!(header in of_c)) {
                print file ":" at ": <" header "> is of src/base/os alone"
                n_bad++
            }
        }
        if (!makes_json && code ~ /(->|\.)as\.(boolean|integer|number|string|children)/) {
            print file ":" at ": the union of a JSON value is of src/base/json alone: hn_json_first() and its like know the kind"
            n_bad++
        }
        while (match(code, /[A-Za-z_][A-Za-z_0-9]* *\(/)) {
            name = substr(code, RSTART, RLENGTH)
            before = substr(code, 1, RSTART - 1)
            code = substr(code, RSTART + RLENGTH)
            sub(/ *\($/, "", name)
            is_member = before ~ /(->|\.) *$/
            is_definition = before ~ /^ *static [A-Za-z_ ]*[ *]$/
            if (name in of_files && !is_system && !is_member) {
                print file ":" at ": " name "() is of src/base/out_file.c alone"
                n_bad++
            }
            if (name in of_base && !is_base) {
                print file ":" at ": " name "() is of src/base alone"
                n_bad++
            }
            if (name in of_touch && file !~ of_touch[name]) {
                print file ":" at ": " name "() touches the process: what a heap may is asked by " of_touch[name] " alone"
                n_bad++
            }
            if (name in of_nn && (file ~ /^src\/models\// || file ~ /^src\/train\//)) {
                print file ":" at ": " name "() sums as one chain whatever the mode: a product by a weight is nn_product()"
                n_bad++
            }
            if (name in of_system && !is_system && !is_member && !is_definition) {
                print file ":" at ": " name "() is of src/base/os alone"
                n_bad++
            }
            if (name in of_headers && is_definition && !is_system) {
                print file ":" at ": " name "() is declared by some system\047s headers of C: another name"
                n_bad++
            }
            is_thread_locale = name == "setlocale" && file == "src/base/os/windows/locale.c" # of one thread
            if ((name in banned && !is_cli && !is_thread_locale) || name in reads) { print file ":" at ": " name "() is banned"; n_bad++ }
            if (name in prints && !is_cli) { printing = name; began = at; said = "" }
        }
        if (printing != "") {
            said = said line
            if (line ~ /;[ ]*$|;[ ]*\/\*/ ) {
                if (prints_real(said)) { print file ":" began ": " printing "() of a number: it follows the locale"; n_bad++ }
                printing = ""
            }
        }
    }
    close(file)
}
END {
    printf "%d passed, %d failed, 0 skipped\n", n_files - n_bad, n_bad
    exit n_bad > 0 || n_files == 0
}'
