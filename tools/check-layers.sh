#!/bin/sh
# check-layers.sh [ROOT]: every #include "layer/..." in src/ is one that docs/layers.txt allows, and every
# "layer/room/..." within a layer that has rooms.
#
# src/cli is a guest: its files include hone/, cli/ and what it may, but for those that layers.txt names `inside`.
# Such a file may be included by one of its kind only, and one that needs no place there loses it.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
find src -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \) | sort |
awk '
BEGIN {
    while ((getline line < "docs/layers.txt") > 0) {
        if (line ~ /^inside /) {
            n = split(line, word, " ")
            for (i = 2; i <= n; i++) {
                if (("src/cli/" word[i]) in listed) { print "docs/layers.txt: " word[i] " stands there twice"; n_bad++ }
                listed["src/cli/" word[i]] = 1
            }
            continue
        }
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
        if (layer == "cli") {
            sub(/\/.*/, "", target)
            if (target == "hone" || (layer, target) in allowed || (target == "cli" && !(("src/" line) in listed))) continue
            needs[file] = 1
            if (!(file in listed)) {
                print file ":" at ": src/cli is written on include/hone: " line (target == "cli" ? ", which looks inside" : "")
                n_bad++
            }
            continue
        }
        sub(/\/.*/, "", target)
        if (target == "hone" || target == layer || (layer, target) in allowed) continue
        print file ":" at ": " layer " may not include " line
        n_bad++
    }
    close(file)
}
END {
    for (file in listed) {
        if (file in needs) continue
        print "docs/layers.txt: " substr(file, 9) " needs nothing inside: take it off the list"
        n_bad++
    }
    printf "%d passed, %d failed, 0 skipped\n", n_files - n_bad, n_bad
    exit n_bad > 0 || n_files == 0
}'
