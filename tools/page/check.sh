#!/bin/sh
# check.sh BUILD [PICTURES]: the page in a headless Chromium: types, chat, stop, edit, branches, comparison, hostile answers, seeds, keyboard, files dropped, training, reports, runs side by side, contracts, keys,
# requests from pages of other origins, axe-core, and pictures into the folder PICTURES. Takes node, Chromium (CHROMIUM names it), and from npm, in the folder that
# HN_PAGE_MODULES names or in node_modules of the one it is called in: puppeteer-core, axe-core, typescript. HN_PAGE_PARTS=checkTrain,checkModels tries these parts alone.
set -e
build=$(cd "${1:?the build folder}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
modules=${HN_PAGE_MODULES:-$PWD/node_modules}
for name in puppeteer-core axe-core typescript; do
    [ -d "$modules/$name" ] || { echo "$modules has no $name: npm install puppeteer-core axe-core typescript"; exit 1; }
done
"$modules/.bin/tsc" --noEmit --allowJs --checkJs --strict --target es2022 --module es2022 --moduleResolution bundler \
    --lib es2022,dom,dom.iterable,dom.asynciterable "$here"/../../src/server/page/*.js
pictures=${2:-$(mktemp -d)}
mkdir -p "$pictures"
exec node "$here/check.mjs" "$build/hone" "$modules" "$(cd "$pictures" && pwd)"
