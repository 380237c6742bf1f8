"""burnpack_bytes.py PRECISION FILE - writes the Burnpack that burnpack_test.c expects of its module, from the format's
description alone (sdk/guide/records.md): PRECISION is full, half or double."""
import struct
import sys


def head(major, number):
    """The first bytes of a CBOR item: 3 bits of type, and a number in the fewest bytes."""
    for low, form, limit in ((number, "", 24), (24, "B", 1 << 8), (25, ">H", 1 << 16), (26, ">I", 1 << 32), (27, ">Q", 1 << 64)):
        if number < limit:
            return bytes([major << 5 | low]) + (struct.pack(form, number) if form else b"")
    raise ValueError(number)


def cbor(value):
    if isinstance(value, bool):
        return bytes([0xf5 if value else 0xf4])
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        for first, form in ((0xf9, ">e"), (0xfa, ">f"), (0xfb, ">d")):
            try:
                packed = struct.pack(form, value)
            except OverflowError:
                continue
            if struct.unpack(form, packed)[0] == value:
                return bytes([first]) + packed
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    return head(5, len(value)) + b"".join(cbor(key) + cbor(entry) for key, entry in value.items())


def burnpack(tensors, scalars):
    """tensors: (name, dtype, shape, bytes, id or None) in the order in which they were added."""
    data, entries = b"", {}
    for name, dtype, shape, raw, number in tensors:
        data += bytes(-len(data) % 256)
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        if number is not None:
            entries[name]["param_id"] = number
        data += raw
    metadata = {"tensors": dict(sorted(entries.items(), key=lambda entry: entry[0].encode()))}
    if scalars:
        metadata["scalars"] = dict(sorted(scalars.items()))
    text = cbor(metadata)
    front = struct.pack("<IHI", 0x4255524E, 1, len(text)) + text
    return front + bytes(-len(front) % 256) + data


def main():
    float_dtype, float_form, int_dtype, int_form = {
        "full": ("F32", "f", "I32", "i"), "half": ("F16", "e", "I16", "h"), "double": ("F64", "d", "I64", "q")}[sys.argv[1]]

    def ramp(name, start, shape, number):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [start + i / 8 for i in range(count)]
        return name, float_dtype, shape, struct.pack(f"<{count}{float_form}", *values), number

    tensors = [ramp("dense.weight", 1, [2, 3], 1), ramp("dense.bias", 51, [3], 23)]
    for i in range(2):
        start, numbers = 111 + 10 * i, [(24, 255, 256, 65535), (65536, 0xffffffff, 1 << 32, (1 << 64) - 1)][i]
        tensors += [ramp(f"blocks.{i}.dense.weight", start, [2, 3], numbers[0]),
                    ramp(f"blocks.{i}.dense.bias", start + 50, [3], numbers[1]),
                    ramp(f"blocks.{i}.norm.gamma", 191 + 10 * i, [3], numbers[2]),
                    ramp(f"blocks.{i}.norm.running_mean", 221 + 10 * i, [3], numbers[3])]
    tensors.append(ramp("tail.weight", 101, [2, 3], 1 << 63))
    tensors.append(("lookup.table", int_dtype, [4], struct.pack(f"<4{int_form}", 3, -1, 700, 5), 77))
    with open(sys.argv[2], "wb") as file:
        file.write(burnpack(tensors, {}))
    other = [("b", "Bool", [3], bytes([1, 0, 1]), None), ("a", float_dtype, [0], b"", 5)]
    scalars = {"step": {"Int": 300}, "back": {"Int": -25}, "rate": {"Float": 0.1}, "half": {"Float": 0.5},
               "single": {"Float": 2.0 ** -100}, "big": {"Float": 1e300}, "on": {"Bool": True}}
    with open(sys.argv[2] + ".scalars", "wb") as file:
        file.write(burnpack(other, scalars))


if __name__ == "__main__":
    main()
