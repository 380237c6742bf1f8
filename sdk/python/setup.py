"""The extension module of the wheel. wheel.sh calls this in a folder with everything in it: the generated sources, and Burn as it is
installed, in burn/."""
import json
import os
import pathlib

from setuptools import Extension, setup

PREFIX = pathlib.Path(os.environ["BURN_PREFIX"])  # an installation of Burn: headers and libraries
VERSION = json.loads(pathlib.Path("burn.json").read_text())["version"]
FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-D_POSIX_C_SOURCE=200809L", "-fvisibility=hidden", f"-ffile-prefix-map={pathlib.Path.cwd()}=burn"]
# The path is for all that is loaded with it (DT_RPATH), as libcurl's own libraries, which know of no folder.
LINKED = ["-Wl,-rpath,$ORIGIN/lib", "-Wl,--disable-new-dtags", "-Wl,--strip-debug"]
LIBRARIES = [name for name in ("burn_import", "burn_datasets", "burn_dashboard", "burn_train", "burn_nn", "burn")
             if (PREFIX / f"lib/lib{name}.so").exists()]
MODULE = Extension("burn._c", ["functions.c"] + sorted(map(str, pathlib.Path("src").glob("*.c"))), include_dirs=["src", str(PREFIX / "include")],
                   library_dirs=[str(PREFIX / "lib")], libraries=LIBRARIES, extra_compile_args=FLAGS,
                   extra_link_args=LINKED, py_limited_api=True)

setup(version=VERSION, ext_modules=[MODULE], options={"bdist_wheel": {"py_limited_api": "cp39"}})
