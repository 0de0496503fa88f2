#!/bin/sh
# serve.sh BUILD BUILD-WINDOWS: hone.exe serves under Wine, over WSAPoll, and says what hone says here: an answer, a stream, a hundred
# streams at once while some who asked go away, and what a job has trained, whose hash is that of `hone train`.
set -u
here=$(cd "$1" && pwd)/hone there=$(cd "$2" && pwd)
wine=$(sed -n 's/^CMAKE_CROSSCOMPILING_EMULATOR:[A-Z]*=//p' "$there/CMakeCache.txt")
export WINEPREFIX="${WINEPREFIX:-$there/wine}" WINEDEBUG=-all
dir=$(mktemp -d) && cd "$dir" || exit 1
n=0 failed=0
holds() { # WHAT COMMAND...
    what=$1
    shift
    if "$@"; then n=$((n + 1)); else failed=$((failed + 1)) && echo "FAILED: $what"; fi
}
end() {
    [ -z "${servers:-}" ] || kill $servers 2>/dev/null
    wait
    rm -rf "$dir"
}
trap end EXIT
url_of() { # LOG: the line that a server begins with
    i=0
    while ! grep -q '^http' "$1" && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
    tr -d '\r' <"$1" | sed -n '1s/^\(http[^ ]*\).*/\1/p'
}
"$here" serve hone:tiny --port 0 --context 512 >out.here 2>err.here &
servers=$!
"$wine" "$there/hone.exe" serve hone:tiny --port 0 --context 512 --jobs jobs >out.there 2>err.there &
servers="$servers $!"
u_here=$(url_of out.here) u_there=$(url_of out.there)
[ "$u_here" ] && [ "$u_there" ] || { cat err.here err.there; exit 1; }
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -n 1; }
ask() { # URL NUMBER MORE
    curl -sN --max-time 300 "$1/v1/chat/completions" -H 'Content-Type: application/json' -d "{\"messages\":[{\"role\":\"user\",\"content\":
        \"Story $2, please.\"}],\"max_tokens\":24,\"seed\":$2,\"temperature\":1$3}"
}
words() { grep -o '"content":"[^"]*"\|"finish_reason":[^,}]*\|\[DONE\]'; }

for more in '' ',"stream":true'; do
    ask "$u_here" 7 "$more" | words >want
    ask "$u_there" 7 "$more" | words >got
    holds "an answer$more" cmp want got
    holds "an answer$more that says something" [ -s want ]
done
hundred() { # URL PREFIX
    asked=
    for i in $(seq 100); do
        ask "$1" "$i" ',"stream":true' >"$2.$i" &
        asked="$asked $!"
        if [ $((i % 10)) -eq 0 ]; then # one that goes away
            curl -sN --max-time 0.2 "$1/v1/chat/completions" -H 'Content-Type: application/json' \
                -d '{"messages":[{"role":"user","content":"x"}],"max_tokens":400,"stream":true}' >gone.$i &
            asked="$asked $!"
        fi
    done
    wait $asked
    for i in $(seq 100); do words <"$2.$i"; done
}
hundred "$u_here" here >want
hundred "$u_there" there >got
holds "a hundred streams at once" cmp want got
holds "a hundred ends" [ "$(grep -c DONE got)" -eq 100 ]

for i in $(seq 24); do
    echo "{\"messages\":[{\"role\":\"user\",\"content\":\"Say $i.\"},{\"role\":\"assistant\",\"content\":\"It is $i.\"}]}"
done >data.jsonl
file=$(curl -s --max-time 60 "$u_there/v1/files" -F purpose=fine-tune -F file=@data.jsonl | tee said | field id)
holds "a file: $(cat said)" [ -n "$file" ]
job=$(curl -s --max-time 60 "$u_there/v1/fine_tuning/jobs" -H 'Content-Type: application/json' \
    -d "{\"model\":\"hone-tiny\",\"training_file\":\"$file\",\"seed\":3}" | tee said | field id)
holds "a job: $(cat said)" [ -n "$job" ]
i=0 state=
while [ "$state" != succeeded ] && [ "$state" != failed ] && [ $i -lt 200 ]; do
    sleep 1
    curl -s --max-time 60 "$u_there/v1/fine_tuning/jobs/$job" >said
    state=$(field status <said) i=$((i + 1))
done
"$here" train hone:tiny --data data.jsonl --seed 3 --epochs 1 --batch 8 --samples 0 --out run >trained 2>&1
holds "the hash of what was trained: $(cat said)" [ "$(field sha256 <said)" = "$(sha256sum run/adapter.gguf | cut -d ' ' -f 1)" ]
echo "$n passed, $failed failed"
[ "$failed" -eq 0 ]
