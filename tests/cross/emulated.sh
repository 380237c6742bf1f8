#!/bin/sh
# emulated.sh EMULATOR PROGRAM - puts a script in the place of PROGRAM, which starts it (as PROGRAM.elf) by the emulator: so shells, exec and
# libburn, which starts burn_probe, can run it where the kernel cannot. Called for each program that is linked (linux.cmake).
set -eu
case "$2" in *cmTC_*) exit 0 ;; esac # CMake reads what it tries
program=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
mv -f "$program" "$program.elf"
printf '#!/bin/sh\nexec "%s" -0 "$0" "%s" "$@"\n' "$1" "$program.elf" >"$program"
chmod 755 "$program"
