#!/bin/sh
# serve_proxy.sh BUILD SOURCE: examples/serve: the server behind nginx with TLS, by the example's own file; streams come
# through as they are made, keys and what is too large are judged by the server, and a client that leaves the proxy
# has left the server. The unit is one for systemd. Where there is no nginx, openssl or curl it is skipped.
hone=$(cd "$1" && pwd)/hone source=$2
for tool in nginx openssl curl; do
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
(umask 077 && echo "tester $key" >"$dir/keys")
"$hone" serve --port 0 --threads 1 --api-keys "$dir/keys" --log lines --body-bytes 100000 >"$dir/address" 2>"$dir/log" &
server=$!
check "the server does not begin" soon grep -q http "$dir/address"
port=$(sed -n 's/.*:\([0-9]*\)$/\1/p' "$dir/address" | head -1)

openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key.pem" -out "$dir/cert.pem" -subj /CN=models.example -days 2 2>/dev/null
tls=$((20000 + $$ % 12000)) # below those that the system gives to whoever asks for any (32768 and on)
{
    echo "daemon off; pid $dir/pid; error_log $dir/errors; worker_processes 1;"
    echo "events { worker_connections 64; } http { access_log off;"
    for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $dir/$kind;"; done
    sed -e "s/127.0.0.1:8080/127.0.0.1:$port/; s/listen 443 ssl/listen 127.0.0.1:$tls ssl/; s,/etc/ssl/models.example.pem,$dir/cert.pem,
            s,/etc/ssl/models.example.key,$dir/key.pem," "$source/examples/serve/nginx.conf"
    echo "}"
} >"$dir/nginx.conf"
: >"$dir/said"
nginx -e "$dir/errors" -p "$dir" -c "$dir/nginx.conf" 2>"$dir/said" &
proxy=$!

ask() { # FILE-OF-BODY CURL-ARGUMENTS...: the status
    body=$1
    shift
    curl -s -o "$body" -w '%{http_code}' --cacert "$dir/cert.pem" --resolve "models.example:$tls:127.0.0.1" -m 60 "$@"
}
url=https://models.example:$tls
answers() { [ "$(ask "$dir/out" $url/health)" = 200 ]; }
check "the proxy does not begin: $(cat "$dir/said")" soon answers
is() { [ "$1" = "$2" ] || { echo "expected $1, found $2"; return 1; }; }
check "no key" is 401 "$(ask "$dir/out" $url/v1/models)"
check "a key" is 200 "$(ask "$dir/out" $url/v1/models -H "Authorization: Bearer $key")"
chat='{"messages":[{"role":"user","content":"Tell a story."}],"stream":true,"max_tokens":20,"ignore_eos":true}'
check "a stream" is 200 "$(ask "$dir/out" $url/v1/chat/completions -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d "$chat")"
check "its end" grep -q 'data: \[DONE\]' "$dir/out"
check "its words" test "$(grep -c '^data: {' "$dir/out")" -gt 3
check "a form" is 415 "$(ask "$dir/out" $url/v1/chat/completions -H "Authorization: Bearer $key" -d "a=b")"
head -c 100001 /dev/zero | tr '\0' ' ' >"$dir/large"
check "a body that is too large" is 413 \
    "$(ask "$dir/out" $url/v1/chat/completions -H "Authorization: Bearer $key" -H 'Content-Type: application/json' --data-binary "@$dir/large")"
check "said by the server" grep -q 'larger than is taken here' "$dir/out"

long=$(echo "$chat" | sed 's/"max_tokens":20/"max_tokens":4000/')
curl -s -N --cacert "$dir/cert.pem" --resolve "models.example:$tls:127.0.0.1" $url/v1/chat/completions -H "Authorization: Bearer $key" \
    -H 'Content-Type: application/json' -d "$long" >"$dir/part" &
client=$!
check "words come before the end" soon test -s "$dir/part"
kill $client 2>/dev/null
check "who leaves the proxy has left" soon grep -q ' gone$' "$dir/log"

kill -TERM "$server"
check "it ends when it is asked to" soon sh -c "! kill -0 $server 2>/dev/null"
server=''

if command -v systemd-analyze >/dev/null; then
    sed "s,/usr/local/bin/hone,$hone,; s/^User=.*/User=root/" "$source/examples/serve/hone.service" >"$dir/hone.service"
    said=$(systemd-analyze verify "$dir/hone.service" 2>&1 | grep hone.service)
    check "the unit: $said" test -z "$said"
fi
echo "$n_passed passed, $n_failed failed, 0 skipped"
[ $n_failed = 0 ]
