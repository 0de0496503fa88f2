# cli.sh: what the scripts here share. Sourced as `. cli.sh BUILD`: $hone, a folder of their own,
# small models and chats.
set -u
hone=$1/hone
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; exit 1; }
quietly() { # COMMAND...: it works
    "$@" >out 2>err
    got=$?
    [ "$got" -eq 0 ] || { cat out err; fail "$*: status $got"; }
    n=$((n + 1))
}
shows() { # PATTERN COMMAND...: it works, and a line of its output matches
    want=$1
    shift
    quietly "$@"
    grep -Eq -- "$want" out err || { cat out err; fail "$*: no line matches '$want'"; }
}
refuses() { # WORDS COMMAND...: a status that is no success, and the words
    words=$1
    shift
    "$@" >out 2>err
    got=$?
    [ "$got" -ne 0 ] || { cat out err; fail "$*: it worked, expected '$words'"; }
    [ "$got" -lt 128 ] || { cat out err; fail "$*: ended by a signal"; }
    grep -Eq -- "$words" err || { cat out err; fail "$*: the message lacks '$words'"; }
    n=$((n + 1))
}
is() { # WHAT EXPECTED FOUND
    [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
    n=$((n + 1))
}
there() { # FILE...: one of them at least, which patterns without a file are not
    for file in "$@"; do
        [ ! -e "$file" ] || return 0
    done
    return 1
}
holds() { # WHAT AWK_CONDITION
    awk "BEGIN { exit !($2) }" || fail "$1: $2"
    n=$((n + 1))
}
# until_there JOB CONDITION...: the condition holds, or the job has ended. It has no limit of time: a machine that
# is slow is no failure, and what hangs is ended by CTest.
until_there() {
    job=$1
    shift
    until "$@"; do
        kill -0 "$job" 2>/dev/null || return 0
        sleep 0.02
    done
}
digest() { sed -n 's/^sha256 //p' out; }
# Written slowly would be a test of patience: a few kilobytes each.
dense() { quietly "$hone" new --first spread --overwrite llama "$1" layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64; }
mixture() { quietly "$hone" new --first spread --overwrite qwen3moe "$1" layers=2 width=32 heads=2 kv_heads=1 head_dim=16 expert_ffn=32 experts=4 used=2; }
chats() { # N FILE
    i=0
    while [ $i -lt "$1" ]; do
        i=$((i + 1))
        echo "{\"messages\":[{\"role\":\"user\",\"content\":\"question $i\"},{\"role\":\"assistant\",\"content\":\"answer $i is $((i * 7 % 23))\"}]}"
    done >"$2"
}
passed() { echo "$n passed"; }
