#!/usr/bin/env bash
# Formatting of all files, clang-tidy on the C++ files, ruff on the Python files.
#
# clang-tidy takes seconds a unit: those whose content, and whose headers, passed before are not
# looked at again (build/lint holds a stamp per file).
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0

mapfile -t cpp < <(git ls-files -co --exclude-standard -- '*.h' '*.cpp')
echo "clang-format: ${#cpp[@]} files"
clang-format-19 --dry-run -Werror "${cpp[@]}" || failed=1

echo "ruff"
.venv/bin/ruff check --no-cache --quiet . bench/run || failed=1

# clang-tidy sees what the compiler sees: a file of the build that includes several of ours
# (cmake/options.cmake). It takes no option of g++'s own.
mkdir -p build/lint
sed -E 's/ -fno-ipa-modref| -Wno-(subobject-linkage|maybe-uninitialized)//g' \
  build/compile_commands.json > build/lint/compile_commands.json
mapfile -t sources < <(sed -nE 's/^ *"file": "(.*)",?$/\1/p' build/lint/compile_commands.json |
  grep -v -e '/build/tests/' -e "^$PWD/tests/")
# What a verdict depends on besides the files themselves: all headers and the settings.
common=$(git ls-files -co --exclude-standard -- '*.h' .clang-tidy | xargs cat | sha1sum)
tidy_one() {
  stamp=build/lint/$( (echo "$2"; cat "$1"; sed -nE 's/^#include "(\/.*)"$/\1/p' "$1" | xargs -r cat) |
    sha1sum | cut -c1-40)
  [ -e "$stamp" ] && exit 0
  clang-tidy-19 --quiet -p build/lint --extra-arg=-Wno-error "$1" 2>/dev/null && touch "$stamp"
}
export -f tidy_one
echo "clang-tidy: ${#sources[@]} units"
printf '%s\0' "${sources[@]}" |
  xargs -0 -P "$(nproc)" -I{} bash -c 'tidy_one "$1" "$2"' _ {} "$common" || failed=1

[ $failed = 0 ] && echo "lint: clean"
exit $failed
