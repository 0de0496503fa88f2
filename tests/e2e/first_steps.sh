#!/bin/sh
# The recipe of the embedded model, its first hundred steps: weights and moments, bit for bit.
# BUILD SOURCE [--quick: the first twenty]
hone=$1/hone source=$2
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -- -$pid 2>/dev/null; rm -rf "$work"' EXIT
set -m # the run is a group of its own, to be ended as one
steps=100
[ "${3:-}" = --quick ] && steps=20
want=$(sed -n "s/^$steps //p" "$source/recipes/tiny/first-steps.sha256")
sh "$source/recipes/tiny/make.sh" "$hone" "$work/model" --save-every $steps --keep 3 >"$work/log" 2>&1 &
pid=$!
checkpoint="$work/model/run/step-$(printf %08d $steps).ckpt"
until [ -f "$checkpoint" ]; do # it comes whole, under its name
    kill -0 $pid 2>/dev/null || { cat "$work/log"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
    sleep 1
done
# Of the tensors, which lie after the header: what a checkpoint says besides may grow.
header=$(od -An -tu8 -N8 "$checkpoint" | tr -d ' ')
found=$(tail -c +$((9 + header)) "$checkpoint" | sha256sum | cut -d' ' -f1)
[ "$found" = "$want" ] || { echo "step $steps: expected $want, found $found"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
echo "1 passed, 0 failed, 0 skipped"
