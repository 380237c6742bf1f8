#!/usr/bin/env python3
"""own_names.py FOLDER - libraries in FOLDER that are not Burn's get names of their own, brncurl.so.4 for libcurl.so.4, as files and in all
that asks for them. A process that has loaded a library under its usual name gets no second one of that name: Python's ssl would run on the
wheel's libcrypto, or Burn on that of the system, and one of the two may be too old for the other.

SQLite keeps its name: two copies of it in a process do not see each other's locks (sqlite.org/howtocorrupt.html, 2.2.1), so Python's sqlite3
and Burn have to share one."""
import pathlib
import sys

SHARED = "libburn", "libsqlite3"


def renamed(name):
    return "brn" + name[3:]  # as long as before, so that texts in the files stay where they are


def main():
    folder = pathlib.Path(sys.argv[1])
    foreign = [path.name for path in folder.glob("lib*.so*") if not path.name.startswith(SHARED)]
    for path in folder.rglob("*.so*"):
        data = path.read_bytes()
        for name in foreign:
            data = data.replace(b"\0" + name.encode() + b"\0", b"\0" + renamed(name).encode() + b"\0")
        path.write_bytes(data)
        if path.name in foreign:
            path.rename(path.with_name(renamed(path.name)))


main()
