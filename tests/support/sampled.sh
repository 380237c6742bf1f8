#!/bin/sh
# sampled.sh COMMAND.. - a command with fewer cases unless BURN_LONG=1: a word FEW/ALL of digits becomes FEW, or ALL:
# sampled.sh build/bin/burn conform --fuzz 100/300 cuda ndarray
set -e
for word in "$@"; do
  shift
  case "$word" in
    *[!0-9/]* | /* | */ | */*/*) ;;
    */*) if [ "${BURN_LONG:-}" = 1 ]; then word=${word#*/}; else word=${word%/*}; fi ;;
  esac
  set -- "$@" "$word"
done
exec "$@"
