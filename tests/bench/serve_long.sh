#!/bin/sh
# serve_long.sh BUILD [REQUESTS]: so many requests (2,000,000) of a tiny model by sixteen connections, beside 200 that ask nothing more:
# memory and descriptors are afterwards what they were after the first round, and none is lost. Linux: it looks into /proc.
build=$(cd "${1:?the build folder}" && pwd)
wanted=${2-2000000}
dir=$(mktemp -d)
server='' quiet=''
finish() {
    [ -z "$quiet" ] || kill "$quiet" 2>/dev/null
    [ -z "$server" ] || kill "$server" 2>/dev/null
    wait
    rm -rf "$dir"
}
trap finish EXIT
"$build/hone" new llama "$dir/m.gguf" layers=1 width=32 heads=2 head_dim=16 context=256 >/dev/null || exit 1
echo '{"prompt":[70,71,72],"max_tokens":1,"seed":1}' >"$dir/body"
"$build/hone" serve "m=$dir/m.gguf" --port 0 --threads 1 --parallel 16 --idle-ms 100000000 >"$dir/address" 2>"$dir/log" &
server=$!
for _ in $(seq 300); do
    grep -q http "$dir/address" && break
    sleep 0.1
done
port=$(sed -n 's/.*:\([0-9]*\)$/\1/p' "$dir/address" | head -1)
[ -n "$port" ] || { echo "the server does not begin: $(cat "$dir/log")"; exit 1; }

# They have asked once, or they would be taken for those who never do.
python3 - "$port" "$dir/quiet" <<'PY' &
import signal, socket, sys
all = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for _ in range(200)]
for one in all:
    one.sendall(b'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
    assert one.recv(4096).startswith(b'HTTP/1.1 200')
open(sys.argv[2], 'w').close()
signal.pause()
PY
quiet=$!
for _ in $(seq 300); do
    [ -e "$dir/quiet" ] && break
    sleep 0.1
done

value() { echo "$metrics" | awk -v name="$1" 'index($1, name) == 1 { sum += $2 } END { printf "%d", sum }'; }
look() {
    metrics=$(curl -s "http://127.0.0.1:$port/metrics")
    resident=$(awk '/VmRSS/ { print $2 }' "/proc/$server/status") descriptors=$(ls "/proc/$server/fd" | wc -l)
    heap=$(value hone_memory_bytes) answered=$(value hone_tokens_generated_total)
    echo "$answered answered: $resident KiB resident, $heap bytes on the heap, $descriptors descriptors"
}
bad=0 rounds=0
while :; do
    "$build/tests/bench/serve_load" --port "$port" --path /v1/completions --body "$dir/body" --connections 16 --seconds 15 >"$dir/load" || bad=1
    grep -q '^lost 0, not 200 0' "$dir/load" || { cat "$dir/load"; bad=1; }
    look
    rounds=$((rounds + 1))
    [ $rounds -gt 1 ] || first_resident=$resident first_heap=$heap first_descriptors=$descriptors
    [ "$answered" -lt "$wanted" ] && [ $bad = 0 ] || break
done
[ "$heap" = "$first_heap" ] && [ "$descriptors" = "$first_descriptors" ] && [ "$descriptors" -ge 200 ] && [ "$resident" -le $((first_resident + 1024)) ] || bad=1
[ $bad = 0 ] && echo "1 passed, 0 failed" || echo "0 passed, 1 failed"
exit $bad
