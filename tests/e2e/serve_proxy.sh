#!/bin/sh
# serve_proxy.sh BUILD SOURCE: examples/serve: the server behind nginx and behind Caddy with TLS, each by the example's own file; streams come
# through as they are made, keys and what is too large are judged by the server, and a client that leaves the proxy
# has left the server. The unit is one for systemd. A proxy that is not there is skipped; without either, openssl or curl all of it is.
hone=$(cd "$1" && pwd)/hone source=$2 proxies='' n_skipped=0
for name in nginx caddy; do
    if command -v $name >/dev/null; then proxies="$proxies $name"; else n_skipped=$((n_skipped + 1)); fi
done
[ -n "$proxies" ] || { echo "skipped: neither nginx nor caddy"; exit 77; }
for tool in openssl curl; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
dir=$(mktemp -d)
server='' proxy=''
finish() {
    [ -z "$proxy" ] || kill "$proxy" 2>/dev/null
    [ -z "$server" ] || kill "$server" 2>/dev/null
    wait
    rm -rf "$dir"
}
trap finish EXIT
n_passed=0 n_failed=0
check() { # WORDS COMMAND...
    words=$1
    shift
    if "$@"; then n_passed=$((n_passed + 1)); else
        echo "serve_proxy.sh: $words"
        n_failed=$((n_failed + 1))
    fi
}
soon() { # COMMAND...: holds within ten seconds
    for _ in $(seq 100); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}

key=0123456789abcdef0123
(umask 077 && echo "tester $key admin" >"$dir/keys")
"$hone" serve --port 0 --threads 1 --api-keys "$dir/keys" --log lines --body-bytes 100000 >"$dir/address" 2>"$dir/log" &
server=$!
check "the server does not begin" soon grep -q http "$dir/address"
port=$(sed -n 's/.*:\([0-9]*\)$/\1/p' "$dir/address" | head -1)

tls=$((20000 + $$ % 12000)) # below those that the system gives to whoever asks for any (32768 and on)
: >"$dir/said"

begin_nginx() {
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key.pem" -out "$dir/root.pem" -subj /CN=models.example -days 2 2>/dev/null
    {
        echo "daemon off; pid $dir/pid; error_log $dir/errors; worker_processes 1;"
        echo "events { worker_connections 64; } http { access_log off;"
        for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $dir/$kind;"; done
        sed -e "s/127.0.0.1:8080/127.0.0.1:$port/; s/listen 443 ssl/listen 127.0.0.1:$tls ssl/; s,/etc/ssl/models.example.pem,$dir/root.pem,
                s,/etc/ssl/models.example.key,$dir/key.pem," "$source/examples/serve/nginx.conf"
        echo "}"
    } >"$dir/nginx.conf"
    nginx -e "$dir/errors" -p "$dir" -c "$dir/nginx.conf" 2>"$dir/said" &
    proxy=$!
}

# Certificates are Caddy's own here: nobody outside is asked for one, and nothing of this machine is told to trust them.
begin_caddy() {
    {
        echo "{"
        printf '\t%s\n' "admin off" "auto_https disable_redirects" "skip_install_trust" "storage file_system $dir/caddy"
        echo "}"
        sed -e "s/127.0.0.1:8080/127.0.0.1:$port/; s/^models.example {/models.example:$tls {\n\ttls internal\n\tbind 127.0.0.1/" \
            "$source/examples/serve/Caddyfile"
    } >"$dir/Caddyfile"
    rm -f "$dir/root.pem"
    ln -s "$dir/caddy/pki/authorities/local/root.crt" "$dir/root.pem"
    HOME=$dir caddy run --config "$dir/Caddyfile" --adapter caddyfile 2>"$dir/said" &
    proxy=$!
}

through="--cacert $dir/root.pem --resolve models.example:$tls:127.0.0.1"
ask() { # FILE-OF-BODY CURL-ARGUMENTS...: the status
    body=$1
    shift
    curl -s -o "$body" -w '%{http_code}' $through -m 60 "$@"
}
begin() { # WHAT-IS-ASKED: a client that may leave
    curl -s -N -o "$dir/part" $through $url/v1/chat/completions -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d "$1" &
    client=$!
}
leave() {
    kill $client
    wait $client 2>/dev/null
    rm -f "$dir/part"
}
url=https://models.example:$tls
answers() { [ "$(ask "$dir/out" $url/health)" = 200 ]; }
is() { [ "$1" = "$2" ] || { echo "expected $1, found $2"; return 1; }; }
n_gone() { grep -c ' gone$' "$dir/log"; }
more_gone() { [ "$(n_gone)" -gt "$1" ]; }
runs() { curl -s -m 60 "http://127.0.0.1:$port/metrics" -H "Authorization: Bearer $key" | grep -q '^hone_requests_running{.*} [1-9]'; }
chat='{"messages":[{"role":"user","content":"Tell a story."}],"stream":true,"max_tokens":20,"ignore_eos":true}'
long=$(echo "$chat" | sed 's/"max_tokens":20/"max_tokens":4000/')
whole=$(echo "$long" | sed 's/"stream":true/"n":16/')
head -c 100001 /dev/zero | tr '\0' ' ' >"$dir/large"

look_at() { # NAME
    check "$1 does not begin: $(cat "$dir/said")" soon answers
    check "$1: no key" is 401 "$(ask "$dir/out" $url/v1/models)"
    check "$1: a key" is 200 "$(ask "$dir/out" $url/v1/models -H "Authorization: Bearer $key")"
    check "$1: a stream" is 200 "$(ask "$dir/out" $url/v1/chat/completions -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d "$chat")"
    check "$1: its end" grep -q 'data: \[DONE\]' "$dir/out"
    check "$1: its words" test "$(grep -c '^data: {' "$dir/out")" -gt 3
    check "$1: a form" is 415 "$(ask "$dir/out" $url/v1/chat/completions -H "Authorization: Bearer $key" -d "a=b")"
    check "$1: a body that is too large" is 413 \
        "$(ask "$dir/out" $url/v1/chat/completions -H "Authorization: Bearer $key" -H 'Content-Type: application/json' --data-binary "@$dir/large")"
    check "$1: said by the server" grep -q 'larger than is taken here' "$dir/out"

    was_gone=$(n_gone)
    begin "$long"
    check "$1: words come before the end" soon test -s "$dir/part"
    leave
    check "$1: who leaves the proxy in a stream has left" soon more_gone "$was_gone"

    was_gone=$(n_gone)
    begin "$whole"
    check "$1: it is answered" soon runs
    leave
    check "$1: who leaves it before a word has left" soon more_gone "$was_gone"
    kill "$proxy"
    wait "$proxy"
    proxy=''
}

for name in $proxies; do
    begin_$name
    look_at $name
done

kill -TERM "$server"
check "it ends when it is asked to" soon sh -c "! kill -0 $server 2>/dev/null"
server=''

if command -v systemd-analyze >/dev/null; then
    sed "s,/usr/local/bin/hone,$hone,; s/^User=.*/User=root/" "$source/examples/serve/hone.service" >"$dir/hone.service"
    said=$(systemd-analyze verify "$dir/hone.service" 2>&1 | grep hone.service)
    check "the unit: $said" test -z "$said"
fi
echo "$n_passed passed, $n_failed failed, $n_skipped skipped"
[ $n_failed = 0 ]
