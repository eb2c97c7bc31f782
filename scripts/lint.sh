#!/usr/bin/env bash
# Formatting of all files, ruff on the Python files, clones, clang-tidy on the C++ files.
#
# clang-tidy takes seconds a unit, so a unit that passed before with the same text, headers, options
# and clang-tidy is skipped: scripts/lint_clean.txt has the keys (scripts/lint_units.py) of those
# that passed when it was last committed, and a cache in the home directory those since.
# ROBUSTRUN_LINT_ALL=1 looks at all.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0

mapfile -t cpp < <(git ls-files -co --exclude-standard -- '*.h' '*.cpp')
echo "clang-format: ${#cpp[@]} files"
clang-format-19 --dry-run -Werror "${cpp[@]}" || failed=1

echo "ruff"
.venv/bin/ruff check --no-cache --quiet . bench/run || failed=1

# Clones of ten lines or more, in any language. Tests may repeat themselves; Grafana's format does.
echo "jscpd"
clones=$(.venv/bin/jscpd --min-lines 10 --min-tokens 50 --exit-code 1 --fail-on-empty \
  --ignore 'tests/**,build*/**,dist/**,.venv*/**,node_modules/**,configs/grafana/**,**/*.md' \
  --reporters console . 2>&1) ||
  { echo "$clones"; failed=1; }

# Like the compiler, clang-tidy gets files of the build that include several of ours
# (cmake/options.cmake), without the options that only g++ knows.
mkdir -p build/lint
sed -E 's/ -fno-ipa-modref| -Wno-(subobject-linkage|maybe-uninitialized)| -Werror//g' \
  build/compile_commands.json > build/lint/compile_commands.json
clean=scripts/lint_clean.txt
verdicts=${XDG_CACHE_HOME:-$HOME/.cache}/robustrun-lint  # a stamp for each unit that passed
mkdir -p "$verdicts"
find "$verdicts" -type f -mtime +30 -delete
export clean verdicts
tidy_one() {  # a line of lint_units.py
  local key=${1%%$'\t'*} unit=${1#*$'\t'}
  local verdict=$verdicts/$key
  if [ -z "${ROBUSTRUN_LINT_ALL:-}" ]; then
    [ -e "$verdict" ] && touch "$verdict" && return
    grep -qsxF "$key" "$clean" && return
  fi
  echo "$unit" >> build/lint/looked_at
  clang-tidy-19 --quiet -p build/lint --extra-arg=-Wno-error "$unit" 2>/dev/null && touch "$verdict"
}
export -f tidy_one
: > build/lint/looked_at
scripts/lint_units.py build/lint > build/lint/units || : > build/lint/units
if [ ! -s build/lint/units ]; then
  failed=1
elif xargs -a build/lint/units -d '\n' -P "$(nproc)" -I{} bash -c 'tidy_one "$1"' _ {}; then
  cut -f 1 build/lint/units | sort -u > build/lint/clean
  cmp -s build/lint/clean "$clean" ||
    { cp build/lint/clean "$clean"; echo "$clean is renewed: please commit it"; }
else
  failed=1
fi
echo "clang-tidy: $(wc -l < build/lint/units) units, $(wc -l < build/lint/looked_at) of them new"

[ $failed = 0 ] && echo "lint: clean"
exit $failed
