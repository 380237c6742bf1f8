#!/usr/bin/env python3
"""zoo_test.py - plugins as they were: zoo/0.N holds the headers of a minor and sources that were kept with them. Plugins of a minor that
hosts still serve load, conform and train, today and tomorrow; older ones are refused with both versions and the way out."""
import os
import re
import unittest

import building
from building import HERE, Host, HostCase, TODAY, TODAYS_PLUGINS, WORK

ZOO = os.path.join(HERE, "zoo")
TRACE = "trace:format=count,file=/dev/null"


def kept():
    """(minor, folder) of what was kept with its headers."""
    folders = [(int(name[2:]), os.path.join(ZOO, name)) for name in os.listdir(ZOO) if re.fullmatch(r"0\.\d+", name)]
    return sorted((minor, folder) for minor, folder in folders if os.path.isdir(os.path.join(folder, "include")))


def oldest_served():
    with open(os.path.join(TODAY, "burn", "plugin", "abi.h")) as file:
        return int(re.search(r"#define BURN_ABI_OLDEST_MINOR (\d+)u", file.read()).group(1))


def built(minor, folder):
    """The folder with the plugins of a minor. Its reference backend is called kept, so that it is compared with today's."""
    include, made, renamed = os.path.join(folder, "include"), os.path.join(WORK, "zoo", f"0.{minor}"), os.path.join(WORK, "zoo", f"kept_0.{minor}")
    building.copy_changed(os.path.join(folder, "reference"), renamed, {'"reference"': '"kept"'})
    building.build_plugin(made, "kept", sorted(building.glob.glob(os.path.join(renamed, "*.c"))), include)
    for name, source in (("mini", "mini_backend.c"), ("my_decorator", "my_decorator.c"), ("my_kernels", "my_kernels.c")):
        building.build_plugin(made, name, [os.path.join(folder, source)], include)
    return made


def setUpModule():
    building.build_host_of_tomorrow()


class Kept(HostCase):
    def setUp(self):
        if not kept() and "before_the_zoo" not in self.id():
            self.skipTest("no minor is kept yet: tests/abi/keep MINOR, when it is released")

    def hosts(self):
        for minor, folder in kept():
            plugins = built(minor, folder)
            served = minor >= oldest_served()
            for word, host in (("today", building.BUILD), ("tomorrow", building.HOST_OF_TOMORROW)):
                yield f"plugins of 0.{minor} on a host of {word}", Host(host, plugins, TODAYS_PLUGINS), minor, served

    def test_served_minors_run(self):
        for words, host, _, served in self.hosts():
            for stack in ("kept", "my_decorator<kept>", "my_decorator<ndarray>", "my_kernels", "autodiff<fusion<kept>>") if served else ():
                with self.subTest(f"{words}: {stack}"):
                    self.conforms(host, stack)

    def test_served_minors_train(self):
        today = Host(building.BUILD, TODAYS_PLUGINS)
        for words, host, _, served in self.hosts():
            for stack in ("autodiff<kept>", f"autodiff<my_decorator<{TRACE}<kept>>>", "autodiff<fusion<validate<kept>>>") if served else ():
                with self.subTest(f"{words}: {stack}"):
                    self.assertEqual(self.loss_of_xor(host, stack), self.loss_of_xor(today, "autodiff<reference>"))

    def test_a_small_backend_of_a_served_minor(self):
        for words, host, _, served in self.hosts():
            with self.subTest(words):
                if served:
                    self.conforms(host, "mini", "--check", "handshake")

    def test_others_are_refused(self):
        for words, host, minor, served in self.hosts():
            with self.subTest(words):
                if not served:
                    self.refused(host, minor, "kept")

    def refused(self, host, minor, stack):
        done = host.run("xor", "--backend", stack)
        self.assertEqual(done.returncode, 1, done.stdout)
        today, oldest = building.minor_of(TODAY), oldest_served()
        self.assertIn(f"it is built for plugin ABI 0.{minor}, this host has 0.{today} and serves none before 0.{oldest}: rebuild it with the"
                      " headers of Burn ", done.stdout + done.stderr)
        self.assertIn('"backend":"autodiff<ndarray>"', self.passes(host, "xor", "--steps", "10"))

    def test_a_plugin_of_before_the_zoo(self):
        """0.2 had a descriptor of the same layout; a copy of it stands in for the plugins of then."""
        folder = os.path.join(WORK, "zoo", "0.2")
        building.build_plugin(folder, "old", [os.path.join(ZOO, "0.2", "old_plugin.c")], TODAY)
        self.refused(Host(building.BUILD, folder, TODAYS_PLUGINS), 2, "old")


if __name__ == "__main__":
    unittest.main()
