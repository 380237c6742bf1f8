"""building.py - plugins and hosts for the tests of this folder, built with the compiler and options of the build that they test.

From the environment, as tests/CMakeLists.txt sets it: BURN_SOURCE_DIR, BURN_BUILD_DIR, BURN_TEST_COMPILER, BURN_SANITIZE.
"""
import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("BURN_SOURCE_DIR", os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("BURN_BUILD_DIR", os.path.join(SOURCE, "build"))
WORK = os.path.join(BUILD, "tests", "abi")
CMAKE = os.environ.get("BURN_TEST_CMAKE", "cmake")
SANITIZE = os.environ.get("BURN_SANITIZE", "")
TODAY = os.path.join(SOURCE, "plugin-api", "include")
COMMON = os.path.join(SOURCE, "plugins", "common", "include")  # they compile with the headers of any minor
TODAYS_PLUGINS = os.path.join(BUILD, "lib", "burn", "plugins")
TOMORROW = os.path.join(WORK, "tomorrow")
HOST_OF_TOMORROW = os.path.join(WORK, "host")
FLAGS = ["-std=c11", "-O1", "-fPIC", "-D_POSIX_C_SOURCE=200809L", "-ffp-contract=off"]


def compiler():
    return os.environ.get("BURN_TEST_COMPILER", "cc").split()


def run(command, **options):
    """Runs to the end, whatever comes of it."""
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(BUILD, "cache"), XDG_CONFIG_HOME="/nonexistent")
    environment.pop("BURN_BACKEND", None)
    environment.update(options.pop("env", {}))
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, **options)


def must(command, **options):
    done = run(command, **options)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def minor_of(include):
    with open(os.path.join(include, "burn", "plugin", "abi.h")) as file:
        return int(re.search(r"#define BURN_ABI_MINOR (\d+)u", file.read()).group(1))


def sanitizer():
    return [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer"] if SANITIZE else []


def is_newer(made, sources):
    return os.path.exists(made) and all(os.path.getmtime(made) >= os.path.getmtime(source) for source in sources)


def build_plugin(folder, name, sources, include, target=None, defines=(), libraries=("-lm", "-lpthread")):
    """folder/burn_<name>.so, from these sources and headers, for a target minor (default: the headers' own)."""
    os.makedirs(folder, exist_ok=True)
    made = os.path.join(folder, f"burn_{name}.so")
    if is_newer(made, list(sources) + glob.glob(os.path.join(include, "burn", "plugin", "*"))):
        return made
    target = [f"-DBURN_TARGET_MINOR={target}"] if target else []
    launcher = [os.environ["CMAKE_C_COMPILER_LAUNCHER"]] if os.environ.get("CMAKE_C_COMPILER_LAUNCHER") else []
    objects = []
    for source in sources:
        objects.append(os.path.join(folder, f"{name}_{os.path.basename(source)}.o"))
        must(launcher + compiler() + FLAGS + sanitizer() + target + [f'-DPLUGIN_NAME="{name}"', *defines, "-I", include, "-I", COMMON, "-c", source,
                                                                     "-o", objects[-1]])
    must(compiler() + sanitizer() + ["-shared", *objects, "-o", made, *libraries])
    return made


def write_changed(path, text):
    if os.path.exists(path):
        with open(path) as file:
            if file.read() == text:
                return
    with open(path, "w") as file:
        file.write(text)


def copy_changed(source, target, words):
    """The files of a folder with words replaced; those that come out as they were are left alone."""
    os.makedirs(target, exist_ok=True)
    for name in os.listdir(source):
        with open(os.path.join(source, name)) as file:
            text = file.read()
        for old, new in words.items():
            text = text.replace(old, new)
        write_changed(os.path.join(target, name), text)


def build_host_of_tomorrow():
    """libburn, its programs and its reference backend, from changed sources. One at a time."""
    os.makedirs(WORK, exist_ok=True)
    with open(os.path.join(WORK, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        must([sys.executable, os.path.join(HERE, "mutate.py"), TOMORROW])
        if not os.path.exists(os.path.join(HOST_OF_TOMORROW, "CMakeCache.txt")):
            ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
            must([CMAKE, "-S", TOMORROW, "-B", HOST_OF_TOMORROW, *ninja, "-DBURN_TESTS=OFF", "-DBURN_TORCH=OFF",
                  f"-DCMAKE_C_COMPILER={compiler()[0]}", f"-DBURN_SANITIZE={SANITIZE}", "-DCMAKE_BUILD_TYPE=Release"])
        done = subprocess.run([CMAKE, "--build", HOST_OF_TOMORROW, "-j", os.environ.get("JOBS", str(os.cpu_count() or 2)), "--target",
                               "burn_command", "mnist", "xor", "burn_reference"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"the host of tomorrow does not build\n{done.stdout[-6000:]}{done.stderr[-2000:]}")


class Host:
    """The programs of a build, with plugins from these folders and no others."""

    def __init__(self, folder, *plugins):
        self.programs = os.path.join(folder, "bin")
        self.environment = {"BURN_PLUGIN_PATH": ":".join(plugins), "BURN_PLUGIN_PATH_ONLY": "1"}

    def run(self, program, *arguments):
        return run([os.path.join(self.programs, program), *arguments], env=self.environment, cwd=WORK)


class HostCase(unittest.TestCase):
    def passes(self, host, program, *arguments):
        done = host.run(program, *arguments)
        self.assertEqual(done.returncode, 0, f"{program} {' '.join(arguments)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout

    def conforms(self, host, stack, *arguments):
        """All cases of level core."""
        output = self.passes(host, "burn", "conform", stack, "--level", "core", *arguments)
        counts = re.search(r"passed: (\d+) cases, (\d+) passed, 0 failed", output)
        self.assertIsNotNone(counts, output[-2000:])
        self.assertGreaterEqual(int(counts.group(2)), 3, output)

    def loss_of_xor(self, host, stack):
        output = self.passes(host, "xor", "--steps", "300", "--backend", stack)
        return re.search(r'"loss":([0-9.e-]+)', output).group(1)

    def loss_of_mnist(self, host, stack):
        output = self.passes(host, "mnist", "--epochs", "1", "--train-items", "128", "--test-items", "32", "--show", "0", "--backend", stack,
                             "--artifact", os.path.join(WORK, "artifact"))
        return re.search(r'"train_loss":([0-9.e-]+)', output).group(1)
