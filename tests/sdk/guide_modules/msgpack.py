"""packb of msgpack for what the page on record files writes, where Python has no msgpack."""
import struct


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
