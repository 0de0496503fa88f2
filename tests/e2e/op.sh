#!/bin/sh
# op.sh BUILD SOURCE: `hone op` on numpy files, right and wrong. No Python: the files are made here.
set -u
hone=$1/hone
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
fail() { echo "FAILED: $*"; exit 1; }
is() { # is WHAT EXPECTED-LINE COMMAND...: some line of the output begins so
    what=$1 line=$2
    shift 2
    "$@" >out 2>err || { cat err; fail "$what: status $?"; }
    grep -q "^$line" out || { cat out; fail "$what: no line begins with '$line'"; }
    n=$((n + 1))
}
refuses() { # refuses STATUS WORDS COMMAND...
    status=$1 words=$2
    shift 2
    "$@" >out 2>err
    got=$?
    [ "$got" -eq "$status" ] || { cat out err; fail "$*: status $got, expected $status"; }
    grep -q -- "$words" err || { cat err; fail "$*: the message lacks '$words'"; }
    n=$((n + 1))
}
# npy FILE SHAPE BYTES...: version 1.0, <f4, the elements as \ooo escapes
npy() {
    file=$1 shape=$2 data=$3 type=${4:-<f4}
    header="{'descr': '$type', 'fortran_order': False, 'shape': $shape, }"
    while [ $(((${#header} + 11) % 64)) -ne 0 ]; do header="$header "; done
    { printf '\223NUMPY\001\000'; printf "\\$(printf %o $((${#header} + 1)))\\000%s\\n" "$header"; printf "$data"; } >"$file"
}
one='\000\000\200\077' zero='\000\000\000\000'
npy a.npy '(1, 4)' "$one$zero$zero$zero"
npy w.npy '(2, 4)' "$one$zero$zero$zero$zero$one$zero$zero"
npy ids.npy '(1, 2)' '\001\000\000\000\000\000\000\000' '<i4'
for plan in separate reuse inplace poison; do
    for more in "--threads 1" "--threads 2" "--isa ref" "--device cpu,cpu"; do
        is "rms_norm backward" 'din0 f32\[1,4\]: 0.0007995[0-9]* 0 0 0$' \
            "$hone" op rms_norm eps=1e-4 --in a.npy --dout a.npy --plan $plan $more
    done
done
is "linear" 'y f32\[1,2\]: 1 0$' "$hone" op linear --in a.npy --in w.npy
is "cast on the way in" 'y bf16\[1,4\]: 1 0 0 0$' "$hone" op relu --in a.npy:bf16
is "max of two" 'y f32\[1,4\]: 1 0 0 0$' "$hone" op max --in a.npy --in a.npy
is "max of one" 'y f32\[1\]: 1$' "$hone" op max --in a.npy
"$hone" op silu --in a.npy --out y.npy --dout a.npy --din d && [ -s y.npy ] && [ -s d0.npy ] || fail "files"
is "a file written is a file read" 'y f32\[1,4\]: 0.73105' "$hone" op abs --in y.npy
is "every op is listed" 'rms_norm ' "$hone" op --list
"$hone" op --list --json >list.json && grep -q '"name": "outer_id"' list.json || fail "the JSON list"
# A type is a word of its own: f16 beside bf16, q1_0 beside tq1_0.
grep '"name": "linear",' list.json | grep -q '"types": "[^"]*\bq1_0\b' || fail "linear covers q1_0"
grep '"name": "cast",' list.json | grep -q '"types": "\([^"]* \)\?f16[" ]' || fail "cast covers f16"
# A backend is named where it answers that it has a kernel, for the types that it says.
"$hone" devices --ops --device cpu >devices.txt || fail "devices --ops"
for op in $(awk 'NR > 2 && $2 == "-" { print $1 }' devices.txt); do
    grep "\"name\": \"$op\"," list.json | grep -q '"backends": \[\], "kernels": {}' || fail "$op has no kernel on the cpu"
done
for op in linear rms_norm adamw; do
    grep "\"name\": \"$op\"," list.json | grep -q '"kernels": {[^}]*"cpu": "[a-z]*[0-9]* *f32' || fail "$op has kernels"
done
refuses 2 "unknown op" "$hone" op rmsnorm --in a.npy
refuses 2 "unknown attribute" "$hone" op rms_norm epsilon=1 --in a.npy
refuses 2 "expected a number" "$hone" op rms_norm eps=nan --in a.npy
refuses 2 "key=value" "$hone" op rms_norm eps --in a.npy
refuses 2 "input w is missing" "$hone" op linear --in a.npy
refuses 2 "at most" "$hone" op silu --in a.npy --in a.npy
refuses 2 "at most 2" "$hone" op linear --in a.npy --in w.npy --in a.npy
refuses 1 "expected 4 in dimension 1" "$hone" op linear --in a.npy --in ids.npy:f32
refuses 2 "from 1 to 256" "$hone" op silu --in a.npy --threads 0
refuses 2 "instruction-set level" "$hone" op silu --in a.npy --isa sse
refuses 2 "expected inplace, separate, reuse or poison" "$hone" op silu --in a.npy --plan fast
refuses 2 "unknown element type" "$hone" op silu --in a.npy:q9_9
refuses 1 "multiple of 32" "$hone" op linear --in a.npy --in w.npy:q8_0
refuses 1 "no_such.npy" "$hone" op silu --in no_such.npy
npy one.npy '(1,)' "$one"
refuses 1 "integer output" "$hone" op argmax --in a.npy --dout one.npy
head -c 40 a.npy >cut.npy && refuses 1 "cut.npy" "$hone" op silu --in cut.npy
head -c 130 a.npy >short.npy && refuses 1 "short.npy" "$hone" op silu --in short.npy
{ cat a.npy; printf 'x'; } >long.npy && refuses 1 "long.npy" "$hone" op silu --in long.npy
npy none.npy '(0, 4)' '' && refuses 1 "at least 1" "$hone" op silu --in none.npy
npy huge.npy '(4611686018427387904, 4)' '' && refuses 1 "huge.npy" "$hone" op silu --in huge.npy
npy deep.npy '(1, 1, 1, 1, 1, 1)' "$one" && refuses 1 "deep.npy" "$hone" op silu --in deep.npy
npy far.npy '(1, 2)' '\011\000\000\000\000\000\000\000' '<i4'
refuses 2 "is 9" "$hone" op gather --in w.npy --in far.npy
HN_ISA_MASK=sse refuses 2 "HN_ISA_MASK" "$hone" op silu --in a.npy
HN_ISA_MASK=ref is "the mask" 'y f32\[1,4\]: 0.73105' "$hone" op silu --in a.npy
refuses 2 "unknown command" "$hone" trian
refuses 2 "unknown option" "$hone" op silu --input a.npy
echo "$n passed, 0 failed, 0 skipped"
