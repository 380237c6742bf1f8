#!/usr/bin/env python3
"""ageing_test.py - plugins of today on a host of tomorrow (mutate.py), and plugins of tomorrow on today's host."""
import os
import sys
import unittest

import building
from building import Host, HostCase, SOURCE, TODAY, TODAYS_PLUGINS, TOMORROW, WORK

NEW_HEADERS = os.path.join(TOMORROW, "plugin-api", "include")
MINOR = building.minor_of(TODAY)
OURS = os.path.join(WORK, "today")               # today's templates and third-party backend, with today's headers
NEW = os.path.join(WORK, "tomorrow_plugins")     # with tomorrow's headers, for hosts of tomorrow
AGED = os.path.join(WORK, "tomorrow_for_today")  # with tomorrow's headers, for hosts of today
TRACE = "trace:format=count,file=/dev/null"


def plugin_sources(tree):
    def at(pattern):
        return [path for path in sorted(building.glob.glob(os.path.join(tree, pattern))) if not path.endswith("_windows.c")]
    return {"reference": at("plugins/reference/reference_*.c"), "autocast": at("decorators/autocast/*.c"), "autodiff": at("decorators/autodiff/*.c"),
            "fusion": at("decorators/fusion/*.c"), "trace": at("decorators/trace/*.c"), "validate": at("decorators/validate/*.c"),
            "my_decorator": at("sdk/templates/decorator/my_decorator.c"), "my_kernels": at("sdk/templates/kernels/my_kernels.c"),
            "mini": [os.path.join(SOURCE, "tests/plugins/mini_backend.c")]}


def without_seconds(text):
    return building.re.sub(r", [0-9.]+ s$", "", text, flags=building.re.M)


def renamed_reference(sources, name):
    """The reference backend under another name, so that it stands beside today's and is compared with it."""
    folder = os.path.join(WORK, f"sources_of_{name}")
    building.copy_changed(os.path.dirname(sources[0]), folder, {'"reference"': f'"{name}"'})
    return sorted(building.glob.glob(os.path.join(folder, "*.c")))


def setUpModule():
    building.build_host_of_tomorrow()
    today, tomorrow = plugin_sources(SOURCE), plugin_sources(TOMORROW)
    for name in ("my_decorator", "my_kernels", "mini"):
        building.build_plugin(OURS, name, today[name], TODAY)
    tomorrow["aged"] = renamed_reference(tomorrow["reference"], "aged")
    tomorrow["future"] = renamed_reference(tomorrow.pop("reference"), "future")
    for name, sources in tomorrow.items():
        building.build_plugin(AGED, name, sources, NEW_HEADERS, target=MINOR)
    building.build_plugin(NEW, "exclusive", [os.path.join(building.HERE, "exclusive_decorator.c")], NEW_HEADERS)
    building.build_plugin(NEW, "future", tomorrow["future"], NEW_HEADERS)


class TodayOnTomorrow(HostCase):
    host = Host(building.HOST_OF_TOMORROW, OURS, TODAYS_PLUGINS, NEW)
    today = Host(building.BUILD, OURS, TODAYS_PLUGINS)

    def test_conformance(self):
        for stack in ("ndarray", "reference", "autodiff<ndarray>", "fusion<ndarray>", f"{TRACE}<ndarray>", "my_decorator<ndarray>",
                      "my_kernels", "future", "autodiff<fusion<future>>"):
            with self.subTest(stack):
                self.conforms(self.host, stack)

    def test_what_a_small_backend_has(self):
        """A backend that lacks most ops fails many cases: the same ones as today."""
        for stack in ("mini", "fusion<mini>", "validate<mini>"):
            with self.subTest(stack):
                arguments = ("burn", "conform", stack, "--check", "forward", "--op", "neg,exp,add,mul,div,sum_dim,reshape,matmul")
                result = self.today.run(*arguments).stdout
                self.assertRegex(result, r"\d{3} cases, \d{3} passed")
                self.assertEqual(without_seconds(self.host.run(*arguments).stdout), without_seconds(result))

    def test_training(self):
        for stack in ("autodiff<ndarray>", "autodiff<fusion<ndarray>>", f"autodiff<{TRACE}<validate<reference>>>",
                      "autodiff<my_decorator<ndarray>>"):
            with self.subTest(stack):
                self.assertEqual(self.loss_of_xor(self.host, stack), self.loss_of_xor(self.today, stack))
        for stack in ("autodiff<ndarray>", "autodiff<fusion<ndarray>>"):
            with self.subTest(stack):
                self.assertEqual(self.loss_of_mnist(self.host, stack), self.loss_of_mnist(self.today, stack))

    def test_new_ops_and_attributes(self):
        program = os.path.join(WORK, "ageing_test")
        host = building.HOST_OF_TOMORROW
        includes = [f"-I{TOMORROW}/{part}/include" for part in ("plugin-api", "core")]
        building.must(building.compiler() + ["-std=c11", "-D_POSIX_C_SOURCE=200809L", *building.sanitizer(), *includes,
                                             os.path.join(building.HERE, "ageing_test.c"), "-o", program, f"-L{host}/lib", "-lburn",
                                             f"-Wl,-rpath,{host}/lib", "-lcmocka"])
        done = building.run([program], env=self.host.environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_lists(self):
        listed = self.passes(self.host, "burn", "backends")
        for name in ("ndarray", "reference", "mini", "future"):
            self.assertIn(name, listed)
        self.assertNotIn("incompatible", listed)


class TomorrowOnToday(HostCase):
    def test_for_the_older_host(self):
        """Tomorrow's headers, BURN_TARGET_MINOR of today: as plugins of today."""
        host, today = Host(building.BUILD, AGED, TODAYS_PLUGINS), Host(building.BUILD, OURS, TODAYS_PLUGINS)
        for stack in ("aged", "autodiff<aged>", "fusion<ndarray>", f"{TRACE}<ndarray>", "my_decorator<ndarray>", "my_kernels"):
            with self.subTest(stack):
                self.conforms(host, stack)
        for stack in ("autodiff<aged>", "autodiff<fusion<ndarray>>", f"autodiff<{TRACE}<validate<aged>>>"):
            with self.subTest(stack):
                self.assertEqual(self.loss_of_xor(host, stack), self.loss_of_xor(today, stack.replace("aged", "reference")))

    def test_the_target_of_cmake(self):
        """burn_add_plugin(.. TARGET_MINOR ..) with tomorrow's headers."""
        folder = os.path.join(WORK, "cmake_target")
        os.makedirs(folder, exist_ok=True)
        building.write_changed(os.path.join(folder, "CMakeLists.txt"), f"""cmake_minimum_required(VERSION 3.20)
project(target LANGUAGES C)
add_library(burn_plugin_api INTERFACE)
target_include_directories(burn_plugin_api INTERFACE {NEW_HEADERS} {building.COMMON})
add_library(Burn::plugin_api ALIAS burn_plugin_api)
add_library(Burn::plugin_common ALIAS burn_plugin_api)
include({SOURCE}/sdk/cmake/BurnPlugin.cmake)
foreach(name of_today of_tomorrow)
  set(target_of_today TARGET_MINOR {MINOR})
  burn_add_plugin(${{name}} ${{target_${{name}}}} {SOURCE}/tests/plugins/mini_backend.c)
  target_compile_definitions(burn_${{name}} PRIVATE PLUGIN_NAME="${{name}}")
  target_link_libraries(burn_${{name}} PRIVATE m)
endforeach()
""")
        sanitize = f"-DCMAKE_C_FLAGS={' '.join(building.sanitizer())}"
        building.must([building.CMAKE, "-S", folder, "-B", f"{folder}/build", sanitize, f"-DCMAKE_C_COMPILER={building.compiler()[0]}"])
        building.must([building.CMAKE, "--build", f"{folder}/build"])
        host = Host(building.BUILD, f"{folder}/build", TODAYS_PLUGINS)
        self.conforms(host, "of_today", "--check", "handshake")
        self.assertIn(f"update Burn, or build the plugin with BURN_TARGET_MINOR={MINOR}", host.run("xor", "--backend", "of_tomorrow").stderr)

    def test_for_the_newer_host(self):
        """Refused with both versions and the way out; programs that did not ask for it go on without it."""
        host = Host(building.BUILD, NEW, TODAYS_PLUGINS)
        refusal = (f"it is built for plugin ABI 0.{MINOR + 1}, this host has 0.{MINOR}: update Burn, or build the plugin with"
                   f" BURN_TARGET_MINOR={MINOR}")
        for stack in ("future", "exclusive<ndarray>"):
            done = host.run("xor", "--backend", stack)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(refusal, done.stdout + done.stderr)
        self.assertIn('"backend":"autodiff<ndarray>"', self.passes(host, "xor", "--steps", "10"))
        listed = host.run("burn", "backends")
        self.assertIn("BURN_TARGET_MINOR", listed.stdout)
        doctor = host.run("burn", "doctor")
        self.assertIn(refusal, " ".join((doctor.stdout + doctor.stderr).split()))


if __name__ == "__main__":
    sys.path.insert(0, building.HERE)
    unittest.main()
