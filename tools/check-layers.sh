#!/bin/sh
# check-layers.sh [ROOT]: every #include "layer/..." in src/ is one that docs/layers.txt allows, and every
# "layer/room/..." within a layer that has rooms.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
find src -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \) | sort |
awk '
BEGIN {
    while ((getline line < "docs/layers.txt") > 0) {
        if (line ~ /^#/ || line !~ /:/) continue
        split(line, side, ":")
        gsub(/ /, "", side[1])
        known[side[1]] = 1
        if (side[1] ~ /\//) has_rooms[substr(side[1], 1, index(side[1], "/") - 1)] = 1
        n = split(side[2], below, " ")
        for (i = 1; i <= n; i++) allowed[side[1], below[i]] = 1
    }
}
{
    file = $0
    split(file, part, "/")
    layer = part[2]
    room = part[2] "/" part[3]
    n_files++
    if (!(layer in known)) { print file ": " layer " is no layer of docs/layers.txt"; n_bad++ }
    if (layer in has_rooms && !(room in known)) { print file ": " room " is no room of docs/layers.txt"; n_bad++ }
    at = 0
    while ((getline line < file) > 0) {
        at++
        if (line !~ /^ *# *include *"/) continue
        sub(/^ *# *include *"/, "", line)
        sub(/".*/, "", line)
        target = line
        if (target !~ /\//) { print file ":" at ": \"" target "\": write the path from src/"; n_bad++; continue }
        split(target, part, "/")
        other = part[1] "/" part[2]
        if (part[1] == layer && layer in has_rooms && other != room && !((room, other) in allowed)) {
            print file ":" at ": " room " may not include " line
            n_bad++
        }
        sub(/\/.*/, "", target)
        if (target == "hone" || target == layer || (layer, target) in allowed) continue
        print file ":" at ": " layer " may not include " line
        n_bad++
    }
    close(file)
}
END {
    printf "%d passed, %d failed, 0 skipped\n", n_files - n_bad, n_bad
    exit n_bad > 0 || n_files == 0
}'
