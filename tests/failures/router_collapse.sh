#!/bin/sh
# ROUTER-COLLAPSE: a mixture is trained without a balance term, experts die, and nobody sees it. The
# report of a hundred steps on skewed data has every expert's load and gradient, the entropy, and
# names the dead; routers are trained when asked for, and their losses are explicit.
. "$2/tests/failures/cli.sh"
quietly "$hone" new qwen3moe --first spread moe.gguf layers=2 width=32 heads=2 kv_heads=1 head_dim=16 expert_ffn=16 experts=16 used=2
i=0
while [ $i -lt 16 ]; do
    i=$((i + 1))
    echo '{"messages":[{"role":"user","content":"a'$i'"},{"role":"assistant","content":"<script>alert(1)</script> & aaa"}]}'
done >skewed.jsonl
train() { "$hone" train moe.gguf --data skewed.jsonl --steps 100 --batch 4 --rank 4 --rate 1e-2 "$@"; }
quietly train --out r --targets attn,experts,router
[ -s r/report.html ] || fail "no report"
text() { sed 's/<[^>]*>/ /g' r/report.html; }
is "a table a layer" 2 "$(grep -c '<summary>layer [01]: entropy of the load 0\.[0-9]* of 1' r/report.html)"
is "a row an expert" 32 "$(grep -cE '^<tr( class="dead")?><td>[0-9]+</td><td>[0-9]+</td>' r/report.html)"
dead=$(grep -cE '^<tr class="dead">' r/report.html)
holds "experts died" "$dead > 0"
text | grep -q "Dead experts: $dead of 32 *: layer [01] expert [0-9]" || fail "the dead are not named"
# The load is that of metrics.jsonl, summed.
want=$(sed -n 's/.*"experts":\[{"layer":0,"tokens":\[\([0-9]*\).*/\1/p' r/metrics.jsonl | awk '{ s += $1 } END { print s }')
is "expert 0 of layer 0" "$want" "$(sed -n 's/^<tr[^>]*><td>0<\/td><td>\([0-9]*\)<.*/\1/p' r/report.html | head -1)"
# Balance costs loss and spreads the load, and is only there when it is asked for.
entropy() { sed -n 's/.*<summary>layer 0: entropy of the load \([0-9.]*\).*/\1/p' $1/report.html; }
quietly train --out b --targets attn,experts,router --balance-weight 0.5
holds "balance spreads the load" "$(entropy b) > $(entropy r)"
refuses 'no experts: neither balance nor z' "$hone" train "$(dense d.gguf; echo d.gguf)" --data skewed.jsonl --out x --balance-weight 0.1

# The page: nothing from outside, nothing that was not meant, every tag closed; made again on demand.
grep -qiE '<script|https?://|<link|<img|@import|url\(' r/report.html && fail "the page is not by itself"
text | grep -q '&lt;script&gt;alert(1)&lt;/script&gt; &amp; aaa' || fail "what was said is not there"
awk '{ s = s $0 "\n" } END { while (match(s, /<[^>]*>/)) { t = substr(s, RSTART, RLENGTH); s = substr(s, RSTART + RLENGTH)
    if (t ~ /^<!/ || t ~ /\/>$/ || t ~ /^<meta/) continue
    name = t; gsub(/^<\/?|[ >].*$/, "", name)
    if (t ~ /^<\//) { if (stack[n] != name) { print "closed " name ", open " stack[n]; exit 1 } n-- } else stack[++n] = name }
    if (n) { print stack[n] " is open"; exit 1 } }' r/report.html || fail "tags"
is "the hash" "$(sha256sum r/adapter.gguf | cut -d' ' -f1)" "$(sed -n 's/.*id="hash">\([0-9a-f]*\).*/\1/p' r/report.html)"
for part in 'Loss by step' 'Learning rate by step' 'Gradient norm by step' 'Memory by step' 'Before and after' 'rank = 4'; do
    text | grep -q "$part" || fail "no $part"
done
is "points of each curve" 4 "$(grep -c '<polyline [^>]*points="[0-9]' r/report.html)"
cp r/report.html was.html
shows '^r/report.html$' "$hone" report r
cmp -s was.html r/report.html || fail "made again it is another"
echo '{"passed": "<b>&all"}' >r/certificate.json
quietly "$hone" report r
text | grep -q 'certificate.json *{&quot;passed&quot;: &quot;&lt;b&gt;&amp;all&quot;}' || fail "no certificate"
rm r/adapter.gguf
quietly "$hone" report r
text | grep -q 'The run has not ended yet' || fail "an unended run"
refuses 'none/metrics.jsonl' "$hone" report none
printf '{"step":1,"loss":' >r/metrics.jsonl
refuses 'metrics.jsonl' "$hone" report r
# samples: held out where there are any, none when not wanted, of whole models too
quietly train --out held --targets attn,router:full --held-fraction 0.5 --samples 2
quietly "$hone" train moe.gguf --data skewed.jsonl --out whole --steps 3 --targets all:full --samples 1
is "one" 1 "$(grep -c '"prompt"' whole/samples.json)"
quietly "$hone" train moe.gguf --data skewed.jsonl --out nothing --steps 3 --targets attn --samples 0
[ ! -e nothing/samples.json ] || fail "samples that nobody wanted"
passed
