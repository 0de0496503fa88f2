#!/bin/sh
# check-structs.sh [ROOT] [--lent]: every struct of include/hone can grow, whoever fills it.
#   filled  by a caller, `const hn_x *` of a function, and what such a struct points to: begins with `size_t size`, and is taken
#           by hn_take_struct, or in a list, by hn_take_element.
#   given   by the library into the caller's memory, `hn_x *` of a function: its size is the next parameter, `size_t size`, and
#           it is filled by HN_GIVES.
#   lent    by the library, as `const hn_x *`: of a function, in a callback, in what is given or lent. It is read in place.
# Of the first two, src/engine/structs.def has the last field. Those named here are elements of arrays that the library makes, whose
# callers know no other distance from one to the next: they stay as they are. What is none is not to be named. --lent lists those that
# are lent alone.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
fixed=" hn_lm_distance hn_lm_likely hn_lm_estimate hn_lm_span "
list=${TMPDIR:-/tmp}/hn-structs.$$
trap 'rm -f "$list"' EXIT
cat include/hone/*.h | grep -v '^#' | awk -v fixed="$fixed" '
    { text = text $0 " " }
    function wrong(name, words) { print "wrong", name ": " words }
    function is_fixed(name) { return index(fixed, " " name " ") }
    # Without the parameters of callbacks.
    function fields(name, words) {
        words = body[name]
        gsub(/\)\([^()]*\)/, ")", words)
        return words
    }
    function first_struct(words, found) {
        found = ""
        if (match(words, /(^|[ (])hn_[a-z0-9_]+/)) {
            found = substr(words, RSTART, RLENGTH)
            sub(/^[ (]/, "", found)
        }
        return found in body ? found : ""
    }
    function mark(name, how) {
        if (!((name, how) in seen)) {
            seen[name, how] = 1
            todo[++n_todo] = name " " how
        }
    }
    # What callbacks are told.
    function told(words, who, rest, inner, part, n, i, name) {
        for (rest = words; match(rest, /\)\([^()]*\)/);) {
            inner = substr(rest, RSTART + 2, RLENGTH - 3)
            rest = substr(rest, RSTART + RLENGTH)
            n = split(inner, part, ",")
            for (i = 1; i <= n; i++)
                if ((name = first_struct(part[i])) != "") {
                    if (part[i] ~ ("const " name " \\*[^*]*$"))
                        mark(name, "lent")
                    else
                        wrong(name, "a callback of " who " gets it: expected const " name " *")
                }
        }
    }
    # Parameters: `who` is the function.
    function parameters(words, who, part, n, i, name) {
        told(words, who)
        gsub(/\)\([^()]*\)/, ")", words)
        n = split(words, part, ",")
        for (i = 1; i <= n; i++) {
            name = first_struct(part[i])
            if (name == "")
                continue
            if (part[i] ~ ("const " name " \\*\\*"))
                mark(name, "lent")
            else if (part[i] ~ ("const " name " \\*")) {
                mark(name, "filled")
                # Two of them, or as many as another parameter says, are elements.
                if (part[i + 1] ~ /^ *(size_t|int32_t) n[a-z_]*$/ || part[i - 1] ~ /^ *int32_t n_[a-z]*$/)
                    is_element[name] = 1
            } else if (part[i] ~ (name " \\*[^*]*$")) {
                mark(name, "given")
                if (!is_fixed(name) && (i == n || part[i + 1] !~ /^ *size_t ([a-z]*_)?size *$/))
                    wrong(name, who " fills it: expected its size as the next parameter, size_t size")
            } else
                wrong(name, who " takes it by value, or by pointers that are not const")
        }
    }
    # What a struct holds is filled, or lent, with it.
    function holds(name, how, words, part, n, i, field, inner) {
        words = body[name]
        told(words, name)
        words = fields(name)
        n = split(words, part, ";")
        for (i = 1; i <= n; i++) {
            inner = first_struct(part[i])
            if (inner == "" || part[i] ~ /\(\*/)
                continue
            field = part[i]; sub(/.*[ *]/, "", field)
            if (part[i] !~ /\*/) {
                is_element[inner] = 1
                mark(inner, how)
                if (!is_fixed(inner))
                    wrong(inner, name " holds it by value: expected const " inner " *")
            } else {
                if (words ~ ("(^|[ ,*])n_" field "(;|,|$)")) {
                    is_element[inner] = 1
                    if (body[inner] !~ /^size_t size(;|$)/ && how != "filled" && !is_fixed(inner))
                        wrong(inner, name " points to many: no element of an array can grow that has no size")
                }
                mark(inner, how == "filled" ? how : "lent")
            }
        }
    }
    END {
        while (match(text, /\/\*/)) {
            rest = substr(text, RSTART + 2)
            text = substr(text, 1, RSTART - 1) " " substr(rest, index(rest, "*/") + 2)
        }
        gsub(/  +/, " ", text)
        for (rest = text; match(rest, /typedef struct [a-z0-9_]+ \{[^}]*\}/); rest = substr(rest, RSTART + RLENGTH)) {
            words = substr(rest, RSTART, RLENGTH)
            name = words; sub(/^typedef struct /, "", name); sub(/ .*/, "", name)
            sub(/^[^{]*\{ */, "", words); sub(/;* *\}$/, "", words)
            body[name] = words
        }
        for (rest = text; match(rest, /HN_API [^;]*;/);) {
            words = substr(rest, RSTART + 7, RLENGTH - 8)
            rest = substr(rest, RSTART + RLENGTH)
            who = words; sub(/\(.*/, "", who)
            name = first_struct(who)
            if (name != "" && who ~ ("^const " name " \\*"))
                mark(name, "lent")
            else if (name != "")
                wrong(name, "it is returned: expected const " name " *: " who)
            sub(/.*[ *]/, "", who)
            sub(/^[^(]*\(/, "", words); sub(/\)$/, "", words)
            parameters(words, who)
        }
        for (i = 1; i <= n_todo; i++) {
            split(todo[i], one, " ")
            holds(one[1], one[2])
        }
        for (name in body) {
            is_filled = (name, "filled") in seen; is_given = (name, "given") in seen; is_lent = (name, "lent") in seen
            words = fields(name); last = words
            sub(/.*;/, "", last); sub(/\[.*/, "", last); sub(/\)$/, "", last); sub(/.*[ *,]/, "", last)
            if (is_fixed(name) && is_filled)
                wrong(name, "a caller fills it: its elements have sizes of their own")
            else if (is_fixed(name)) {
                if (!is_element[name])
                    wrong(name, "no element of an array and no value within a struct: it can grow")
            } else if (!is_filled && !is_given && !is_lent)
                wrong(name, "no function takes, fills or lends it")
            else if (is_filled && words !~ /^size_t size(;|$)/)
                wrong(name, "a caller fills it: expected size_t size; as its first field")
            else
                print is_filled ? (is_element[name] ? "listed" : "filled") : is_given ? "given" : "lent", name, last, is_given + 0
        }
    }' | sort >"$list"
if [ "${2:-}" = --lent ]; then
    sed -n 's/^lent \([a-z0-9_]*\) .*/\1/p' "$list"
    exit
fi
n=0 bad=0
wrong() {
    echo "$1"
    bad=$((bad + 1))
}
while read -r how name last is_given; do
    n=$((n + 1))
    kind=HN_STRUCT
    case $how in
    wrong)
        wrong "$name $last $is_given"
        continue
        ;;
    lent) continue ;;
    given) kind=HN_RESULT ;;
    esac
    listed=$(sed -n "s/^$kind($name, \([a-z0-9_]*\))\$/\1/p" src/engine/structs.def | tail -n 1)
    if [ "$listed" != "$last" ]; then
        wrong "$name: its last field is $last: src/engine/structs.def ends it with ${listed:-no field} of $kind"
    elif [ "$how" = filled ] && ! grep -rqF "hn_take_struct(\"$name\"" src; then
        wrong "$name: no hn_take_struct takes it"
    elif [ "$how" = listed ] && ! grep -rqF "hn_take_element(\"$name\"" src; then
        wrong "$name: no hn_take_element takes it"
    elif [ "$is_given" = 1 ] && ! grep -rqF "HN_GIVES($name, " src; then
        wrong "$name: no HN_GIVES fills it"
    fi
done <"$list"
for kind in 'HN_STRUCT:\(filled\|listed\):fills' HN_RESULT:given:'is given'; do
    how=${kind#*:}
    for name in $(sed -n "s/^${kind%%:*}(\([a-z0-9_]*\),.*/\1/p" src/engine/structs.def | sort -u); do
        grep -q "^${how%%:*} $name " "$list" || wrong "$name: src/engine/structs.def has it, and no caller ${how#*:} it"
    done
done
# What is given is zero after every failure: nothing returns before HN_GIVES.
late=$(find src -name '*.c' -exec awk '
    /HN_ENTER\(\)/ { before = "" }
    /HN_REQUIRE\(|HN_TRY\(|return / && before == "" { before = FILENAME ":" FNR }
    /HN_GIVES\([a-z]/ && before != "" { print FILENAME ":" FNR ": HN_GIVES comes behind " before ", from where it may return" }' {} +)
[ -z "$late" ] || wrong "$late"
echo "$((n - bad)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ] && [ "$n" -gt 0 ]
