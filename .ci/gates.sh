# gates.sh: what .ci/run and .ci/nightly share.
passed=0 failed=0
only= # a pattern of names; gates of other names are passed over

room() { df -Pk "$1" | awk 'NR == 2 { printf "%.1f GB are free in %s", $4 / 1048576, $6 }'; }

# Nothing is begun that the disk has no room for: the release build takes 2 GB, and the largest that stands beside it 4.
room_needed=8
if [ "$(df -Pk . | awk 'NR == 2 { print $4 }')" -lt $((room_needed * 1048576)) ]; then
    echo "expected at least $room_needed GB of room for builds, but $(room .)"
    exit 1
fi

# worked FILE: seconds of processors that `times` says of what a shell waited for. A machine that does other things changes those of
# the clock alone.
worked() { awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, at, "m"); n += 60 * at[1] + at[2] } } END { printf "%d", n }' "$1"; }

# gate NAME COMMAND...: its time, and the end of what it printed if it failed, without what was built well; one that ends with 77
# lacks what it says
gate() {
    local name=$1 log start=$SECONDS status=0 before after
    shift
    [[ "$name" =~ $only ]] || return 0
    log=$(mktemp) || { failed=$((failed + 1)); echo "FAILED  $name: $(room "${TMPDIR:-/tmp}")"; return; }
    times >"$log" && before=$(worked "$log")
    "$@" >"$log" 2>&1 || status=$?
    times >"$log.times" && after=$(worked "$log.times")
    rm -f "$log.times"
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok      $name ($((SECONDS - start)) s, $((after - before)) of a processor)"
    elif [ "$status" -eq 77 ]; then
        echo "skipped $name: $(tail -n 1 "$log")"
    else
        failed=$((failed + 1))
        echo "FAILED  $name ($((SECONDS - start)) s, $(room .))"
        grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking) ' "$log" | tail -n 40
    fi
    rm -f "$log"
}

# beside NAME COMMAND NAME COMMAND: two gates that take a processor each, at a time. One that says nothing failed.
beside() {
    local said ok skipped
    said=$(mktemp -d) || { failed=$((failed + 2)); echo "FAILED  $1, $3: $(room "${TMPDIR:-/tmp}")"; return; }
    (gate "$1" "$2") >"$said/1" &
    (gate "$3" "$4") >"$said/2"
    wait $!
    cat "$said/1" "$said/2"
    ok=$(cat "$said"/* | grep -c '^ok  ') skipped=$(cat "$said"/* | grep -c '^skipped ')
    [[ "$1" =~ $only ]] || skipped=$((skipped + 1))
    [[ "$3" =~ $only ]] || skipped=$((skipped + 1))
    passed=$((passed + ok)) failed=$((failed + 2 - ok - skipped))
    rm -rf "$said"
}

# sanitized FOLDER SANITIZERS TARGET...: a build in FOLDER; without targets, of everything. Kernels, which are
# never sanitized, are those of the release build.
sanitized() {
    local dir=$1 kinds=$2 lean=
    shift 2
    case $kinds in address*) lean=-Wl,-S ;; esac # functions without lines, in 4 GB for 8; a race is told by its lines
    cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release &&
        cmake --build build -j 2 --target hn_kernel_objects &&
        cmake -S . -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="-O1 -g1" -DHN_SANITIZE="$kinds" \
            -DCMAKE_EXE_LINKER_FLAGS=$lean -DHN_KERNELS_OF="$PWD/build" &&
        cmake --build "$dir" -j 2 ${1:+--target "$@"}
}

# ctests BUILD ARGS...: those of CTest; it is a failure if there is none
ctests() {
    local build=$1
    shift
    ctest --test-dir "$build" --output-on-failure -j 2 --no-tests=error "$@"
}

# fuzz BUILD ROUNDS: every target, two at a time, with inputs that nobody has tried yet; the seed is printed
fuzz() {
    local seed targets
    seed=$(date +%s)
    echo "seed $seed"
    targets=$(find "$1/tests/fuzz" -maxdepth 1 -type f -perm -u+x) && [ -n "$targets" ] || return 1
    echo "$targets" | ROUNDS=$2 SEED=$seed xargs -P 2 -I '{}' bash -c '
        said=$("$1" --corpus "tests/fuzz/corpus/${1##*/}" --rounds "$ROUNDS" --seed "$SEED" 2>&1) || { echo "$said"; exit 1; }' fuzz '{}'
}

# for_arm TARGET...: of the cross build
for_arm() {
    tools/need.sh qemu-aarch64:qemu-user aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu,libc6-dev-arm64-cross &&
        cmake --preset arm64 && cmake --build build-arm64 -j 2 --target "$@"
}
on_arm() { qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"; }

# A compiler for other systems comes with a Python package.
has_zig() {
    [ -n "${HN_ZIG:-}" ] || command -v zig >/dev/null || python3 -m ziglang version >/dev/null 2>&1 || {
        tools/need.sh python3:python3-venv && python3 -m venv build-zig && build-zig/bin/pip install -q ziglang==0.17.1 || return 1
        export HN_ZIG="$PWD/build-zig/bin/python -m ziglang"
    }
}

# Digests of every kernel stand in tests/kernels/digests. A processor compares the levels that it has in CTest; these are for
# others, or for a level by itself: two at a time, what each said only if it failed.
kernel_checks() { ls tests/kernels/check_*.c | sed 's,.*/,test_kernels_,; s,[.]c$,,'; }
kernels_on() { # FOLDER RUNNER...: the check comes after the runner
    local folder=$1
    shift
    export -f on_arm
    ls "$folder"/tests/kernels/check_* | xargs -P 2 -I '{}' bash -c 'said=$("$@" 2>&1) || { echo "$said"; echo "$*"; exit 1; }' check "$@"
}

# Who has these names for something else would have gates call that.
readonly -f room worked gate beside sanitized ctests fuzz for_arm on_arm has_zig kernel_checks kernels_on
