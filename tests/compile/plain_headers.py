"""plain_headers.py COMPILER INCLUDE - with BURN_NO_INLINE the headers of the plugin ABI are declarations in plain C99.

They compile without a warning, have no function bodies, and cffi reads them: sizes of structs are those of the compiler, and
constants have names and values. Exits 77 where there is no cffi, after the rest has been tested.
"""
import pathlib
import re
import subprocess
import sys

compiler, include = sys.argv[1], pathlib.Path(sys.argv[2])
headers = sorted(include.rglob("*.h"))
source = "".join(f"#include <{header.relative_to(include)}>\n" for header in headers)
command = [compiler, "-x", "c", "-std=c99", "-DBURN_NO_INLINE", f"-I{include}"]


def run(*arguments, text=source):
    return subprocess.run([*command, *arguments, "-"], input=text, text=True, check=True, capture_output=True).stdout


def own_lines(preprocessed):
    """What stands in the headers themselves, without those of the system that they include."""
    lines, own = [], False
    for line in preprocessed.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            own = marker[1].startswith(str(include))
        elif own:
            lines.append(line)
    return "\n".join(lines)


assert len(headers) > 10, headers
run("-Wall", "-Wextra", "-Wpedantic", "-Wpadded", "-Werror", "-fsyntax-only")
preprocessed = run("-E")
assert "memcpy" not in preprocessed, "a header of the system with functions is included: tools that read everything stop there"
declarations = own_lines(preprocessed)
assert "BurnHost;" in declarations
assert "inline" not in declarations, re.findall(".*inline.*", declarations)[:5]
anonymous = re.findall(r"enum\s*{[^}]*}", declarations)
assert not anonymous, anonymous

try:
    import cffi
except ImportError:
    print("skipped: there is no cffi, so nothing has read the declarations")
    sys.exit(77)
ffi = cffi.FFI()
ffi.cdef(declarations)
sizes = {name: ffi.sizeof(name) for name in ("BurnHost", "BurnPrimitive", "BurnAttr", "BurnOpCall", "BurnBackend", "BurnProbe")}
checks = "".join(f"char size_of_{name}[sizeof({name}) == {size} ? 1 : -1];\n" for name, size in sizes.items())
run("-fsyntax-only", text=source + checks)
constants = ffi.dlopen(None)
assert constants.BURN_STATUS_OK == 0
assert constants.BURN_STATUS_INTERNAL == 15 and constants.BURN_OP_matmul == 193
print(f"{len(headers)} headers, {len(ffi.list_types()[0])} types")
