#!/bin/sh
# sdk_test.sh SOURCE BUILD CMAKE COMPILER PART - one part of what an outsider does with an installed SDK (see CMakeLists.txt).
set -eu
source=$1 build=$2 cmake=$3 compiler=$4 part=$5
work=$build/tests/sdk_work
prefix=$work/prefix
unset BURN_PLUGIN_PATH BURN_PLUGIN_PATH_ONLY BURN_BACKEND CMAKE_PREFIX_PATH
export XDG_CONFIG_HOME=/nonexistent CMAKE_GENERATOR="$SDK_GENERATOR" CC="$compiler"
# Strict warnings, as a careful outsider has; and the sanitizer of the installed libraries, which their users must share.
export CFLAGS="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wdouble-promotion -Werror"
[ -z "$SDK_SANITIZE" ] || CFLAGS="$CFLAGS -fsanitize=$SDK_SANITIZE"

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# Installs to one place and moves it to another: everything must be found from where it lies now.
install_part() {
  rm -rf "$work"
  mkdir -p "$work"
  "$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" || fail "see $work/install.log"
  mv "$work/first" "$prefix"
  for file in include/burn/burn.h include/burn/plugin/plugin.h lib/libburn.so lib/cmake/Burn/burn-config.cmake \
    lib/pkgconfig/burn.pc lib/pkgconfig/burn-datasets.pc include/burn/datasets.h lib/pkgconfig/burn-import.pc include/burn/store.h share/burn/guide/backend.md share/burn/guide/ops.md share/burn/templates/backend/CMakeLists.txt \
    share/burn/bench/peer_torch.py share/burn/bench/peer_onnx.py share/burn/ops.json share/burn/burn.json share/man/man1/burn.1 share/man/man7/burn-plugins.7 share/bash-completion/completions/burn bin/burn lib/burn/burn_probe; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
  done
  for folder in "$source/" "$work/first"; do
    if grep -rlF "$folder" "$prefix/lib/cmake" "$prefix/lib/pkgconfig" "$prefix/share" "$prefix/include"; then
      fail "these files name $folder"
    fi
    # Nor does any program or library, but in what is there for debuggers and sanitizers.
    [ -z "$SDK_SANITIZE" ] || continue
    for file in "$prefix"/bin/* "$prefix"/lib/*.so "$prefix"/lib/*.a "$prefix"/lib/burn/burn_probe "$prefix"/lib/burn/plugins/*; do
      strip -g -o "$work/stripped" "$file" || fail "strip $file"
      if grep -qF "$folder" "$work/stripped"; then fail "$file names $folder"; fi
    done
  done
  # Shared libraries know what they need: whoever links them needs none of it.
  if grep -rnE 'PkgConfig|msgpack|cjson|ZLIB|Threads|burn_options' "$prefix/lib/cmake/Burn" "$prefix/lib/pkgconfig"; then
    fail "the package files name what only Burn's own build needs"
  fi
  "$prefix/bin/burn" doctor --need train
  "$prefix/bin/burn" bench --stacks ndarray --rounds 1 --seconds 0.0001 --only '^add 1K$' | grep '^add 1K ' || fail "burn bench has no figure"
}

# All that is installed is in a Debian package, or on purpose in none.
packages_part() {
  command -v python3 >/dev/null 2>&1 || { echo "skipped: there is no python3"; exit 77; }
  python3 "$source/tests/sdk/packages_test.py" "$source" "$prefix" || fail "packaging/debian"
}

# new_folder NAME: an empty folder to work in, with `burn` in the path as the guide says.
new_folder() {
  PATH=$prefix/bin:$PATH
  rm -rf "${work:?}/$1"
  mkdir -p "$work/$1"
  cd "$work/$1"
}

# page NAME: all blocks of a page of the guide, run in the current folder (guide_test.py).
page() {
  command -v python3 >/dev/null 2>&1 || { echo "skipped: there is no python3"; exit 77; }
  python3 "$source/tests/sdk/guide_test.py" run "$1" "$prefix" --cc "$compiler" || fail "the guide page $1.md"
}

# follow_guide PAGE: a page about a plugin called demo, and what it left behind.
follow_guide() {
  page "$1"
  cd demo
  old='my_(backend|decorator|kernels)|My(Backend|Decorator|Kernels)|MY_(BACKEND|DECORATOR|KERNELS)|(^|[^a-z_])reference_|REFERENCE_|Reference[A-Z ]|"reference'
  if grep -rnE --exclude-dir=b "$old" .; then
    fail "the old name is left in these lines"
  fi
  if burn new backend demo --dir . 2>message; then fail "burn new wrote into a full folder"; fi
  grep -q "not empty" message || fail "$(cat message)"
  BURN_PLUGIN_PATH=b burn backends | grep -q "demo/b/burn_demo.so" || fail "BURN_PLUGIN_PATH=b does not find it"
  ls b/CTestTestfile.cmake installed/lib/burn/plugins/burn_demo.so
}

plugin_part() {
  new_folder "$1"
  follow_guide "$1"
}

# value NAME: of the result line on stdin.
value() { sed -n "s/^result: .*\"$1\":\([^,}]*\).*/\1/p"; }

# same_loss PROGRAM ARGUMENTS..: the loss is the same on demo with and without fusion, and close to that on the reference.
same_loss() {
  program=$1
  shift
  for stack in 'autodiff<demo>' 'autodiff<fusion<demo>>' 'autodiff<reference>'; do
    BURN_PLUGIN_PATH=$PWD/b "$prefix/bin/$program" --backend "$stack" "$@" >output || fail "$program on $stack"
    loss="$(value train_loss <output)$(value loss <output)"
    [ -n "$loss" ] || fail "$program has no loss on $stack: $(cat output)"
    echo "$program on $stack: loss $loss"
    losses="${losses:-} $loss"
  done
  echo "$losses" | awk '{ d = $1 - $3; exit $1 != $2 || d * d > 1e-8 }' || fail "the losses of $program differ: $losses"
  losses=
}

# no_primitive_missing: every op that the SDK's list calls primitive is run by demo itself.
no_primitive_missing() {
  awk -F '"' '/^\t\t\t"name":/ { name = $4 } /^\t\t\t"form":.*"primitive"/ { print name }' "$prefix/share/burn/ops.json" >primitives
  echo "$(wc -l <primitives) primitive ops"
  [ "$(wc -l <primitives)" -ge 100 ] || fail "ops.json has lost its primitives"
  BURN_PLUGIN_PATH=b burn ops --stack demo | awk '$NF == "native" { print $1 }' >native
  if grep -vxFf native primitives; then fail "these primitive ops have no kernel"; fi
}

# The guide's Rust backend: complete, trains like the reference, and a panic in a kernel is a failure of that call alone.
rust_part() {
  new_folder rust
  mkdir tools
  for tool in rustc bindgen; do # those of the system, where there are others before them: they are what the guide promises
    if [ -x /usr/bin/$tool ]; then ln -s /usr/bin/$tool tools/; fi
  done
  PATH=$PWD/tools:$PATH
  for tool in rustc bindgen; do
    command -v $tool >/dev/null 2>&1 || { echo "skipped: there is no $tool"; exit 77; }
  done
  echo '#include <stddef.h>' >headers.h
  bindgen headers.h >/dev/null 2>&1 || { echo "skipped: bindgen finds no libclang, or that no stddef.h"; exit 77; }
  follow_guide backend-rust
  no_primitive_missing
  same_loss xor
  same_loss mnist --epochs 1 --train-items 64 --test-items 16 --batch-size 16 --show 0 --artifact "$PWD/mnist"
  sed -i 's/^fn conv2d(call: &Call) -> Result {/&\n    panic!("on purpose");/' conv.rs
  cmake --build b >build.log 2>&1 || { cat build.log; fail "building"; }
  BURN_PLUGIN_PATH=b burn conform demo --level core --op conv2d --check forward >panic.log 2>&1 && fail "a kernel that panics has passed"
  grep -q "conv2d: .*panicked at.*on purpose.*conv.rs" panic.log || { cat panic.log; fail "the panic is not in the message"; }
  if grep -qi "crash\|signal\|thread .*panicked" panic.log; then cat panic.log; fail "the panic left the plugin"; fi
}

# The backend template in C++: complete, and an exception in a kernel is a failure of that call alone.
cpp_part() {
  command -v c++ >/dev/null 2>&1 || { echo "skipped: there is no c++"; exit 77; }
  new_folder cpp
  export CXXFLAGS="$CFLAGS"
  burn new backend demo --lang cpp
  cmake -B b >cmake.log 2>&1 || { cat cmake.log; fail "configuring"; }
  cmake --build b >build.log 2>&1 || { cat build.log; fail "building"; }
  ctest --test-dir b --output-on-failure || fail "the tests of the C++ template"
  no_primitive_missing
  sed -i 's/^void matmul(const Call &call) {/&\n  if (call.count() >= 0) throw std::runtime_error("on purpose");/; s/^#include <cmath>/&\n#include <stdexcept>/' compute.cpp
  cmake --build b >build.log 2>&1 || { cat build.log; fail "building"; }
  BURN_PLUGIN_PATH=b burn conform demo --level core --op matmul --check forward >exception.log 2>&1 && fail "a kernel that throws has passed"
  grep -q "matmul: on purpose" exception.log || { cat exception.log; fail "the exception is not in the message"; }
}

# block FILE LANGUAGE: the first code block in that language.
block() { awk -v start="^\`\`\`$2\$" '$0 ~ start { on = 1; next } /^```$/ { if (on) exit } on' "$1"; }

# find_components PACKAGE COMPONENT..: a project that needs them; what CMake says goes to components.log.
find_components() {
  package=$1
  shift
  mkdir -p components
  printf 'cmake_minimum_required(VERSION 3.20)\nproject(components C)\nfind_package(%s REQUIRED COMPONENTS %s)\n%s\n' "$package" "$*" \
    'if(NOT TARGET Burn::train)
  message(FATAL_ERROR "Burn::train is missing")
endif()' >components/CMakeLists.txt
  "$cmake" -S components -B components/b -DCMAKE_PREFIX_PATH="$prefix" >components.log 2>&1
}

# The first chapter: its programs have the libraries of the installation, and the build of another version is refused.
program_part() {
  new_folder program
  page first-model
  for program in digits b/digits; do
    if ldd $program | grep -F libburn | grep -vF -e "$PWD/burn/lib/" -e "$prefix/lib/"; then fail "$program has other libraries"; fi
  done
  # find_package finds the other spelling, and says no to another version.
  sed 's/find_package(Burn/find_package(burn/' CMakeLists.txt >lower && mv lower CMakeLists.txt
  "$cmake" -B lower >lower.log 2>&1 || { cat lower.log; fail "find_package(burn)"; }
  sed 's/burn 0\.1 /burn 99.0 /' CMakeLists.txt >other && mv other CMakeLists.txt
  if "$cmake" -B other >other.log 2>&1; then fail "find_package(burn 99.0) was satisfied"; fi
  grep -q 'version: 0\.1' other.log || { cat other.log; fail "no word about the version"; }
  # Components are targets, in either spelling; one that is missing is named, with those that there are.
  for package in Burn burn; do
    find_components "$package" nn plugin_api || { cat components.log; fail "find_package($package COMPONENTS nn plugin_api)"; }
    find_components "$package" nn OPTIONAL_COMPONENTS nosuch || { cat components.log; fail "$package: an optional component is missed"; }
    if find_components "$package" nn nosuch; then fail "find_package($package COMPONENTS nosuch) was satisfied"; fi
    tr -s ' \n' ' ' <components.log | grep -q "has no component 'nosuch'; it has: .*burn, .*nn, .*train" ||
      { cat components.log; fail "no word about the component"; }
  done
}

# What `burn new app` writes: it builds without a warning, learns, goes on after what it saved, and nothing has the old name.
app_part() {
  new_folder app
  burn new app reader >../app_next || fail "burn new app"
  grep -qx '  b/reader' ../app_next || fail "it does not say what to run: $(cat ../app_next)"
  if grep -rnE 'my_app|MyApp|MY_APP' .; then fail "the old name is left in these lines"; fi
  "$cmake" -B b -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 || { cat cmake.log; fail "configuring"; }
  "$cmake" --build b >build.log 2>&1 || { cat build.log; fail "building"; }
  ctest --test-dir b --output-on-failure || fail "the tests of the new program"
  b/reader --epochs 2 >output 2>err || fail "$(cat err)"
  b/reader train --epochs 3 --resume >output 2>err || fail "$(cat err)"
  if grep -q '^epoch [12]/3' err; then fail "it did not go on after two epochs: $(cat err)"; fi
  sed -n 's/^accuracy in validation: \([0-9.]*\) %$/\1/p' output | awk '{ good = $1 > 90 } END { exit !good }' || fail "$(cat output)"
  b/reader infer | tee output
  awk '$2 == "of" { good = $1 > 85 } END { exit !good }' output || fail "what was saved does not know digits"
  for file in config.json model.mpk checkpoint/learner-3.mpk valid/epoch-3/Accuracy.log; do
    [ -s "artifacts/$file" ] || fail "artifacts/$file is missing"
  done
  if [ -x "$prefix/bin/image_folder" ] && "$prefix/bin/image_folder" --items 200 --epochs 1 --artifact digits >output 2>err; then
    burn run --model b/reader_model.so --csv artifacts digits/pictures >output || fail "burn run"
    awk -F, 'NR > 1 { split($1, path, "/"); right += path[3] == $2 } END { exit !(NR == 201 && right > 160) }' output || fail "burn run: $(cat output)"
  else
    echo "burn run: left out, there is no libpng"
  fi
  if b/reader walk 2>err; then fail "an unknown command passes"; fi
  grep -q ": 'walk' is unknown, or lacks its value$" err || fail "$(cat err)"
  grep -q '^usage: ' err || fail "$(cat err)"
  b/reader --help >output 2>err || fail "--help fails: $(cat err)"
  { grep -q '^usage: ' output && [ ! -s err ]; } || fail "--help: $(cat output err)"
  if [ -c /dev/full ]; then
    if b/reader infer >/dev/full 2>err; then fail "infer with a full disk for its output passes"; fi
    grep -q 'the output could not be written' err || fail "infer with a full disk for its output: $(cat err)"
  fi
  if b/reader --epochs many 2>err; then fail "--epochs many passes"; fi
  grep -q ": --epochs needs an integer of at least 1, not 'many'$" err || fail "$(cat err)"
}

# What `burn import` writes, as it stands: it is built against the installation, which is found by the path alone or by the prefix, and gives
# the numbers that tests/onnx/onnx_graph_test.c has for these models, of x = [1, 2; -3, 4].
generated_part() {
  new_folder generated
  models=$source/tests/fuzz/corpus/onnx
  if ! burn import "$models/gemm" --sizes n=2 --out gemm >import.log 2>&1; then
    if burn import --help >/dev/null 2>&1; then cat import.log && fail "burn import"; fi
    echo "skipped: this build has no ONNX" && exit 77
  fi
  { printf '\223NUMPY\001\000\166\000'
    printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
    printf '\000\000\200\077\000\000\000\100\000\000\100\300\000\000\200\100'; } >x.npy
  while read -r model first second; do
    [ -d "$model" ] || burn import "$models/$model" --sizes n=2 --out "$model" >import.log || fail "burn import $model"
    case "$model" in conv*) set -- -DCMAKE_PREFIX_PATH="$prefix" ;; *) set -- ;; esac
    "$cmake" -S "$model" -B "$model/b" "$@" >cmake.log 2>&1 || { cat cmake.log; fail "configuring $model"; }
    "$cmake" --build "$model/b" >build.log 2>&1 || { cat build.log; fail "building $model"; }
    "$model/b/${model}_run" "$model/$model.bpk" x.npy >output || fail "running $model"
    tr -d ' \n' <output | grep -qF "[[$first],[$second]]" || { cat output; fail "$model does not give $first and $second"; }
    if [ -c /dev/full ] && "$model/b/${model}_run" "$model/$model.bpk" x.npy >/dev/full 2>err; then
      fail "$model passes with a full disk for its output"
    fi
    if ldd "$model/b/${model}_run" | grep -F libburn_import; then fail "$model needs libburn_import"; fi
    echo "$model: $first, $second"
  done <<END
gemm 5.0,11.0 5.0,7.0
conv_bias 15.0,31.0 15.0,27.0
conv_few 4.0,9.0 -8.0,7.0
END
  if "gemm/b/gemm_run" gemm/gemm.bpk absent.npy 2>err; then fail "an input that is not there passes"; fi
  grep -q 'absent.npy' err || fail "$(cat err)"
}

# The first program of the README with its CMakeLists.txt, as they stand there.
readme_part() {
  new_folder readme
  block "$source/README.md" c >mlp.c
  block "$source/README.md" cmake >CMakeLists.txt
  if grep -nE '.{81}' mlp.c; then fail "these lines of the README's program are wider than 80 columns"; fi
  "$cmake" -B b -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 || { cat cmake.log; fail "configuring"; }
  "$cmake" --build b >build.log 2>&1 || { cat build.log; fail "building"; }
  b/mlp | tee output
  grep -qx 'step 100: loss 0\.0[0-9]*' output || fail "the network of the README does not learn"
  [ -s mlp.mpk ] || fail "the network of the README is not saved"
}

# guide_part PAGE: any other page; `pages` looks at all of them, `mistakes` at what finds mistakes in them.
guide_part() {
  command -v python3 >/dev/null 2>&1 || { echo "skipped: there is no python3"; exit 77; }
  new_folder "guide_$1"
  case "$1" in
    pages) python3 "$source/tests/sdk/guide_test.py" check || fail "the guide" ;;
    mistakes) python3 "$source/tests/sdk/guide_mistakes_test.py" "$prefix" "$compiler" || fail "the test of the guide" ;;
    *) page "$1" ;;
  esac
}

# python_with MODULES: the first Python that has them, or nothing; that of the path may lack what the system's has.
python_with() {
  for python in "${PYTHON:-python3}" /usr/bin/python3; do
    if "$python" -c "import $1" 2>/dev/null; then echo "$python" && return; fi
  done
}

api_part() {
  python=$(python_with clang.cindex)
  [ -n "$python" ] || { echo "skipped: no Python has libclang's module (python3-clang)"; exit 77; }
  "$python" "$source/sdk/api/make_api.py" --check || fail "sdk/api/burn.json"
}

# The guide's CNN in C: what programs in other languages are compared with. Its last line goes to the file `result`.
train_in_c() {
  "$prefix/bin/mnist" --train-items 640 --test-items 128 --epochs 2 --backend ndarray --json --show 0 --artifact "$PWD/run" >result || fail "mnist in C"
}

# The wheel in a fresh virtual environment: it trains, and passes its tests there and with the system's NumPy beside it.
python_part() {
  [ -z "$SDK_SANITIZE" ] || { echo "skipped: Python has no sanitizer"; exit 77; }
  unset CFLAGS
  python=$(python_with 'setuptools, wheel, venv, ensurepip, sysconfig, os; os.stat(sysconfig.get_path("include") + "/Python.h")')
  [ -n "$python" ] || { echo "skipped: no Python has Python.h, setuptools, wheel and venv (./dev setup python)"; exit 77; }
  new_folder python
  train_in_c
  PYTHON=$python sh "$source/sdk/python/wheel.sh" "$prefix" "$PWD/dist" || fail "the wheel"
  "$python" -m venv fresh && "$python" -m venv --system-site-packages beside
  for place in fresh beside; do
    $place/bin/python -m pip install -q --no-index --disable-pip-version-check dist/burn-*.whl || fail "installing the wheel"
  done
  if grep -rlF "$prefix" fresh/lib/python*/site-packages/burn*; then fail "these files name the folder of the build"; fi
  fresh/bin/python "$source/sdk/python/examples/mnist.py" 128 64 1 ndarray || fail "training in a fresh environment"
  GUIDE_PYTHON=$PWD/fresh/bin/python page python
  beside/bin/python "$source/tests/sdk/python_test.py" "$prefix/share/burn/burn.json" "$source/sdk/python/examples" result run || fail "its tests"
  fresh/bin/python "$source/tests/sdk/python_none_test.py" "$prefix/share/burn/burn.json" || fail "None"
}

# same_as_c PROGRAM: its losses are those of C, to all digits that C prints.
same_as_c() {
  train_in_c
  "$1" ndarray 640 128 2 >losses || fail "$1"
  cat losses
  sed 's/train loss \(.*\), test loss \(.*\)/\1 \2/' losses | awk '{ printf "%.9g %.9g\n", $1, $2 }' >ours
  sed -n '$s/.*"train_loss":\([^,]*\),.*"test_loss":\([^,]*\),.*/\1 \2/p' result >theirs
  diff ours theirs || fail "the losses are not those of C"
}

# bindings_part LANGUAGE PROGRAM: built by its script against the installation.
bindings_part() {
  [ -z "$SDK_SANITIZE" ] || { echo "skipped: $1 links no sanitizer"; exit 77; }
  new_folder "bindings_$1"
  sh "$source/sdk/bindings/$1/build.sh" "$prefix" "$PWD/built" || fail "building"
  same_as_c "built/$2"
}

rust_bindings_part() {
  minor=$(rustc --version 2>/dev/null | sed -n 's/^rustc 1\.\([0-9]*\)\..*/\1/p')
  [ "${minor:-0}" -ge 77 ] || { echo "skipped: no rustc of 1.77 or newer"; exit 77; }
  bindings_part rust mnist
}

go_bindings_part() {
  command -v go >/dev/null 2>&1 || { echo "skipped: no go (golang-go)"; exit 77; }
  bindings_part go mnist/mnist
}

zig_bindings_part() {
  command -v "${ZIG:-zig}" >/dev/null 2>&1 || { echo "skipped: no zig in the path, and none named in ZIG"; exit 77; }
  bindings_part zig mnist
}

case "$part" in
  api) api_part ;;
  python) python_part ;;
  bindings_rust) rust_bindings_part ;;
  bindings_go) go_bindings_part ;;
  bindings_zig) zig_bindings_part ;;
  install) install_part ;;
  packages) packages_part ;;
  app) app_part ;;
  generated) generated_part ;;
  backend | decorator | kernels) plugin_part "$part" ;;
  program) program_part ;;
  readme) readme_part ;;
  rust) rust_part ;;
  cpp) cpp_part ;;
  guide_*) guide_part "${part#guide_}" ;;
  *) fail "there is no part '$part'" ;;
esac
