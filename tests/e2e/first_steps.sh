#!/bin/sh
# The recipe of the embedded model, its first hundred steps: weights and moments, bit for bit.
# BUILD SOURCE
hone=$1/hone source=$2
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -- -$pid 2>/dev/null; rm -rf "$work"' EXIT
set -m # the run is a group of its own, to be ended as one
want=$(cat "$source/recipes/tiny/first-steps.sha256")
sh "$source/recipes/tiny/make.sh" "$hone" "$work/model" --save-every 100 --keep 3 >"$work/log" 2>&1 &
pid=$!
checkpoint="$work/model/run/step-00000100.ckpt"
until [ -f "$checkpoint" ]; do # it comes whole, under its name
    kill -0 $pid 2>/dev/null || { cat "$work/log"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
    sleep 1
done
# Of the tensors, which lie after the header: what a checkpoint says besides may grow.
header=$(od -An -tu8 -N8 "$checkpoint" | tr -d ' ')
found=$(tail -c +$((9 + header)) "$checkpoint" | sha256sum | cut -d' ' -f1)
[ "$found" = "$want" ] || { echo "step 100: expected $want, found $found"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
echo "1 passed, 0 failed, 0 skipped"
