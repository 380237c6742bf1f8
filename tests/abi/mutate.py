#!/usr/bin/env python3
"""mutate.py FOLDER - makes the sources of a host of tomorrow: this tree, one minor later.

Each edit below is something that a later minor may do. One that no longer fits its file ends the script: then the edit has to be
brought up to date, not left out. Files that come out as they were are not written, so that FOLDER builds again quickly.
"""
import os
import re
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COPIED = ["CMakeLists.txt", "LICENSE-APACHE", "LICENSE-MIT", "core", "decorators", "import", "nn", "plugin-api", "plugins", "sdk", "train"]
API = "plugin-api/include/burn/plugin/"

# Every struct that may grow, by header.
GROWING = {
    "types.h": ["BurnDTypeInfo", "BurnPrimitive"],
    "op.h": ["BurnOpCall", "BurnOpInfo"],
    "host.h": ["BurnHost"],
    "backend.h": ["BurnBackend"],
    "plugin.h": ["BurnHostInfo", "BurnDeviceInfo", "BurnProbe", "BurnBackendInterface", "BurnDecoratorInterface", "BurnPlugin"],
    "kernels.h": ["BurnBackwardCall", "BurnOpDefinition", "BurnKernelCall", "BurnKernel", "BurnDeviceKernel",
                  "BurnKernelsInterface"],
    "autodiff.h": ["BurnAutodiffInterface"],
    "fused.h": ["BurnFusedBody", "BurnFusedCall", "BurnFusedInterface"],
    "fusion_statistics.h": ["BurnFusionStatistics", "BurnFusionRegion", "BurnFusionInterface"],
    "options.h": ["BurnOptionInfo", "BurnOptionsInterface"],
    "dlpack.h": ["BurnDlpackInterface"],
    "calls.h": ["BurnCallsInterface"],
    "mixed.h": ["BurnMixedInterface"],
    "epilogue.h": ["BurnEpilogueInterface"],
    "recorder.h": ["BurnRecorderInterface"],
    "replay.h": ["BurnReplayPlace", "BurnReplayStatistics", "BurnReplayInterface"],
    "services.h": ["BurnRandomInterface", "BurnBuilderInterface"],
    "device.h": ["BurnDeviceDescription", "BurnNativeMemory", "BurnNativeQueue", "BurnDeviceCode", "BurnDeviceLaunch",
                 "BurnDeviceInterface"],
}
FROZEN = {"BurnExtension"}  # has a size, that of what follows it
NEW_OP = "double_up"


def has(path, text):
    with open(os.path.join(ROOT, path)) as file:
        return text in file.read()


class Tree:
    """The changed files in memory; they are written at the end."""

    def __init__(self):
        self.files = {}

    def text(self, path):
        if path not in self.files:
            with open(os.path.join(ROOT, path)) as file:
                self.files[path] = file.read()
        return self.files[path]

    def replace(self, path, old, new):
        count = self.text(path).count(old)
        if count != 1:
            sys.exit(f"mutate: {path}: {count} places for the edit of\n{old}\nBring tests/abi/mutate.py up to date.")
        self.files[path] = self.files[path].replace(old, new)

    def file_with(self, folder, text):
        """The one source in a folder that has this text, wherever it lies."""
        paths = [os.path.relpath(os.path.join(at, name), ROOT) for at, _, names in os.walk(os.path.join(ROOT, folder)) for name in names]
        found = [path for path in paths if path.endswith(".c") and has(path, text)]
        if len(found) != 1:
            sys.exit(f"mutate: {len(found)} sources in {folder} have '{text}'. Bring tests/abi/mutate.py up to date.")
        return found[0]

    def append(self, path, text):
        self.files[path] = self.text(path) + text


def versions(tree):
    header = API + "abi.h"
    today = int(re.search(r"#define BURN_ABI_MINOR (\d+)u", tree.text(header)).group(1))
    oldest = int(re.search(r"#define BURN_ABI_OLDEST_MINOR (\d+)u", tree.text(header)).group(1))
    tomorrow = today + 1
    tree.replace(header, f"#define BURN_ABI_MINOR {today}u", f"#define BURN_ABI_MINOR {tomorrow}u")
    tree.replace(header, f"#if BURN_TARGET_MINOR < {oldest} || BURN_TARGET_MINOR > {today} ",
                 f"#if BURN_TARGET_MINOR < {oldest} || BURN_TARGET_MINOR > {tomorrow} ")
    tree.replace(header, "/* Calling convention of every function pointer of the ABI. */",
                 f"#if BURN_TARGET_MINOR >= {tomorrow}\n#define BURN_SINCE_{tomorrow}(...) __VA_ARGS__\n#else\n"
                 f"#define BURN_SINCE_{tomorrow}(...)\n#endif\n\n/* Calling convention of every function pointer of the ABI. */")
    return tomorrow


def check_all_are_named():
    named = {struct for structs in GROWING.values() for struct in structs} | FROZEN
    for header in sorted(os.listdir(os.path.join(ROOT, API))):
        with open(os.path.join(ROOT, API, header)) as file:
            for struct in re.findall(r"struct (Burn\w+) \{\n  uint32_t struct_size;", file.read()):
                if struct not in named:
                    sys.exit(f"mutate: {header} has {struct}, which starts with its size: name it in GROWING of tests/abi/mutate.py")


def longer_structs(tree, tomorrow):
    """Sixteen bytes more at the end of each, for plugins of tomorrow."""
    for header, structs in GROWING.items():
        for struct in structs:
            path = API + header
            found = re.search(rf"struct {struct} \{{.*?\n(\}}(?: {struct})?;)\n", tree.text(path), flags=re.S)
            if not found:
                sys.exit(f"mutate: {path} has no struct {struct} that ends in a line of its own")
            whole, end = found.group(0), found.group(1)
            grown = whole[:-len(end) - 1] + f"#if BURN_TARGET_MINOR >= {tomorrow}\n  uint64_t tomorrow[2];\n#endif\n{end}\n"
            tree.replace(path, whole, grown)


def new_op(tree, tomorrow):
    """A composite op that no plugin of today has heard of."""
    tree.replace(API + "ops.def", "BURN_OP(65, add, elementwise,",
                 f"BURN_OP(32, {NEW_OP}, elementwise, {tomorrow}, same, NUMERIC, BURN_IN(x), BURN_ATTR(F64, more, 0), 1, COMPOSITE, VIA,"
                 ' ELEMENTWISE, "x + x")\nBURN_OP(65, add, elementwise,')
    tree.append(tree.file_with("core", "DECOMPOSE(is_finite)"), f"\nDECOMPOSE({NEW_OP}) {{ out[0] = burn_build_add(builder, call->inputs[0], call->inputs[0]); }}\n")
    tree.append("sdk/burn/conform/samples.def", f'SAMPLER({NEW_OP}, unary, any, "", EXACT, EXTREME)\n')


def new_attribute(tree, tomorrow):
    """cumsum(exclusive): element i is the sum of those before it. A primitive, so a plugin that does not know it has to be left out."""
    tree.replace(API + "ops.def", "BURN_OP(385, cumsum, scan, 4, same_dim, NUMERIC, BURN_IN(x), BURN_ATTR(I64, dim, REQUIRED), 1,",
                 "BURN_OP(385, cumsum, scan, 4, same_dim, NUMERIC, BURN_IN(x), BURN_ATTR(I64, dim, REQUIRED)"
                 f" BURN_ATTR_SINCE({tomorrow}, BOOL, exclusive, 0), 1,")


def write(tree, folder):
    def is_wanted(path):
        return not path.endswith(".pyc")
    known = set()
    for top in COPIED:
        source = os.path.join(ROOT, top)
        paths = [source] if os.path.isfile(source) else [os.path.join(at, name) for at, _, names in os.walk(source) for name in names]
        for path in filter(is_wanted, paths):
            name = os.path.relpath(path, ROOT)
            target = os.path.join(folder, name)
            known.add(target)
            with open(path, "rb") as file:
                content = tree.files[name].encode() if name in tree.files else file.read()
            if os.path.exists(target) and open(target, "rb").read() == content:
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(content)
            shutil.copymode(path, target)
    for at, _, names in os.walk(folder):
        for stale in {os.path.join(at, name) for name in names} - known:
            os.remove(stale)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: mutate.py FOLDER")
    check_all_are_named()
    tree = Tree()
    tomorrow = versions(tree)
    longer_structs(tree, tomorrow)
    new_op(tree, tomorrow)
    new_attribute(tree, tomorrow)
    write(tree, sys.argv[1])
    print(f"mutate: {len(tree.files)} files changed for plugin ABI 0.{tomorrow}")


if __name__ == "__main__":
    main()
