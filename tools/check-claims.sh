#!/bin/sh
# check-claims.sh [ROOT]: what README.md says there is is what the tables have: the models that run are those of models.def, each by its
# name and no other, and ops are as many as it says at least.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
n=0 bad=0
fails() { echo "$*"; bad=$((bad + 1)); }
said=$(tr '\n' ' ' <README.md | sed -n 's/.*models that run: \([^.]*\)\. .*/\1/p' | sed 's/([^)]*)//g; s/ and, to embed texts alone,/,/; s/ *, */\n/g; s/ *$//')
for name in $(sed -n 's/^HN_MODEL(\(.*\))$/\1/p' src/models/models.def | tr _ -); do
    n=$((n + 1))
    echo "$said" | grep -qxF -- "$name" || fails "README.md: $name is no model that runs: models.def has it"
done
for name in $said; do
    n=$((n + 1))
    sed -n 's/^HN_MODEL(\(.*\))$/\1/p' src/models/models.def | tr _ - | grep -qxF -- "$name" || fails "README.md: $name: models.def has none"
done
if grep -q 'over a hundred ops' README.md; then
    n=$((n + 1))
    ops=$(grep -c '^HN_OP' src/ops/ops.def)
    [ "$ops" -gt 100 ] || fails "README.md: over a hundred ops: ops.def has $ops"
fi
[ -n "$said" ] || fails "README.md: expected \"models that run: ... .\""
echo "$((n > bad ? n - bad : 0)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ]
