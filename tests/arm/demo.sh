#!/usr/bin/env bash
# arm/demo.sh BUILD ARM [PIECES]: `hone demo` by the aarch64 program in ARM under qemu, held to what the host's program makes. Its
# training would take qemu hours without a stop, and is done in pieces: each begins with a checkpoint of the host's run and must end
# with the bytes of the host's next, with which the piece after it begins; so all pieces are the run, and the last leaves the demo's
# adapter. They may be done in any order, on all processors, and what passed is remembered (ARM/demo, of this program alone): a call
# that was ended, or was to do PIECES at most, is gone on with by the next. The demo's other commands are given to both programs,
# and what they write is compared. Ends well when nothing is left.
set -u
build=$(cd "$1" && pwd) arm=$(cd "$2" && pwd) most=${3:-1000}
every=10 # steps a piece
cmp -s "$arm/hone" "$arm/demo/hone" || { rm -rf "$arm/demo" && mkdir "$arm/demo" && cp "$arm/hone" "$arm/demo/hone"; } || exit 1
cd "$arm/demo" || exit 1
gives_up() { echo "$1"; tail -n 5 "$2"; exit 1; }
emulated() { exec nice qemu-aarch64 -L /usr/aarch64-linux-gnu "$arm/demo/hone" "$@"; }
step() { printf 'step-%08d.ckpt' "$1"; }
command_of() { sed -n "s/^[$] hone \($1 .*\)/\1/p" "$arm/demo/log"; } # as the demo gave it

# ---- what the host makes ----

if [ ! -f host-passed ]; then
    rm -rf host && "$build/hone" demo --out host >log 2>&1 || gives_up "the host's demo failed" log
    mv host/run/adapter.gguf adapter.gguf && rm -r host/run
    # shellcheck disable=SC2046
    (cd host && "$build/hone" $(command_of train) --save-every $every --keep 1000) >train.log 2>&1 || gives_up "the host's training failed" train.log
    cmp adapter.gguf host/run/adapter.gguf || exit 1
    touch host-passed
fi

# ---- the training, in pieces ----

# From step $1 on, until the next checkpoint is whole, or to the end where there is none.
piece() {
    local at=$1 dir=piece-$1 job begun=$SECONDS next
    next=$(step $((at + every)))
    rm -rf "$dir" && mkdir "$dir" && ln host/*.gguf host/*.jsonl "$dir" || return 1
    if [ "$at" -gt 0 ]; then
        mkdir "$dir/run" && cp host/run/{run.toml,origin.json,metrics.jsonl,samples.json} "host/run/$(step "$at")" "$dir/run" || return 1
        (cd "$dir" && emulated train --resume --out run --threads 1) >"$dir/log" 2>&1 &
    else
        # shellcheck disable=SC2046
        (cd "$dir" && emulated $(command_of train) --threads 1 --save-every $every --keep 1000) >"$dir/log" 2>&1 &
    fi
    job=$!
    if [ -f "host/run/$next" ] && [ -f "host/run/$(step $((at + 2 * every)))" ]; then
        while kill -0 $job 2>/dev/null && [ ! -f "$dir/run/$next" ]; do sleep 1; done
        kill -KILL $job 2>/dev/null
        wait $job 2>/dev/null
        cmp "$dir/run/$next" "host/run/$next" || { tail -n 3 "$dir/log"; return 1; }
    else
        wait $job
        cmp "$dir/run/adapter.gguf" adapter.gguf || { tail -n 3 "$dir/log"; return 1; }
    fi
    rm -r "$dir" && touch "passed-$at" && echo "from step $at: $((SECONDS - begun)) s"
}

last=$(find host/run -name 'step-*.ckpt' | sort | tail -n 1 | sed 's/.*step-0*//; s/[.]ckpt//')
pieces=$(seq 0 $every $((last - every)))
todo=$(for at in $pieces; do [ -f "passed-$at" ] || echo "$at"; done | head -n "$most")
export arm every
export -f piece step emulated command_of
[ -z "$todo" ] || echo "$todo" | xargs -P "$(nproc)" -I{} bash -c 'piece {} || echo "from step {}: FAILED"'

# ---- the other commands, and the end ----

if [ ! -f commands-passed ]; then
    rm -rf other && mkdir -p other/run && cp adapter.gguf other/run || exit 1
    bad=0
    for name in tiny story prove merge; do
        while read -r line; do
            # shellcheck disable=SC2086
            (cd other && emulated $line) >other.log 2>&1 </dev/null || { echo "hone $line: FAILED"; tail -n 3 other.log; bad=1; }
        done < <(command_of $name)
    done
    for file in tiny.gguf chats.jsonl held.jsonl merged.gguf; do cmp "other/$file" "host/$file" || bad=1; done
    [ $bad = 0 ] && rm -r other && touch commands-passed
fi
left=$(for at in $pieces; do [ -f "passed-$at" ] || echo "$at"; done | wc -l)
echo "$left of $(echo "$pieces" | wc -l) pieces are left"
[ "$left" -eq 0 ] && [ -f commands-passed ]
