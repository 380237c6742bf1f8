"""records_page.py PAGE - runs the Python of sdk/guide/records.md in the working directory. Where there is no msgpack, a few lines of
struct stand for its packb. The first line that is printed says which."""
import pathlib
import re
import struct
import sys
import types


def packb(value):
    if isinstance(value, int):
        return bytes([value])   # of 0 to 127
    if isinstance(value, str):
        data = value.encode()
        return (bytes([0xa0 + len(data)]) if len(data) < 32 else struct.pack(">BB", 0xd9, len(data))) + data
    if isinstance(value, bytes):
        return struct.pack(">BB", 0xc4, len(value)) + value
    if isinstance(value, list):
        return bytes([0x90 + len(value)]) + b"".join(map(packb, value))
    return bytes([0x80 + len(value)]) + b"".join(packb(key) + packb(entry) for key, entry in value.items())


try:
    import msgpack
    print("with msgpack", msgpack.version)
except ImportError:
    sys.modules["msgpack"] = types.ModuleType("msgpack")
    sys.modules["msgpack"].packb = packb
    print("with struct: there is no msgpack")
blocks = re.findall(r"^```python\n(.*?)^```$", pathlib.Path(sys.argv[1]).read_text(), re.MULTILINE | re.DOTALL)
assert blocks, "the page has no Python"
for block in blocks:
    exec(block, {})
