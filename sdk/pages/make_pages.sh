#!/bin/sh
# make_pages.sh BURN VERSION OUT - manual pages and completion of the command BURN, made from its own help texts, into OUT/man and
# OUT/completion. See README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
burn=$1 version=$2 out=$3
LC_ALL=C
export LC_ALL
rm -rf "$out"
mkdir -p "$out/man" "$out/completion"
table=$out/table

commands=$("$burn" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
{
  echo @
  "$burn" --help
  for command in $commands; do
    echo "@$command"
    "$burn" "$command" --help
  done
} >"$out/help"
awk -f "$here/table.awk" "$out/help" >"$table"

for command in "" $commands; do
  awk -f "$here/man.awk" -v page="$command" -v version="$version" "$table" >"$out/man/burn${command:+-$command}.1"
done
awk -f "$here/plugins.awk" -v version="$version" "$here/../burn/environment.def" "$here/../guide/options.md" "$here/burn-plugins.7.in" \
  >"$out/man/burn-plugins.7"
awk -f "$here/completion.awk" -f "$here/bash.awk" "$table" >"$out/completion/burn"
awk -f "$here/completion.awk" -f "$here/zsh.awk" "$table" >"$out/completion/_burn"
awk -f "$here/completion.awk" -f "$here/fish.awk" "$table" >"$out/completion/burn.fish"
rm "$out/help" "$table"
