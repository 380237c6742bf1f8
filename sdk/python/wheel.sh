#!/bin/sh
# wheel.sh PREFIX OUT - makes a wheel of Burn for Python 3.9 and later in the folder OUT: the package, libburn, its plugins and the libraries
# that a system may lack. PREFIX is where Burn is installed. Uses no network: setuptools and wheel are those of PYTHON (python3).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
python=${PYTHON:-python3}
die() { printf 'wheel: %s\n' "$*" >&2; exit 1; }

"$python" -c 'import setuptools, wheel, sysconfig, pathlib; assert (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists()' 2>/dev/null ||
  die "$python lacks Python.h, setuptools or wheel: ./dev setup python installs those of Debian, PYTHON=/usr/bin/python3 names them"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lib=$work/tree/burn/lib
mkdir -p "$lib"
cp -r "$here/pyproject.toml" "$here/setup.py" "$here/src" "$here/../api/burn.json" "$work/tree"
cp "$here"/burn/*.py "$here/burn/py.typed" "$work/tree/burn"
"$python" "$here/make_module.py" "$work/tree" "$prefix/include"

# A wheel has no links: each library once, under the name that others know it by (SONAME).
for name in burn burn_nn burn_train burn_import burn_datasets burn_dashboard; do
  library=$prefix/lib/lib$name.so
  [ -e "$library" ] || continue # left out where what it needs is missing; so are its functions
  cp -L "$library" "$lib/$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
done
cp -r "$prefix/lib/burn" "$lib/burn"
rm -f "$lib"/burn/plugins/*torch* # built for the libtorch of this system: not the PyTorch of those who install the wheel

# Libraries that libburn needs and not every system has. Those of the C library and zlib are everywhere.
for file in "$lib"/*.so*; do
  ldd "$file" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'
done | sort -u | grep -vE "^$work|/lib(c|m|pthread|dl|rt|resolv|gcc_s|stdc\+\+|z)\.so|/ld-linux" | while read -r path; do
  cp -L "$path" "$lib/$(basename "$path")"
  package=$(dpkg -S "*/$(basename "$(readlink -f "$path")")" 2>/dev/null | sed -n '1s/:.*//p') # Debian: its licence goes along
  if [ -n "$package" ]; then mkdir -p "$lib/licenses" && cp "/usr/share/doc/$package/copyright" "$lib/licenses/$package"; fi
done
find "$lib" -name '*.so*' -exec strip --strip-unneeded {} + 2>/dev/null || true # where there is no strip they are larger
"$python" "$here/own_names.py" "$lib"

cd "$work/tree"
BURN_PREFIX=$prefix SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-315532800} \
  "$python" setup.py -q bdist_wheel --dist-dir "$work/dist" >"$work/build.log" 2>&1 || die "$(tail -n 20 "$work/build.log")"
cp "$work"/dist/*.whl "$out"
ls "$out"/burn-*.whl
