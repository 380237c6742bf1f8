#!/bin/sh
# check_dlls.sh OBJDUMP BUILD - a plugin exports its entry and nothing else; DLLs and programs need the system's DLLs and Burn's
# alone, so that no DLL of the compiler has to be shipped; a library exports functions of Burn only.
set -eu
objdump=$1
build=$2
bad=0

complain() {
  echo "$*"
  bad=1
}

exports() { "$objdump" -p "$1" | sed -n '/\[Ordinal\/Name Pointer\] Table/,/^$/p' | awk '/\[ *[0-9]+\]/ {print $NF}'; }
needs() { "$objdump" -p "$1" | awk '/DLL Name:/ {print $3}' | sort -u; }

known='^(kernel32|msvcrt|advapi32|user32|api-ms-win-core-synch-l1-2-0|libburn.*)\.dll$'
plugins=0
for file in "$build"/lib/burn/plugins/burn_*.dll; do
  plugins=$((plugins + 1))
  found=$(exports "$file" | tr '\n' ' ')
  [ "$found" = "burn_plugin_query_v0 " ] || complain "$file exports: $found"
done
[ "$plugins" -ge 5 ] || complain "only $plugins plugins in $build/lib/burn/plugins"
for file in "$build"/bin/libburn*.dll; do
  foreign=$(exports "$file" | grep -v '^burn_\|^Burn' | head -n 5 | tr '\n' ' ')
  [ -z "$foreign" ] || complain "$file exports what is not Burn's: $foreign"
done
for file in "$build"/bin/*.dll "$build"/bin/burn.exe "$build"/lib/burn/plugins/*.dll; do
  foreign=$(needs "$file" | grep -ivE "$known" | tr '\n' ' ' || true)
  [ -z "$foreign" ] || complain "$file needs: $foreign"
done
exit $bad
