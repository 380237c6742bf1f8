#!/bin/sh
# pages_test.sh BURN PAGES SOURCE - the manual pages and completions in the folder PAGES against what the command BURN says about itself, and
# against the sources: nothing is missing, nothing is there that the command does not know.
set -eu
PATH=$(dirname "$1"):$PATH # completion asks the command for stacks
burn=$1 pages=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# What stands in a page, without roff's marks.
text_of() { sed -e 's/\\f[BIR]//g' -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\&//g' -e 's/\\e/\\/g' "$1"; }
options_of() { "$burn" "$1" --help | grep -oE '^  --[a-z0-9-]+' | tr -d ' ' | sort; }
commands=$("$burn" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 9 ] || fail "burn --help has lost its commands: $commands"

# Each command has a page with exactly its options, each with its text; burn(1) names all commands.
for command in $commands; do
  page=$pages/man/burn-$command.1
  [ -f "$page" ] || fail "there is no $page"
  text_of "$pages/man/burn.1" | grep -q "^\.BR burn-$command (1)$" || fail "burn.1 does not name $command"
  text_of "$page" >"$work/page"
  options_of "$command" >"$work/wanted"
  sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' "$work/page" | grep -oE '^--[a-z0-9-]+' | sort >"$work/found"
  diff "$work/wanted" "$work/found" || fail "burn-$command.1 has other options than burn $command --help"
  "$burn" "$command" --help | sed -n 's/^  --.\{20\} \(.*\)/\1/p' | while IFS= read -r line; do
    grep -qxF -- "$line" "$work/page" || fail "burn-$command.1 lacks '$line'"
  done
done
[ "$(find "$pages/man" -name 'burn*.1' | wc -l)" = $(($(echo "$commands" | wc -l) + 1)) ] || fail "a page has no command: $(ls "$pages/man")"

# burn-plugins(7): every variable that the sources read, and every option that a plugin declares.
text_of "$pages/man/burn-plugins.7" >"$work/page"
(cd "$source" && grep -rhoE '(getenv|is_set|from_environment|trusted_variable|memory_fill)\("BURN_[A-Z_]+"' --include=*.c --include=*.cpp core plugins decorators train nn sdk/burn) |
  grep -oE 'BURN_[A-Z_]+' | sort -u >"$work/variables"
[ "$(wc -l <"$work/variables")" -ge 14 ] || fail "the sources read these variables only: $(cat "$work/variables")"
while read -r variable; do
  grep -qx "\.B $variable" "$work/page" || fail "burn-plugins.7 lacks $variable: add it to sdk/burn/environment.def"
done <"$work/variables"
sed -n 's/^| \([a-z0-9_]*\) | .* | \(yes\|no\) | .*/\1/p' "$source/sdk/guide/options.md" | sort >"$work/wanted"
sed -n '/^\.SH OPTIONS/,/^\.SH ENV/p' "$work/page" | sed -n 's/^\([a-z0-9_]*\)=.*/\1/p' | sort >"$work/found"
diff "$work/wanted" "$work/found" || fail "burn-plugins.7 has other options than sdk/guide/options.md"

# The formatters of manual pages have nothing to say.
for page in "$pages"/man/*; do
  if have groff; then
    LC_ALL=C groff -man -ww -z -Tascii "$page" 2>"$work/said" || fail "groff: $page"
    [ ! -s "$work/said" ] || fail "$(cat "$work/said")"
  fi
  if have mandoc; then # a date would be one more thing that differs between builds
    if mandoc -T lint -W warning "$page" | grep -v 'missing date'; then fail "$page"; fi
  fi
done

# complete_bash WORDS..: what completes the last word, sorted.
complete_bash() {
  bash -c '. "$0" && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && compopt() { :; } && _burn && printf "%s\n" "${COMPREPLY[@]}"' \
    "$pages/completion/burn" "$@" | sort
}
same() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
touch "$work/a file" && mkdir "$work/a folder"
if have bash; then
  same "bash, commands" "$(complete_bash burn '')" "$(printf '%s\n' "$commands" --help --version | sort)"
  for command in $commands; do
    same "bash, $command" "$(complete_bash burn "$command" --)" "$({ options_of "$command"; echo --help; } | sort -u)"
  done
  same "bash, words" "$(complete_bash burn new dec)" decorator
  same "bash, files" "$(cd "$work" && complete_bash burn inspect 'a f')" "$(printf 'a file\na folder')"
  same "bash, folders" "$(cd "$work" && complete_bash burn new --dir 'a f')" "a folder"
  same "bash, stacks" "$(complete_bash burn conform ndar)" ndarray
else
  echo "bash is not here: its completion is not tried"
fi
if have fish; then
  complete_fish() { HOME=$work XDG_CONFIG_HOME=$work fish --no-config -c "source $pages/completion/burn.fish; complete -C '$1'" | cut -f 1 | sort; }
  same "fish, commands" "$(complete_fish 'burn ')" "$(printf '%s\n' "$commands" | sort)"
  for command in $commands; do
    same "fish, $command" "$(complete_fish "burn $command --")" "$({ options_of "$command"; echo --help; } | sort -u)"
  done
  same "fish, words" "$(complete_fish 'burn new dec')" decorator
else
  echo "fish is not here: its completion is not tried"
fi
# zsh completes on a terminal only: _arguments and _describe print here what they are given.
if have zsh; then
  complete_zsh() {
    zsh -f -c '_arguments() { print -l -- ${(M)@:#--*} | sed "s/\[.*//" }; _describe() { print -l -- ${(P)2} | sed "s/:.*//" }
      words=("${@:2}"); CURRENT=$(($# - 1)); . $1' zsh "$pages/completion/_burn" "$@" | sort
  }
  same "zsh, commands" "$(complete_zsh burn '')" "$(printf '%s\n' "$commands" | sort)"
  for command in $commands; do
    same "zsh, $command" "$(complete_zsh burn "$command" --)" "$({ options_of "$command"; echo --help; } | sort -u)"
  done
else
  echo "zsh is not here: its completion is not tried"
fi
echo "$(echo "$commands" | wc -l) commands, $(wc -l <"$work/variables") variables: pages and completions have them all"
