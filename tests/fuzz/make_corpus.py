"""Writes the first inputs of every fuzz target into corpus/<target>/, always the same bytes.

Files named found-* are not touched: inputs that once were findings. What the inputs are made of stands in the comment of each target.
"""
import gzip
import io
import json
import math
import pathlib
import random
import re
import sqlite3
import struct
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit/core"))
from burnpack_bytes import burnpack  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))
import make_pytorch_golden  # noqa: E402

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
RECORDERS = "burn_core::record::file::%s<burn_core::record::settings::FullPrecisionSettings>"
FORMAT = "burn_core::record::file::NamedMpkFileRecorder<burn_core::record::settings::%s>"
FULL = {"float": "f32", "int": "i32", "format": FORMAT % "FullPrecisionSettings", "version": "0.20.1",
        "settings": "FullPrecisionSettings"}
DOUBLE = {"float": "f64", "int": "i64", "format": FORMAT % "DoublePrecisionSettings", "version": "0.20.1",
          "settings": "DoublePrecisionSettings"}


def pack(value):
    """MessagePack, of what records are made of."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return struct.pack(">b", value) if -32 <= value < 128 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode()
        return (bytes([0xa0 + len(data)]) if len(data) < 32 else b"\xd9" + bytes([len(data)])) + data
    if isinstance(value, bytes):
        return b"\xc4" + bytes([len(value)]) + value
    if isinstance(value, list):
        return bytes([0x90 + len(value)]) + b"".join(pack(v) for v in value)
    return bytes([0x80 + len(value)]) + b"".join(pack(k) + pack(v) for k, v in value.items())


def record(item, metadata=FULL):
    return pack({"metadata": metadata, "item": item, "_b": []})


def tensor(*shape, dtype="F32", letter="f"):
    count = 1
    for size in shape:
        count *= size
    return {"bytes": struct.pack("<%d%s" % (count, letter), *[i + 1 for i in range(count)]), "shape": list(shape), "dtype": dtype}


def param(identity, *shape):
    """Its id has the digits 0-9a-v."""
    return {"id": identity.ljust(13, "0"), "param": tensor(*shape)}


def linear(identity, inputs, outputs):
    return {"weight": param(identity + "t", inputs, outputs), "bias": param(identity + "b", outputs)}


def quantized(*shape, value="Q8S", bits=8, scales=b"\0\0\0\x3f", new=False, block=None, store=None):
    """A tensor of Burn's QFloat: values, one f32 scale or one per block, in either spelling of the scheme."""
    count = 1
    for size in shape:
        count *= size
    words = (count * bits + 31) // 32
    scheme = {"value": value, "store": store or {"PackedU32": 0}, "mode": "Symmetric"}
    size = {"storage": (block or []) + [1] * (5 - len(block or [])), "len": len(block or [])}
    if new:
        scheme.update(tensor="F32" if block else None, block={"size": size, "dtype": "F16"} if block else None)
    else:
        scheme.update(param="F32", level={"Block": size} if block else "Tensor")
    return {"bytes": bytes((7 * i + 1) % 256 for i in range(4 * words)) + scales, "shape": list(shape), "dtype": {"QFloat": scheme}}


def nets():
    norm = {"gamma": param("g", 2), "beta": param("b", 2), "running_mean": param("m", 2), "running_var": param("v", 2),
            "momentum": None, "epsilon": None}
    net = {"linear": linear("a", 3, 2), "norm": norm, "list": [linear("c", 3, 2), linear("d", 3, 2)], "width": None,
           "option": linear("e", 3, 2), "absent": None, "dense": {"Dense": linear("f", 3, 2)}, "off": {"Off": None}, "table": None}
    yield "module", net
    yield "module-of-another-case", dict(net, dense={"Off": None})
    yield "module-of-two-cases", dict(net, dense={"Dense": linear("f", 3, 2), "Off": None})
    yield "module-where-nothing-is", dict(net, absent=linear("g", 3, 2), off={"Off": linear("h", 3, 2)})


def quantized_nets():
    """What a .bin does not hold."""
    net = dict(nets())["module"]
    eight = dict(net, linear={"weight": {"id": "at".ljust(13, "0"), "param": quantized(3, 2), "input_scale": 0.25},
                              "bias": {"id": "ab".ljust(13, "0"), "param": quantized(2, store="Native")}})
    levels = dict(net, linear={"weight": {"id": "at".ljust(13, "0"), "param": quantized(3, 2, value="Q4F", bits=4, new=True, block=[1, 2],
                                                                                     scales=b"\0\x38" * 3 + b"\0\0\0\0\x80\x3e")},
                               "bias": param("ab", 2)})
    halves = dict(net, linear={"weight": {"id": "at".ljust(13, "0"), "param": quantized(3, 2, value="Q2S", bits=2, block=[2],
                                                                                     scales=b"\0\0\0\x3f" * 3)},
                               "bias": param("ab", 2)})
    yield "module-quantized", eight
    yield "module-quantized-in-two-levels", levels
    yield "module-quantized-in-blocks", halves
    yield "module-with-an-adapter", dict(net, linear=dict(linear("a", 3, 2), weight=dict(
        param("at", 3, 2), lora={"a": param("la", 3, 1), "b": param("lb", 1, 2), "scale": None})))


def records():
    whole = dict(nets())["module"]
    kinds = [None, True, -7, 1 << 40, 0.5, float("nan"), "text", [], {}, [[[1]]], {"a": {"b": [2, 3]}}]
    values = [tensor(2, dtype="F64", letter="d"), tensor(2, 1, dtype="I64", letter="q"), tensor(3, dtype="U8", letter="B"), tensor(0)]
    for name, item in [*nets(), *quantized_nets()]:
        yield name, b"\0" + record(item)
    yield "module-with-options", bytes([9 * 15]) + record(whole)
    yield "module-quantized-with-options", bytes([9 * 15]) + record(dict(quantized_nets())["module-quantized"])
    yield "module-half-of-ours-gzipped", b"\x05" + record(whole)
    yield "kinds", b"\0" + record({"kinds": kinds[:11]})
    yield "kinds-double", b"\x06" + record({"kinds": kinds[:11]}, DOUBLE)
    yield "tensors", b"\0" + record(values)
    yield "gzip", b"\x01" + gzip.compress(record({"a": 1}), mtime=0)
    yield "lengths", b"\0" + record(1)[:-4] + b"\xdf\xff\xff\xff\xff\xdd\x7f\xff\xff\xff\xc6\xff\xff\xff\xf0"
    yield "nested", b"\0" + pack("item") * 2 + b"\x91" * 300


def jsons():
    def plain(value):
        """JSON has no bytes; a parameter's are numbers."""
        if isinstance(value, dict):
            return {key: plain(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [plain(entry) for entry in value]
        return list(value) if isinstance(value, bytes) else value

    def text(item, **form):
        metadata = dict(FULL, format=RECORDERS % "PrettyJsonFileRecorder")
        return json.dumps({"metadata": metadata, "item": plain(item), "_b": None}, **form).encode()

    for name, item in [*nets(), *quantized_nets()]:
        yield name, b"\0" + text(item, separators=(",", ":"))
    whole = dict(nets())["module"]
    yield "module-indented", b"\0" + text(whole, indent=2)
    yield "module-with-options", bytes([9 * 15]) + text(whole)
    yield "module-half-of-ours-gzipped", b"\x05" + text(whole)
    yield "kinds", b"\0" + text([None, True, False, -7, 1 << 40, -(1 << 63), 0.5, -1e-300, "t\u00e9\U0001f600\n", [], {}, {"a": {"b": [2]}}])
    yield "bytes-of-no-tensor", b"\0" + text({"bytes": [1, 2, 255], "more": {"bytes": [256]}, "bool": {"bytes": [1, 0], "shape": [2], "dtype": {"Bool": "Native"}}})
    yield "escapes", b"\0" + text(1).replace(b'"item": 1', b'"item": "\\ud83d\\ude00\\u0007\\/\\b", "x": [1e5, 1E+5, -0, -0.0, 0.1e-7]')
    yield "nested", b"\0" + b'{"item":' + b"[" * 300


def bins():
    def uint(value):
        return bytes([value]) if value < 251 else b"\xfb" + struct.pack("<H", value)

    def text(value):
        return uint(len(value)) + value.encode()

    def param(identity, *shape):
        made = tensor(*shape)
        return text(identity.ljust(13, "0")) + uint(len(made["bytes"])) + made["bytes"] + uint(len(shape)) + bytes(shape) + b"\1"

    def linear(identity):
        return param(identity + "t", 3, 2) + b"\1" + param(identity + "b", 2)

    front = b"".join(map(text, dict(FULL, format=RECORDERS % "BinFileRecorder", version="0.21.0").values()))
    norm = b"".join(param(letter, 2) for letter in "gbmv") + b"\0\0"
    net = linear("a") + norm + b"\2" + linear("c") + linear("d") + b"\0\1" + linear("e") + b"\0" + b"\1" + linear("f") + b"\0\0" + b"\0"
    yield "module", b"\0" + front + net
    yield "module-with-options", bytes([9 * 15]) + front + net
    yield "module-half-of-ours-gzipped", b"\x05" + front + net
    yield "gzip", b"\1" + gzip.compress(front + net, mtime=0)
    yield "of-another-version", b"\0" + front.replace(b"0.21.0", b"0.20.1") + net
    yield "lengths", b"\0" + front + b"\x0d" + b"0" * 13 + b"\xfd" + b"\xff" * 8


def burnpacks():
    def entry(name, identity, *shape, dtype="F32", letter="f"):
        made = tensor(*shape, dtype=dtype, letter=letter)
        return name, made["dtype"], made["shape"], made["bytes"], identity

    net, norm = [], ["norm.gamma", "norm.beta", "norm.running_mean", "norm.running_var"]
    for name in ["linear", "list.0", "list.1"]:
        net += [entry(name + ".weight", len(net), 3, 2), entry(name + ".bias", (1 << 64) - 1 - len(net), 2)]
    net[2:2] = [entry(name, 1 << (9 * i + 9), 2) for i, name in enumerate(norm)]
    dtypes = [entry("f64", None, 2, dtype="F64", letter="d"), entry("i64", 1, 2, 1, dtype="I64", letter="q"),
              entry("u8", 2, 3, dtype="U8", letter="B"), entry("none", 3, 0), entry("bool", 4, 2, dtype={"Bool": "Native"}, letter="B")]
    packed = quantized(3, 2)
    eight = [("linear.weight", packed["dtype"], packed["shape"], packed["bytes"], 7)] + net[1:]
    scalars = {"a": {"Int": -300}, "b": {"UInt": 70000}, "c": {"Float": 0.1}, "d": {"Float": 0.5}, "e": {"Bool": True}}
    yield "module", b"\0" + burnpack(net, {})
    yield "module-half", b"\1" + burnpack(net, {})
    yield "module-without-one", b"\0" + burnpack(net[1:], {})
    yield "module-and-scalars", b"\2" + burnpack(net, scalars)
    yield "module-quantized", b"\0" + burnpack(eight, {"linear.weight.input_scale": {"Float": 0.25}})
    yield "dtypes", b"\2" + burnpack(dtypes, {})
    yield "scalars", b"\0" + burnpack([], scalars)
    yield "overlap", b"\0" + burnpack(net[:2], {}).replace(b"\x82\x19\x01\x00\x19\x01\x08", b"\x82\x19\x00\x00\x19\x00\x08")
    yield "lengths", b"\0" + struct.pack("<IHI", 0x4255524E, 1, 10) + b"\xbb" + b"\xff" * 9
    yield "nested", b"\0" + struct.pack("<IHI", 0x4255524E, 1, 200) + b"\x81" * 200


def checkpoint():
    w, b = "nt55tqkg345ei", "nveego7oddfii"
    model = {"linear": {"weight": {"id": w, "param": tensor(2, 2)}, "bias": {"id": b, "param": tensor(2)}}}

    def moments(*shape):
        return {"V1": {"Rank%d" % len(shape): {"momentum": {"time": 2, "moment_1": tensor(*shape), "moment_2": tensor(*shape)}}}}

    result = {"train_loss": 0.7, "train_accuracy": 0.5, "valid_loss": 0.6, "valid_accuracy": 0.5, "seconds": 0.1,
              "items_per_second": 40.0}
    values = {"train": 0.5, "valid": 0.6}
    named = {"metrics": {"Loss": values, "Accuracy": values, "Gone": values}, "seconds": 0.1, "items_per_second": 40.0}
    learner = {"random": {"seed": 1, "offset": 2}, "random_inner": {"seed": 0, "offset": 0}, "history": [result]}
    files = [record(model), record({w: moments(2, 2), b: moments(2)}), record(learner, DOUBLE)]
    yield "whole", b"<|>".join(files)
    yield "named-metrics", b"<|>".join(files[:2] + [record(dict(learner, history=[named]), DOUBLE)])
    yield "no-learner", b"<|>".join(files[:2])
    yield "history-too-long", b"<|>".join(files[:2] + [record(dict(learner, history=[result] * 3), DOUBLE)])
    yield "rank", b"<|>".join([files[0], record({w: moments(2), b: moments(2, 2)}), files[2]])
    yield "twice-the-same-id", b"<|>".join([files[0].replace(b.encode(), w.encode()), files[1], files[2]])


def idx():
    def images(count, there, magic=0x803, side=28):
        return struct.pack(">4I", magic, count, side, side) + bytes(range(196)) * 4 * there

    def labels(count, there, magic=0x801):
        return struct.pack(">2I", magic, count) + bytes(i % 10 for i in range(there))

    plain = images(1, 1) + b"<|>" + labels(1, 1)
    yield "plain", b"\0" + plain
    yield "gzipped-by-the-target", b"\x08" + plain
    yield "images-gzipped", b"\x01" + gzip.compress(images(1, 1), mtime=0) + b"<|>" + labels(1, 1)
    yield "too-few", b"\0" + images(2, 1) + b"<|>" + labels(1, 1)
    yield "too-many", b"\0" + images(0xffffff, 0) + b"<|>" + labels(0xffffff, 4)
    yield "header-only", b"\0" + images(0, 0) + b"<|>" + labels(0, 0)


def json_lines():
    good = b'{"x":[[1,2],[3,-4.5]],"i":7,"t":"text","b":true}\n'
    yield "good", b"\0" + 3 * good
    yield "skipped", b"\1" + good + b'\r\n{"x":[[1,2],[3]],"i":7,"t":"text","b":true}\nno\n' + good[:-1]
    yield "values", b"\0" + good.replace(b"-4.5", b"1e400") + good.replace(b"7", b"9007199254740993").replace(b"true", b"2")
    yield "nested", b"\1" + b'{"x":' + 1200 * b"[" + b"\n" + good.replace(b'"text"', b"[1,2,3,4,5,6,7,8]") + b"{}\n[]\n\0"


def csvs():
    header, good = b"x,x2,i,t,b\n", b'1,-2.5e3,7,"te ""xt",true\n'
    yield "good", b"\0" + header + 3 * good
    yield "skipped", b"\1" + header + good + b"1,2\r\n1,2,3,4,5\n" + good[:-1]
    yield "bare", b"\3" + 2 * good + b'1,2,3,"two\nlines",0\n'
    yield "cut", b"\5" + header + b"1,2,3,long enough,false\n" + b'1,2,3,"open,0\n'
    yield "semicolons", b"\x0c\xef\xbb\xbf" + header.replace(b",", b";") + good.replace(b",", b";") + b'"a"b\n\0'


def numpys():
    def npy(descr, shape, data, order="False", version=1):
        header = ("{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n" % (descr, order, shape)).encode()
        return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data

    def npz(method, **arrays):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            for name, data in arrays.items():
                archive.writestr(zipfile.ZipInfo(name + ".npy"), data, method)
        return out.getvalue()

    x, y = npy("'<f4'", "(2, 3)", bytes(24)), npy("'>i2'", "(2,)", bytes(4), "True", 2)
    yield "x", x
    yield "y", y
    yield "turned", npy("'|b1'", "(2, 3, 2)", bytes(range(12)), "True")
    yield "empty", npy("'<f8'", "(0, 4)", b"")
    yield "scalar", npy("'<i8'", "()", bytes(8))
    yield "stored", npz(zipfile.ZIP_STORED, x=x, y=y)
    yield "deflated", npz(zipfile.ZIP_DEFLATED, x=x, y=y)


def safetensors(header, data=b""):
    header = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(header)) + header + data


def safetensors_linear():
    return safetensors({"__metadata__": {"format": "pt"}, "bias": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                        "weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]}}, bytes(32))


def store_safetensors():
    yield "linear", safetensors_linear()
    for name, size in (("BOOL", 1), ("U8", 1), ("I8", 1), ("F8_E4M3", 1), ("I16", 2), ("U16", 2), ("F16", 2), ("BF16", 2), ("U32", 4),
                       ("F64", 8), ("U64", 8)):
        yield name, safetensors({"x": {"dtype": name, "shape": [2], "data_offsets": [0, 2 * size]}}, bytes(range(2 * size)))
    yield "scalar", safetensors({"x": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]}}, bytes(8))
    yield "empty", safetensors({"x": {"dtype": "F32", "shape": [0, 3], "data_offsets": [0, 0]}})
    yield "escapes", safetensors(b'{"\\u00e9\\ud83d\\ude00\\n":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   ', b"1")
    yield "wraps", safetensors({"x": {"dtype": "F32", "shape": [1 << 32, 1 << 32], "data_offsets": [0, 0]}})


def store_burn():
    yield from ((name, data) for name, data in records() if len(data) < 4000)
    yield from ((name, data) for name, data in burnpacks() if len(data) < 4000)


def store_index():
    index = b'{"metadata":{"total_size":32},"weight_map":{"weight":"one","bias":"one","x":"two"}}'
    two = safetensors({"x": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b"1")
    yield "two", index + b"<|>" + safetensors_linear() + b"<|>" + two
    yield "itself", b'{"weight_map":{"weight":"index.json"}}<|><|>'
    yield "above", b'{"weight_map":{"weight":"../one"}}<|><|>'


def golden(*names):
    """Files of other tools, from data_golden.h."""
    text = (CORPUS.parents[1] / "golden/data_golden.h").read_text()
    for name in names:
        values = re.search(r" %s\[\] = \{(.*?)\};" % name, text, re.S).group(1)
        yield name.replace("_", "-"), bytes(int(v) for v in values.replace("\n", " ").split(",") if v.strip())


def tokenizers():
    files = dict(golden("tokens_vocab", "tokens_merges", "tokens_text", "tokens_samples"))
    small = b'{"a":0,"b":1,"ab":2,"\xc4\xa0":3}<|>#version: 0.2\na b\n<|>'
    yield "small", small + b"ab abba"
    yield "golden", files["tokens-vocab"] + b"<|>" + files["tokens-merges"] + b"<|>" + files["tokens-samples"]
    yield "text", b"{}<|><|>" + files["tokens-text"][:700]
    yield "spaces", small + "a\u00a0 \u3000b\r\n\n 's 1\u00bd \U0001f525".encode() + b"\xff\xc3"
    yield "damaged", b'{"a":0,"a":1}<|>a a<|>\0'


def images():
    for i, (name, data) in enumerate(golden("png_rgb", "png_palette", "png_grey", "png_alpha", "png_16", "jpeg_rgb", "jpeg_progressive")):
        yield name, bytes([i * 9 % 64]) + data
    yield "ppm", b"\x01P6\n# two\n2 1\n255\n" + bytes(6)
    yield "pgm", b"\x02P5 3 2 7 " + bytes(range(6))


def databases():
    for rows in 0, 3:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.db"
            data = sqlite3.connect(path)
            data.execute("pragma page_size = 512")
            data.execute("create table t (row_id integer primary key, i integer, x blob, t text, f real, b integer)")
            for i in range(rows):
                data.execute("insert into t values (?, ?, ?, ?, ?, ?)", (i + 1, i, bytes(8), "t" * i, i / 2, i % 2))
            data.commit()
            data.close()
            yield "rows-%d" % rows, path.read_bytes()


def archives():
    def tar(*members):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, data in members:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return out.getvalue()

    yield "short", b"\0" + tar(("a/readme", b"text"), ("a/data_batch_1.bin", bytes(3073)))[:6000]
    yield "hundred", b"\3" + tar(("a/test.bin", bytes(3074)))[:5000]
    yield "gzipped", b"\2" + gzip.compress(tar(("a/test_batch.bin", bytes(30730000))), 9, mtime=0)


def report():
    logs = "0.5,64\n0.25,32\n0.4,final\n", "nan,1\n-inf,2\n1e-3,3\n0."
    learner = record({"stack": "autodiff<ndarray>", "settings": {"config.epochs": "3", "train.items": "64"},
                      "history": [{"seconds": 1.5, "items_per_second": 64.0}]}, DOUBLE)
    others = ('{"epochs": 3, "name": "<b>&\\u0001\\u009f"}', '{"labels":["a","<b>"],"counts":[[1,2],[3,4]]}',
              '{"title":"one & \\u0007","png":"iVBORw0KGgo=","wrong":true}\n{"title":"two","text":"<script>"}\n')
    lines = "".join('{"split":"%s","epoch":%d,"batch":%d,"final":false}\n' % line for line in [("train", 1, 1), ("valid", 1, 2), ("train", 2, 4)])
    yield "whole", "<|>".join([*logs, *others, lines]).encode() + b"<|>" + learner
    yield "lines", ("<|>" * 5 + lines + '{"split":').encode()
    yield "bad-line", b"<|>" * 5 + b'{"split":"train","epoch":1,"batch":null,"final":false}\n'
    yield "logs", "<|>".join(logs).encode()
    yield "no-logs", "<|><|>".encode() + others[0].encode()
    yield "bad-log", b"0.5,64\n0.5;64\n"
    yield "matrix", "<|>".join([logs[0], "", "", '{"labels":["a"],"counts":[[1e308]]}']).encode()
    yield "samples", "<|>".join([logs[0], "", "", "", '{"title":1}\n']).encode()
    yield "learner", "<|>".join([logs[0], "", "", "", "", "", ""]).encode() + learner[:40]


def wavs():
    def chunk(name, data):
        return name + struct.pack("<I", len(data)) + data + len(data) % 2 * b"\0"

    def fmt(code, channels, bits, rate=8000, tail=b""):
        frame = channels * bits // 8
        return chunk(b"fmt ", struct.pack("<HHIIHH", code, channels, rate, rate * frame, frame, bits) + tail)

    def wav(*chunks):
        return chunk(b"RIFF", b"WAVE" + b"".join(chunks))

    data = bytes(range(48))
    for code, bits in (1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64):
        for channels in 1, 2:
            yield "%d-%d-%d" % (code, bits, channels), wav(fmt(code, channels, bits), chunk(b"data", data))
    guid = struct.pack("<HHIH", 22, 16, 3, 1) + bytes.fromhex("000000001000800000aa00389b71")
    yield "extensible", wav(fmt(0xfffe, 2, 16, tail=guid), chunk(b"LIST", b"odd"), chunk(b"data", data))
    yield "cut", wav(fmt(1, 1, 16), chunk(b"data", data))[:-7]
    yield "no-data", wav(fmt(1, 1, 16), chunk(b"fact", b"1234"))
    yield "no-format", wav(chunk(b"data", data), fmt(1, 1, 16))
    yield "half-frame", wav(fmt(1, 2, 16), chunk(b"data", data[:46]))


def message(*fields):
    """A message of protobuf: texts and bytes, integers, and lists of packed floats by field number."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value & (2**64 - 1))
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def onnx_model(nodes, initializers=(), inputs=("x",), outputs=("y",), opset=18, more=()):
    shape = message((1, message((1, 2))), (1, message((2, "n"))))
    kind = message((1, message((1, 1), (2, shape))))
    graph = [(1, n) for n in nodes] + [(2, "g")] + [(5, i) for i in initializers]
    graph += [(11, message((1, i), (2, kind))) for i in inputs] + [(12, message((1, o), (2, kind))) for o in outputs]
    return message((1, 8), (7, message(*graph)), (8, message((1, ""), (2, opset))), *more)


def onnx_node(op, inputs, outputs, *attributes):
    return message(*[(1, i) for i in inputs], *[(2, o) for o in outputs], (4, op), *[(5, a) for a in attributes])


def microsoft_node(op, inputs, outputs, **numbers):
    return onnx_node(op, inputs, outputs, *[onnx_attribute(k, v, of=3) for k, v in numbers.items()]) + message((7, "com.microsoft"))


def onnx_floats(name, dims, *values):
    return message(*[(1, d) for d in dims], (2, 1), (8, name), (9, struct.pack("<%df" % len(values), *values)))


def onnx_attribute(name, *ints, of=8):
    """An attribute: ints, or with of=3 one int, or a text."""
    if isinstance(ints[0], str):
        return message((1, name), (4, ints[0]), (20, 3))
    return message((1, name), *[(of, i) for i in ints], (20, 2 if of == 3 else 7))


def onnx_ints(name, *values):
    return message((1, len(values)), (2, 7), (7, b"".join(map(varint, values))), (8, name))


def onnx_patterns():
    """What passes look for: several steps that are one, and steps whose constants make them cheaper."""
    half, one, two, ten, root = (onnx_floats(n, [], v) for n, v in (("h", 0.5), ("1", 1), ("2", 2), ("t", 10), ("r", 2**0.5)))
    erf = [onnx_node("Div", "xr", "a"), onnx_node("Erf", "a", "b"), onnx_node("Add", "b1", "c")]
    yield "gelu", onnx_model([*erf, onnx_node("Mul", "xh", "d"), onnx_node("Mul", "dc", "y")], [half, one, root])
    yield "gelu_other", onnx_model([*erf, onnx_node("Mul", "cx", "d"), onnx_node("Mul", "hd", "y")], [half, one, root])
    last = onnx_attribute("axes", 2**64 - 1)
    norm = [onnx_node("ReduceMean", "x", "a", last), onnx_node("Sub", "xa", "b"), onnx_node("Pow", "b2", "c"), onnx_node("ReduceMean", "c", "d", last)]
    norm += [onnx_node("Add", "de", "f"), onnx_node("Sqrt", "f", "i"), onnx_node("Div", "bi", "j"), onnx_node("Mul", "gj", "k"), onnx_node("Add", "ks", "y")]
    yield "norm", onnx_model(norm, [two, onnx_floats("e", [], 1e-5), onnx_floats("g", [2], 2, 3), onnx_floats("s", [2], 1, 1)], opset=13)
    w, bias = onnx_floats("w", [2, 2], 1, 2, 3, 4), onnx_floats("b", [2], 1, -1)
    yield "linear", onnx_model([onnx_node("MatMul", "xw", "h"), onnx_node("Add", "bh", "y")], [w, bias])
    yield "gemm_bias", onnx_model([onnx_node("Gemm", "xwb", "y", onnx_attribute("transB", 1, of=3))], [w, bias])
    ends = [onnx_node("Reshape", "xo", "u"), onnx_node("Transpose", "u", "q", onnx_attribute("perm", 0, 2, 1, 3)), onnx_node("Transpose", "u", "k", onnx_attribute("perm", 0, 2, 3, 1))]
    scores = [onnx_node("MatMul", "qk", "a"), onnx_node("Div", "at", "c")]
    shapes = [onnx_ints("o", 1, 2, 1, 2), onnx_ints("l", 2, 2)]
    back = [onnx_node("MatMul", "pq", "z"), onnx_node("Reshape", "zl", "y")]
    yield "attention", onnx_model([*ends, *scores, onnx_node("Softmax", "c", "p"), *back], [ten, *shapes])
    mask = onnx_floats("m", [2], 0, -2)
    yield "attention_mask", onnx_model([*ends, *scores, onnx_node("Add", "cm", "d"), onnx_node("Softmax", "d", "p"), *back], [ten, mask, *shapes])
    yield "square", onnx_model([onnx_node("Pow", "x2", "y")], [two])
    index = message((2, 7), (7, b"\0"), (8, "i"))
    yield "gather_one", onnx_model([onnx_node("Gather", "xi", "a"), onnx_node("Add", "xa", "y")], [index])
    yield "gather_some", onnx_model([onnx_node("Gather", "xi", "y", onnx_attribute("axis", 1, of=3))], [onnx_ints("i", 1, 0)])
    few = onnx_model([onnx_node("Unsqueeze", "xa", "u"), onnx_node("Conv", "ukb", "c", onnx_attribute("pads", 1, 0)), onnx_node("Squeeze", "ca", "y")],
                     [onnx_ints("a", 1), onnx_floats("k", [1, 1, 2], 2, 3), onnx_floats("b", [1], 1)])
    yield "conv_few", few
    channels = [onnx_node("Unsqueeze", "xa", "u"), onnx_node("Conv", "uk", "c"), onnx_node("Add", "cb", "d"), onnx_node("Squeeze", "da", "y")]
    yield "conv_bias", onnx_model(channels, [onnx_ints("a", 2), onnx_floats("k", [2, 2, 1], 1, 2, 3, 4), onnx_floats("b", [2, 1], 10, 20)])
    margin = onnx_ints("p", 0, 0, 1, 0, 0, 1)
    conv = [onnx_node("Unsqueeze", "xa", "u"), onnx_node("Pad", "up", "v"), onnx_node("Conv", "vk", "c"), onnx_node("Squeeze", "ca", "y")]
    yield "pad_conv", onnx_model(conv, [onnx_ints("a", 2), margin, onnx_floats("k", [2, 2, 3], 7, 1, 9, 7, 2, 9, 7, 3, 9, 7, 4, 9)])
    pool = [onnx_node("Unsqueeze", "xa", "u"), onnx_node("Pad", "up", "v"), onnx_node("AveragePool", "v", "c", onnx_attribute("kernel_shape", 3)), onnx_node("Squeeze", "ca", "y")]
    yield "pad_pool", onnx_model(pool, [onnx_ints("a", 0), margin])
    pair = [onnx_attribute("kernel_shape", 2), onnx_attribute("strides", 2)]
    for name, more in ("relu_pool", []), ("relu_pool_ceil", [onnx_attribute("ceil_mode", 1, of=3)]):
        relu = [onnx_node("Unsqueeze", "xa", "u"), onnx_node("Relu", "u", "r"), onnx_node("MaxPool", "r", "p", *pair, *more), onnx_node("GlobalMaxPool", "u", "g"), onnx_node("Mul", "pg", "y")]
        yield name, onnx_model(relu, [onnx_ints("a", 1)])
    for kind, gates in ("LSTM", 4), ("GRU", 3), ("RNN", 1):
        numbers = [((5 * i + 3) % 11 - 5) / 8 for i in range(32)]
        weights = [onnx_floats("w", [2, gates, 2], *numbers[:4 * gates]), onnx_floats("r", [2, gates, 1], *numbers[3:3 + 2 * gates]), onnx_floats("b", [2, 2 * gates], *numbers[5:5 + 4 * gates])]
        attributes = [onnx_attribute("direction", "bidirectional"), onnx_attribute("hidden_size", 1, of=3)] + ([onnx_attribute("linear_before_reset", 1, of=3)] if kind == "GRU" else [])
        yield kind.lower(), onnx_model([onnx_node("Unsqueeze", "xa", "u"), onnx_node(kind, "uwrb", "y", *attributes)], [onnx_ints("a", 1), *weights])


def onnx_recurrent():
    """One row: a layer whose batch is first, and one with peepholes."""
    size, numbers = onnx_attribute("hidden_size", 2, of=3), [((5 * i + 3) % 11 - 5) / 8 for i in range(32)]
    reverse = [onnx_attribute("direction", "reverse"), size, onnx_attribute("layout", 1, of=3)]
    for name, op, gates, axis, attributes in ("rnn_layout", "RNN", 1, 0, reverse), ("lstm_peepholes", "LSTM", 4, 1, [size]):
        weights = [onnx_floats(n, [1, *d], *(numbers * 2)[i:i + math.prod(d)]) for i, (n, *d) in enumerate((("w", 2 * gates, 2), ("r", 2 * gates, 2), ("b", 4 * gates), ("p", 6)))]
        inputs = ["u", "w", "r", "b"] + (["", "", "", "p"] if op == "LSTM" else [])
        yield name, onnx_model([onnx_node("Unsqueeze", "xa", "u"), onnx_node(op, inputs, "y", *attributes)], [onnx_ints("a", axis), *weights])


def onnx_hostile():
    """Steps that passes look at and that lack inputs, or whose numbers overflow what is computed from them."""
    half, one, root, most = onnx_floats("h", [], 0.5), onnx_floats("1", [], 1), onnx_floats("r", [], 2**0.5), 2**63 - 1
    for lacking in range(5):
        steps = [("Div", "xr", "a"), ("Erf", "a", "b"), ("Add", "b1", "c"), ("Mul", "xh", "d"), ("Mul", "dc", "y")]
        nodes = [onnx_node(op, inputs[:1 if i == lacking else 2] if op != "Erf" or i != lacking else "", out) for i, (op, inputs, out) in enumerate(steps)]
        yield "absent_gelu_%d" % lacking, onnx_model(nodes, [half, one, root])
    for op in "Pow", "Gather", "MatMul", "Gemm", "Conv", "LayerNormalization", "LSTM", "Transpose", "Softmax":
        yield "absent_%s" % op.lower(), onnx_model([onnx_node(op, "x" if op not in ("Transpose", "Softmax") else "", "a"), onnx_node("Add", "a1", "y")], [one])
    index = message((2, 7), (7, varint(most)), (8, "i"))
    yield "far_gather", onnx_model([onnx_node("Gather", "xi", "a"), onnx_node("Add", "xa", "y")], [index])
    for name, *numbers in ("pads", most, most), ("strides", most), ("dilations", most):
        nodes = [onnx_node("Unsqueeze", "xa", "u"), onnx_node("Conv", "uk", "c", onnx_attribute(name, *numbers)), onnx_node("Squeeze", "ca", "y")]
        yield "far_" + name, onnx_model(nodes, [onnx_ints("a", 1), onnx_floats("k", [1, 1, 2], 2, 3)])
    nodes = [onnx_node("Unsqueeze", "xa", "u"), onnx_node("Attention", "ukk", "z"), onnx_node("Squeeze", "za", "y")]
    yield "no_heads", onnx_model(nodes, [onnx_ints("a", 0, 1), onnx_floats("k", [1, 0, 1, 2])])
    yield from onnx_counts()


def onnx_counts():
    """Divisors of 0, and lists that are longer or shorter than there are axes."""
    nought, axis, many = onnx_attribute("strides", 0), onnx_ints("a", 1), onnx_ints("m", *[0] * 64)
    for op in "MaxPool", "AveragePool", "LpPool":
        nodes = [onnx_node("Unsqueeze", "xa", "u"), onnx_node(op, "u", "z", onnx_attribute("kernel_shape", 1), nought), onnx_node("Squeeze", "za", "y")]
        yield "nought_" + op.lower(), onnx_model(nodes, [axis])
    for op in "Conv", "ConvTranspose":
        nodes = [onnx_node("Unsqueeze", "xa", "u"), onnx_node(op, "uk", "z", nought, onnx_attribute("auto_pad", "SAME_UPPER")), onnx_node("Squeeze", "za", "y")]
        yield "nought_" + op.lower(), onnx_model(nodes, [axis, onnx_floats("k", [1, 1, 2], 2, 3)])
    for op in "DepthToSpace", "SpaceToDepth":
        nodes = [onnx_node("Unsqueeze", "xa", "u"), onnx_node(op, "u", "z", onnx_attribute("blocksize", 0, of=3)), onnx_node("Squeeze", "za", "y")]
        yield "nought_" + op.lower(), onnx_model(nodes, [onnx_ints("a", 0, 1)])
    for op in "Squeeze", "ReduceSum", "Expand", "CenterCropPad", "Tile", "Split":
        yield "many_" + op.lower(), onnx_model([onnx_node(op, "xm", "y")], [many])
    yield "many_meanvariancenormalization", onnx_model([onnx_node("MeanVarianceNormalization", "x", "y", onnx_attribute("axes", *[0] * 64))])
    places = onnx_ints("i", *[0] * 4)
    yield "many_maxunpool", onnx_model([onnx_node("MaxUnpool", "xi", "y", onnx_attribute("kernel_shape", *[1] * 64))], [places])
    yield "few_globalaveragepool", onnx_model([onnx_node("Reshape", "xa", "u"), onnx_node("GlobalAveragePool", "u", "z"), onnx_node("Add", "xz", "y")], [onnx_ints("a", 2**64 - 1)])
    nodes = [onnx_node("GatherND", "xi", "z", onnx_attribute("batch_dims", 2, of=3)), onnx_node("Add", "xz", "y")]
    yield "far_gathernd", onnx_model(nodes, [places])
    nodes = [onnx_node("SplitToSequence", "x", "l", onnx_attribute("axis", 2, of=3)), onnx_node("SequenceAt", "lf", "y")]
    yield "far_splittosequence", onnx_model(nodes, [message((2, 7), (7, varint(0)), (8, "f"))])
    theta = onnx_floats("t", [1, 3, 4], *[1] * 12)
    yield from onnx_far()
    yield "many_affinegrid", onnx_model([onnx_node("AffineGrid", "ts", "z"), onnx_node("Add", "xz", "y")], [theta, onnx_ints("s", 1, 1, 2**22, 2**22, 2**22)])


def onnx_far():
    """Sizes, axes and numbers that overflow, or that no tensor has."""
    most, least = 2**63 - 1, 2**63
    linear, narrow = onnx_attribute("mode", "linear"), onnx_attribute("antialias", 1, of=3)

    def resize(name, *sizes, attributes=(), shape="x"):
        nodes = [onnx_node("Resize", [shape, "", "", "s"], "z", *attributes), onnx_node("Shape", "z", "t"), onnx_node("Cast", "t", "y", onnx_attribute("to", 1, of=3))]
        return "resize_" + name, onnx_model(nodes, [onnx_ints("s", *sizes), onnx_floats("e", [1, 0, 4])])
    yield resize("far_linear", 2, 2**62, attributes=[linear, narrow])
    yield resize("far_nearest", 2, 2**40)
    yield resize("none_linear", 1, 300, 4, attributes=[linear], shape="e")
    yield resize("none_narrow", 1, 3, 3, attributes=[linear, narrow], shape="e")
    yield resize("none_nearest", 1, 3, 4, shape="e")
    yield resize("axis", 3, attributes=[linear, onnx_attribute("axes", 100)])
    yield resize("axis_below", 3, attributes=[linear, onnx_attribute("axes", 2**64 - 100)])
    yield resize("axes", 3, 5, attributes=[linear, onnx_attribute("axes", 1, 1)])
    yield resize("aspect", 2**62, 2**62, attributes=[linear, onnx_attribute("axes", 0, 1), onnx_attribute("keep_aspect_ratio_policy", "not_smaller")])
    yield resize("larger", 4, 6)
    yield resize("linear", 3, 6, attributes=[linear, narrow])
    yield resize("named", 3, attributes=[linear, onnx_attribute("axes", 1)])
    yield "resize_few", onnx_model([onnx_node("Resize", ["x", "", "", "s"], "y", linear, narrow)], [onnx_ints("s", 2, 1)])
    scaled = [onnx_node("Resize", ["x", "", "s"], "y", linear)]
    yield "resize_nan", onnx_model(scaled, [onnx_floats("s", [2], 1, math.nan)])
    yield "resize_scale", onnx_model([onnx_node("Upsample", "xs", "y", linear)], [onnx_floats("s", [2], 1, 1e18)], opset=9)
    crops = [linear, onnx_attribute("coordinate_transformation_mode", "tf_crop_and_resize")]
    yield "resize_region", onnx_model([onnx_node("Resize", ["x", "r", "", "s"], "y", *crops)], [onnx_floats("r", [4], 0, math.nan, 1, 1), onnx_ints("s", 2, 3)])
    pairs, rank = onnx_floats("p", [1, 1, 1, 1, 1, 1, 1, 2], 1, 1), onnx_ints("r", 1, 1, 1, 1, 1, 1, 1, 4)
    for op in "QuantizeLinear", "DequantizeLinear":
        blocks = [onnx_node("Reshape", "xr", "u"), onnx_node(op, "up", "z", onnx_attribute("axis", 7, of=3), onnx_attribute("block_size", 2, of=3)), onnx_node("Shape", "z", "t"), onnx_node("Cast", "t", "y", onnx_attribute("to", 1, of=3))]
        yield "blocks_" + op.lower(), onnx_model(blocks, [pairs, rank], opset=21)
        row = [onnx_node(op, "xp", "z", onnx_attribute("axis", 10**6, of=3), onnx_attribute("block_size", 2, of=3)), *blocks[2:]]
        yield "blocks_axis_" + op.lower(), onnx_model(row, [onnx_floats("p", [2], 1, 1)], opset=21)
    for name, block in ("fine", 2), ("none", 0 - 2), ("most", most):
        yield "blocks_" + name, onnx_model([onnx_node("DequantizeLinear", "xp", "y", onnx_attribute("axis", 1, of=3), onnx_attribute("block_size", block, of=3))], [onnx_floats("p", [2, 1], 1, 1)], opset=21)
    yield "far_unsqueeze", onnx_model([onnx_node("Unsqueeze", "xa", "y")], [onnx_ints("a", most, least, 0)])
    yield "far_squeeze", onnx_model([onnx_node("Squeeze", "xa", "y")], [onnx_ints("a", 2**32)])
    for name, *perm in ("many", *[0, 1] * 4, 0), ("far", 2**40, 0):
        yield name + "_transpose", onnx_model([onnx_node("Transpose", "x", "y", onnx_attribute("perm", *perm))])
    yield "twice_transpose", onnx_model([onnx_node("Transpose", "x", "y", onnx_attribute("perm", 0, 0))])
    for op, inputs in ("Softmax", "x"), ("Concat", "xx"), ("ArgMax", "x"), ("LpNormalization", "x"), ("CumSum", "xa"), ("TopK", "xk"):
        nodes = [onnx_node(op, inputs, "z", onnx_attribute("axis", 2**32, of=3)), onnx_node("Cast", "z", "y", onnx_attribute("to", 1, of=3))]
        yield "axis_" + op.lower(), onnx_model(nodes, [onnx_ints("a", 2**32), onnx_ints("k", 1)])
    groups = onnx_node("GroupNormalization", "xoo", "y", onnx_attribute("num_groups", 0, of=3))
    yield "nought_groupnormalization", onnx_model([groups], [onnx_floats("o", [2], 1, 1)], opset=21)
    lengths = message((1, 1), (2, 6), (7, varint(2**64 - 5)), (8, "l"))
    lstm = [onnx_node("Unsqueeze", "xa", "u"), onnx_node("LSTM", ["u", "w", "r", "", "l"], ["z", "y"], onnx_attribute("hidden_size", 1, of=3))]
    yield "far_lstm", onnx_model(lstm, [onnx_ints("a", 1), onnx_floats("w", [1, 4, 2], *[1] * 8), onnx_floats("r", [1, 4, 1], *[1] * 4), lengths])
    parts = [onnx_node("Split", "x", "yzw", onnx_attribute("axis", 1, of=3), onnx_attribute("num_outputs", 2**40, of=3))]
    yield "far_split", onnx_model(parts)
    outputs = [f"part{i}" for i in range(99)]
    wide = [onnx_node("Split", "c", outputs, onnx_attribute("axis", 1, of=3), onnx_attribute("split", *[1] * 98, 2)), onnx_node("Add", ["x", "part98"], "y")]
    yield "wide_split", onnx_model(wide, [onnx_floats("c", [1, 100], *range(100))], opset=11)
    yield "wider_split", onnx_model([onnx_node("Split", "x", "yz", onnx_attribute("split", *[1] * 300))], opset=11)
    cube, margin = onnx_floats("k", [1, 1, 3], 1, 1, 1), onnx_ints("p", 0, 0, 1, 0, 0, 1)
    conv = [onnx_node("Unsqueeze", "xa", "u"), onnx_node("Pad", "up", "v"), onnx_node("Conv", "vk", "c", onnx_attribute("pads", *[1] * 300)), onnx_node("Squeeze", "ca", "y")]
    yield "wider_pads", onnx_model(conv, [onnx_ints("a", 1), margin, cube])
    boxes = [onnx_floats("b", [1, 0, 4]), onnx_floats("c", [1, 2**40, 0]), onnx_ints("m", 5)]
    found = [onnx_node("NonMaxSuppression", "bcm", "f"), onnx_node("Cast", "f", "g", onnx_attribute("to", 1, of=3)), onnx_node("ReduceSum", "g", "h"), onnx_node("Add", "xh", "y")]
    yield "classes", onnx_model(found, boxes)
    for name, kind, *values in ("most", 7, least, most, 1), ("endless", 7, 0, 5, 0):
        scalars = [message((2, kind), (7, varint(v)), (8, n)) for n, v in zip("abc", values)]
        yield "range_" + name, onnx_model([onnx_node("Range", "abc", "z"), onnx_node("Cast", "z", "y", onnx_attribute("to", 1, of=3))], scalars)
    yield "range_floats", onnx_model([onnx_node("Range", "abc", "y")], [onnx_floats("a", [], 0), onnx_floats("b", [], 1e30), onnx_floats("c", [], 1)])
    for name, *edges in ("nan", math.nan, 8000), ("far", -1e30, 1e30):
        mel = [message((2, 7), (7, varint(v)), (8, n)) for n, v in (("b", 8), ("l", 16), ("r", 16000))] + [onnx_floats(n, [], v) for n, v in zip("fg", edges)]
        yield "mel_" + name, onnx_model([onnx_node("MelWeightMatrix", "blrfg", "y")], mel)
    yield "equation", onnx_model([onnx_node("Einsum", "x", "y", message((1, "equation"), (20, 3)))])


def onnx_exact():
    """What comes of integers that no double holds, as differences to 2^53: x is not read."""
    far = 2**53 + 1

    def scalar(name, value):
        return message((2, 7), (7, varint(value)), (8, name))
    ends = [onnx_node("Sub", "zf", "d"), onnx_node("Cast", "d", "y", onnx_attribute("to", 1, of=3))]
    base = scalar("f", 2**53)
    yield "exact_range", onnx_model([onnx_node("Range", "bce", "z"), *ends], [base, scalar("b", far), scalar("c", far + 3), scalar("e", 1)])
    yield "exact_clip", onnx_model([onnx_node("Clip", "ibc", "z"), *ends], [base, onnx_ints("i", 0, 2**62), scalar("b", far), scalar("c", far + 2)])
    yield "exact_pad", onnx_model([onnx_node("Pad", "ipv", "z"), *ends], [base, onnx_ints("i", 2**53), onnx_ints("p", 1, 0), scalar("v", far)])
    value = message((1, "value"), (5, message((1, 1), (2, 7), (7, varint(far)))), (20, 4))
    yield "exact_constantofshape", onnx_model([onnx_node("ConstantOfShape", "s", "z", value), *ends], [base, onnx_ints("s", 2)])
    yield "exact_onehot", onnx_model([onnx_node("OneHot", "inv", "z"), *ends], [base, onnx_ints("i", 1), onnx_ints("n", 2), onnx_ints("v", far, far + 2)])


def onnx_microsoft():
    """Attention of ONNX Runtime, of one head, with what it may have beside it."""
    axis = onnx_ints("a", 0)
    words, back = onnx_node("Unsqueeze", "xa", "u"), onnx_node("Squeeze", "za", "y")
    weights = [onnx_floats("w", [2, 6], *[(i % 5 - 2) / 4 for i in range(12)]), onnx_floats("b", [6], 0, 1, 0, 0, 0, 1), onnx_ints("m", 1, 0)]
    cache = [onnx_floats("p", [2, 1, 1, 1, 2], 1, 0, 0, 1)]
    yield "microsoft_attention", onnx_model([words, microsoft_node("Attention", "uwbmp", "z", num_heads=1, unidirectional=1), back], [axis, *weights, *cache])
    yield "microsoft_heads", onnx_model([words, microsoft_node("MultiHeadAttention", "uuubm", "z", num_heads=1), back], [axis, *weights[1:]])
    tables = [onnx_floats("c", [4, 1], 1, 0.5, 0, 0.5), onnx_floats("s", [4, 1], 0, 0.5, 1, 0.5)]
    yield "microsoft_rotary", onnx_model([words, microsoft_node("RotaryEmbedding", "uics", "z"), back], [axis, onnx_ints("i", 1), *tables])
    rows = [onnx_floats(n, [1, 1, 2, 2], 1, 0, 0, 1) for n in "pq"]
    grouped = microsoft_node("GroupQueryAttention", ["u", "u", "u", "p", "q", "l", "t", "c", "s", "", "", "h"], "zkv", num_heads=1, kv_num_heads=1, do_rotary=1, local_window_size=2)
    yield "microsoft_group", onnx_model([words, grouped, back], [axis, *rows, onnx_ints("l", 2), onnx_ints("t", 3), *tables, onnx_floats("h", [1], 0.5)])
    sums = microsoft_node("SkipLayerNormalization", "xxgb", "y")
    yield "microsoft_skip", onnx_model([sums], [onnx_floats("g", [2], 1, 2), onnx_floats("b", [2], 0, 1)])


def onnx_texts(name, dims, *values):
    return message(*[(1, d) for d in dims], (2, 8), *[(6, v) for v in values], (8, name))


def onnx_text_list(name, *values):
    return message((1, name), *[(9, v) for v in values], (20, 8))


def onnx_text_model(nodes, initializers=(), inputs="x", outputs="y", more=()):
    """A graph whose inputs and outputs are strings [n]; outputs that are others say so by their names: i64 in capital I, bool in B, f32 in F."""
    def kind(name):
        return message((1, message((1, {"I": 7, "B": 9, "F": 1}.get(name[0], 8)), (2, message((1, message((2, "n"))))))))
    graph = [(1, n) for n in nodes] + [(2, "g")] + [(5, i) for i in initializers]
    graph += [(11, message((1, i), (2, kind(i)))) for i in inputs] + [(12, message((1, o), (2, kind(o)))) for o in outputs]
    return message((1, 10), (7, message(*graph)), (8, message((1, ""), (2, 20))), (8, message((1, "ai.onnx.ml"), (2, 4))), *more)


def onnx_strings():
    """Strings through operators, initializers, sequences and branches; and files whose strings are wrong."""
    labels = onnx_node("LabelEncoder", "x", "I", onnx_text_list("keys_strings", "a", "b"), onnx_attribute("values_int64s", 10, 20), onnx_attribute("default_int64", 0, of=3))
    nodes = [onnx_node("StringConcat", "xs", "y"), onnx_node("Equal", "xw", "B"), labels + message((7, "ai.onnx.ml")), onnx_node("Cast", "I", "c", onnx_attribute("to", 8, of=3))]
    yield "strings", onnx_text_model(nodes, [onnx_texts("s", [1], "!"), onnx_texts("w", [], "b")], outputs="yBIc")
    numbers = [onnx_node("Cast", "x", "F", onnx_attribute("to", 1, of=3)), onnx_node("Cast", "x", "I", onnx_attribute("to", 7, of=3))]
    yield "strings_cast", onnx_text_model([*numbers, onnx_node("Cast", "F", "y", onnx_attribute("to", 8, of=3))], outputs="FIy")
    size, order, first = onnx_ints("r", 2, 2), onnx_attribute("perm", 1, 0), onnx_ints("f", 1)
    moved = [onnx_node("SequenceConstruct", "xx", "l"), onnx_node("SequenceAt", "lp", "a"), onnx_node("Reshape", "ar", "b"), onnx_node("Transpose", "b", "c", order)]
    moved += [onnx_node("Gather", "cf", "d"), onnx_node("Concat", "dz", "e", onnx_attribute("axis", 0, of=3)), onnx_node("Unique", "x", ["y", "", "", "I"])]
    zs = message((2, "z"), (4, "Constant"), (5, message((1, "value"), (5, onnx_texts("", [1, 2], "z", "\u00e4")), (20, 4))))
    branch = message((1, onnx_node("Identity", "e", "k")), (2, "b"), (12, message((1, "k"), (2, message((1, message((1, 8))))))))
    choice = onnx_node("If", "t", "o", *[message((1, n), (6, branch), (20, 5)) for n in ("then_branch", "else_branch")])
    yield "strings_moved", onnx_text_model([zs, *moved, choice], [size, first, message((2, 7), (7, varint(1)), (8, "p")), message((2, 9), (8, "t"), (9, b"\1"))], outputs="oyI")
    words = [onnx_node("StringNormalizer", "x", "y", onnx_attribute("case_change_action", "UPPER"), onnx_text_list("stopwords", "THE")), onnx_node("StringSplit", "x", ["p", "I"])]
    yield "strings_words", onnx_text_model([*words, onnx_node("RegexFullMatch", "x", "B", onnx_attribute("pattern", "[a-z ]+"))], outputs="ypIB")
    for name, tensor in (("zero", onnx_texts("s", [1], b"a\0b")), ("bytes", onnx_texts("s", [2], "a", b"b\xc3")), ("few", onnx_texts("s", [3], "a", "b")),
                         ("raw", message((1, 1), (2, 8), (8, "s"), (9, b"a"))), ("huge", onnx_texts("s", [2**31, 2**31], "a"))):
        yield "strings_" + name, onnx_text_model([onnx_node("StringConcat", "xs", "y")], [tensor])
    yield "strings_relu", onnx_text_model([onnx_node("Relu", "x", "y")])
    yield "strings_pattern", onnx_text_model([onnx_node("RegexFullMatch", "x", "B", onnx_attribute("pattern", "(a"))], outputs="B")


def onnx_gradients():
    """Gradients of what stands before them, once and twice, and some that are none."""
    training = (8, message((1, "ai.onnx.preview.training"), (2, 1)))

    def gradient(inputs, output, y, xs=("x",)):
        return onnx_node("Gradient", inputs, output, onnx_text_list("xs", *xs), onnx_attribute("y", y)) + message((7, "ai.onnx.preview.training"))
    cube = [onnx_node("Mul", "xx", "a"), onnx_node("Mul", "ax", "b")]
    w = onnx_floats("w", [2, 2], 1, 2, 3, 4)
    yield "gradient", onnx_model([*cube, gradient("x", "y", "b")], more=[training])
    yield "gradient_twice", onnx_model([*cube, gradient("x", "g", "b"), gradient("x", "y", "g")], more=[training])
    yield "gradient_weight", onnx_model([onnx_node("Exp", "x", "e"), onnx_node("MatMul", "ew", "m"), onnx_node("Exp", "e", "u"), gradient("w", "y", "m", "w")], [w], more=[training])
    yield "gradient_nobody", onnx_model([*cube, gradient("x", "y", "q")], more=[training])
    yield "gradient_few", onnx_model([*cube, gradient("x", "y", "b", "xw")], [w], more=[training])


def onnxs():
    w, ints = onnx_floats("w", [2, 2], 1, 2, 3, 4), lambda *i: message((1, len(i)), (2, 7), (7, b"".join(map(varint, i))), (8, "i"))
    yield "gemm", onnx_model([onnx_node("Gemm", "xw", "h", message((1, "transB"), (3, 1), (20, 2))), onnx_node("Relu", "h", "y")], [w])
    yield "reshape", onnx_model([onnx_node("Reshape", "xi", "y")], [ints(4)])
    yield "slice", onnx_model([onnx_node("Slice", "xii", "h"), onnx_node("Softmax", "h", "y", message((1, "axis"), (3, 1)))], [ints(0, 1)])
    yield "conv", onnx_model([onnx_node("Conv", "xk", "y", message((1, "pads"), (8, 1), (8, 1)))], [onnx_floats("k", [1, 1, 2], 1, 2)])
    branch = message((1, onnx_node("Neg", "x", "z")), (2, "b"), (12, message((1, "z"))))
    true = message((2, 9), (8, "c"), (9, b"\1"))
    yield "if", onnx_model([onnx_node("If", "c", "y", message((1, "then_branch"), (6, branch)), message((1, "else_branch"), (6, branch)))], [true])
    function = message((1, "F"), (4, "a"), (5, "b"), (7, onnx_node("Mul", "aa", "b")), (10, "d"))
    yield "function", onnx_model([message((1, "x"), (2, "y"), (4, "F"), (7, "d"))], more=[(25, function)])
    perm = message((1, "perm"), (8, 1), (8, 0))
    yield "noop", onnx_model([onnx_node("Identity", "x", "a"), onnx_node("Transpose", "a", "b", perm), onnx_node("Transpose", "b", "c", perm), onnx_node("Relu", "c", "y")])
    yield "common", onnx_model([onnx_node("Exp", "x", "a"), onnx_node("Exp", "x", "b"), onnx_node("Add", "ab", "y")])
    yield "dead", onnx_model([onnx_node("Exp", "x", "a"), onnx_node("Neg", "a", "b"), onnx_node("Relu", "x", "y")])
    yield "fold", onnx_model([onnx_node("Neg", "w", "a"), onnx_node("Add", "xa", "y")], [w])
    four = [onnx_floats(n, [2], *v) for n, v in (("s", (2, 3)), ("t", (1, 1)), ("m", (0.5, 1)), ("v", (1, 4)))]
    bn = [message(*[(1, i) for i in ("x3", "k")], (2, "h"), (4, "Conv")), onnx_node("BatchNormalization", "hstmv", "b")]
    axes, back = message((1, 1), (2, 7), (7, b"\2"), (8, "axes")), message((1, 1), (2, 7), (7, b"\2"), (8, "back"))
    bn = [message((1, "x"), (1, "axes"), (2, "x3"), (4, "Unsqueeze")), *bn, message((1, "b"), (1, "back"), (2, "y"), (4, "Squeeze"))]
    yield "batch_norm", onnx_model(bn, [onnx_floats("k", [2, 2, 1], 1, 2, 3, 4), *four, axes, back])
    outside = message((1, 2), (2, 1), (8, "w"), (13, message((1, "location"), (2, "../secret"))), (14, 1))
    yield "outside", onnx_model([onnx_node("Add", "xw", "y")], [outside])
    inside = message((1, 2), (2, 1), (8, "w"), (13, message((1, "location"), (2, "in.onnx"))), (13, message((1, "offset"), (2, "4"))), (14, 1))
    yield "external", onnx_model([onnx_node("Add", "xw", "y")], [inside])  # in the file itself, as the target calls it
    yield "circle", onnx_model([onnx_node("Add", "xb", "a"), onnx_node("Neg", "a", "b")], outputs="a")
    yield "backwards", onnx_model([onnx_node("Neg", "b", "y"), onnx_node("Exp", "a", "b"), onnx_node("Relu", "x", "a")])
    yield from onnx_patterns()
    yield from onnx_recurrent()
    yield from onnx_hostile()
    yield from onnx_exact()
    yield from onnx_microsoft()
    yield from onnx_strings()
    yield from onnx_gradients()
    regions = [onnx_ints("a", 0, 1), onnx_floats("r", [2, 5], 0, 0, 0, 1, 1, 0, 1, 0, 2, 1)]
    pooled = onnx_node("MaxRoiPool", "ur", "p", onnx_attribute("pooled_shape", 2, 1))
    yield "regions", onnx_model([onnx_node("Unsqueeze", "xa", "u"), pooled, onnx_node("Squeeze", "p", "y")], regions)
    deep = branch
    for level in range(200):
        if level == 40:
            yield "deep", onnx_model([onnx_node("If", "x", "y", message((1, "then_branch"), (6, deep)))])
        deep = message((1, onnx_node("If", "x", "z", message((1, "then_branch"), (6, deep)))), (12, message((1, "z"))))
    yield "deeper", onnx_model([onnx_node("If", "x", "y", message((1, "then_branch"), (6, deep)))])
    yield "unprintable", onnx_model([onnx_node("Expand", "ws", "y")], [w, onnx_ints("s", 2**52, 2, 2)], inputs=())
    forged = "y\noutputs     z"
    yield "forged", onnx_model([onnx_node("Neg", "x", [forged])], outputs=[forged])
    yield "dims", onnx_model([onnx_node("Add", "xw", "y")], [onnx_floats("w", [2**40, 2**40], 1)])


def config():
    yield "all.json", (b'{"inner": {"width": 3, "decay": 0.5, "shift": "-9223372036854775808"}, "kernel": [1, 2], "rate": 1e-3,'
                       b' "bias": false, "name": "a \\"b\\"", "initializer": {"Normal": {"mean": 0, "std": 0.02}}}')
    yield "required.json", b'{"inner": {"width": 18446744073709551615}, "kernel": [0, 9007199254740993]}'
    yield "variant.json", b'{"inner": {"width": 1, "decay": null}, "kernel": [1, 1], "initializer": "Zeros"}'
    yield "unknown.json", b'{"inner": {"width": 1, "depth": 2}, "kernel": [1, 2, 3], "rate": "0.5"}'
    yield "numbers.json", b'{"inner": {"width": -1}, "kernel": [1.5, 1e300], "rate": 1e999, "shift": 9223372036854775808}'
    yield "nested.json", b'{"inner":' * 40 + b"1" + b"}" * 40


def stack():
    texts = ["ndarray", "autodiff<ndarray>", "autodiff+fusion+ndarray:0", "Fusion<NdArray:gemm=builtin,isa=baseline>", "reference",
             "trace:format=chrome,file=t+ndarray", "validate:save=v+ndarray", "autodiff<autodiff<ndarray>>", "ndarray:float=f64,int=i32",
             "fusion<", "ndarray:99999999999999999999", ":=,:<>+", "trace:format=count<autodiff<reference>>", "ndarray:threads=-1"]
    for i in range(0, len(texts), 2):
        yield "texts-%d" % (i // 2), (texts[i] + "<|>" + texts[i + 1]).encode()


def settings():
    yield "both", b'\x40{"backend": "ndarray"}<|>{"backend": "reference", "plugin_path": ["plugins", "."]}'
    yield "user", b'\x10<|>{"backend": "autodiff<ndarray>"}'
    yield "short-buffer", b'\x03{"backend": "fusion<ndarray>"}<|>'
    yield "broken", b'\x20{"backend": <|>{"backend": 7}'
    yield "options", b'\x60{"backend": "trace:file=t+ndarray"}<|>{"plugin_path": "here", "devices": {"a": [null]}}'
    yield "more-after-it", b'\x20{"backend": "ndarray"} junk<|>[]'


def command():
    lines = [["ops"], ["ops", "--op", "matmul"], ["ops", "--json"], ["ops", "--markdown"], ["doctor", "--json", "--need", "train,f16"],
             ["doctor", "--stack", "fusion<ndarray>"], ["backends"], ["version"], ["new", "backend", "mine"],
             ["new", "kernels", "mine", "--dir=elsewhere"], ["conform", "ndarray", "--op", "add", "--seed", "7"],
             ["bench", "--only", "matmul|conv", "--stacks", "ndarray,reference"], ["bench", "curves", "--steps", "0"], ["nonsense", "--help"],
             ["explain", "--help"], ["new", "decorator", "int"], ["inspect", "results.csv", "--json"]]
    for line in lines:
        yield "-".join(line[:2]).replace("-", ""), "\n".join(line).encode()
    csv = ("# when\n# where\n# machine\ngroup,case,stack,ours_ms,torch_ms,torch_tuned_ms,ratio,ratio_tuned,limit_percent\n"
           "op,add 16M,fusion<ndarray>,7.63,59.5,50.4,0.128,0.151,75.2\nop,add 1K,\"a,b\",1e999,nan,,-1,x,\nop,gone,,,,,,,\n")
    yield "tables", b"bench\ntables\nresults.csv<|>" + csv.encode()


def kernel():
    """Sources that have each part of the preprocessor."""
    yield "macros", (b"#define A 1\n#define F(x, y) x##y #x A F(y, x)\n#define V(x, ...) f(x, ## __VA_ARGS__)\n"
                     b"F(a b, \"s\\n\") V(1) V(1, (2, 3), V(4)) F\n(F, F(1, 2))\n#undef A\nA F(A, A)\n")
    yield "conditions", (b"#define N 21\n#if N / 8 % 2 || defined(B) && (1 ? -1 >> 1 : 1 / 0)\na\n#elif 0x7fULL == 'c'\n#else\n"
                         b"#if 0\n\"/*\" /* #endif */ it's\n#endif\nb\n#endif\n#ifndef B\n#error no B\n#endif\n")
    yield "pragmas", b"#define E(n) _Pragma(\"unroll 4\") for (;;) n\n#pragma unroll N\nE(x) \\\n E(E(y)) // z\n#pragma once\n"
    yield "numbers", b"0 08 0x1Fu 12ULL 1.5e+3f .5 1e-320 0x1.8p-3f 1e40f 18446744073709551616 a+++b>>=c->d::e...\n"
    yield "within", b"#define a b c\n#define b a\n#define f(x) x + f(x\na f(f)(f(1)) ) f(2)) g\n#define g(x) [x] g\ng(g)(g(1)(2))\n"


def compiler():
    """Kernels that have each part of the language, behind a byte of what the device can do."""
    head = b"typedef int int32_t; typedef unsigned int uint32_t; typedef short int16_t; typedef unsigned char uint8_t; typedef double f64;\n"
    tail = b"struct P { const float *in; float *out; long long n; uint8_t bytes[3]; };\nextern \"C\" __global__ void __launch_bounds__(64) kernel(const P p) {\n"
    sources = {
        "numbers": (b"", b"int a = p.n, b = a / 3 - a % 5; b <<= 2; b = ~b >> 1 | 7; float x = p.in[threadIdx.x], y = x * 2 - 1.5f / x;\n"
                         b"p.out[0] = a < b && x != y || !a ? x : (f64)y + (uint8_t)b; p.out[b & 3] += sqrtf(x) - (x > 0 ? -x : +y); b++; --a;\n"),
        "structs": (b"struct A { uint8_t t; float x[3]; };\nstruct alignas(16) B { A a[2]; bool f; };\nstatic A make(int n) { A a = {n, {1, 2}}; a.x[n] = 3; return a; }\n",
                    b"B b = {}; b.a[p.n & 1] = make(2); A &r = b.a[1]; r.t += 3; B *q = (B *)p.out; q[1] = b; q->a[0].x[1]++; A *l = &b.a[0]; (*l).x[p.n] = q->f;\n"),
        "returns": (b"static int f(int n) { if (n < 3) return 1; for (int i = 0; i < n; i++) { if (i * i == n) return i; while (true) { if (i > 2) break; return 5; } } return n ? f : 0; }\n"
                    b"static int g(int n) { if (n > 1) { if (n == 4) return 2; n++; } else return 3; return n; }\n",
                    b"for (int i = 0; i < p.n; i++) { if (g(i) == 2) continue; p.out[i] = g(i); if (i == 7) return; }\n"),
        "templates": (b"template <class T, int N> struct V { T at[N]; typedef T E; static const int n = N; };\ntemplate <> struct V<float, 1> { typedef f64 E; static const int n = 7; };\n"
                      b"template <class T, int N> static T sum(const V<T, N> &v) { T s = 0; _Pragma(\"unroll\") for (int i = 0; i < N; i++) s += v.at[i]; return s; }\n"
                      b"template <int N> static int f(int x) { if constexpr (N > 0) return f<N - 1>(x) * N; else return x; }\ntemplate <class T> static void swap(T &a, T &b) { const T c = a; a = b; b = c; }\n",
                      b"V<int, 4> v = {{1, 2, 3}}; V<float, 1>::E d = 0.5; float x = sum(v), y = f<3>(2); swap(x, y); p.out[V<float, 1>::n] = x + d; auto z = y; p.out[1] = z;\n"),
        "shared": (b"static int other(int x) { __shared__ int all[blockDim.x]; all[threadIdx.x] = x; __syncthreads(); return all[blockDim.x - 1 - threadIdx.x]; }\n",
                   b"__shared__ float a[2][32]; a[threadIdx.x & 1][threadIdx.x >> 1] = p.bytes[p.n]; __syncthreads(); p.out[blockIdx.x] = other(3) + a[1][0];\n"),
        "pointers": (b"enum { A, B = 3, C };\nstatic const int T[3] = {1, 2, 3};\nstatic void fill(float *to, int n) { for (int i = n; i-- > 0;) to[i] = T[i % C]; }\n",
                     b"float l[8]; fill(l + 1, A + B); const float *q = p.in + 3, *e = q - 1u; while (q != e && *--q > l[2]) p.out[q - e] = *q; float *m = &l[2]; m[1] = *m; p.out[0] = q ? sizeof l : 1;\n"),
    }
    for name, (before, body) in sources.items():
        yield name, b"\0" + head + before.replace(b"n ? f : 0", b"n") + tail + body + b"}\n"


def warm():
    """Files of kernels, from the count in their head on."""
    def row(key, words, threads=(256, 1, 1), flags=1, count=None):
        data = b"".join(struct.pack("<I", word) for word in words) + b"\0" * (len(words) % 2 * 4)
        return struct.pack("<Q8I", key, 0, len(words) if count is None else count, *threads, 96, 4096, flags) + data
    head = [0x07230203, 0x00010500, 0, 9, 0]
    two = struct.pack("<2I", 2, 0) + row(1, head + [17, 1, 2]) + row(2, head, (8, 4, 2), 3)
    yield "none", struct.pack("<2I", 0, 0)
    yield "two", two
    yield "too-many", struct.pack("<2I", 257, 0) + two[8:]
    yield "long-words", struct.pack("<2I", 1, 0) + row(1, head, count=0xffffffff)
    yield "no-threads", struct.pack("<2I", 1, 0) + row(1, head, (0, 1, 1))
    yield "no-module", struct.pack("<2I", 1, 0) + row(1, [0] + head)


def gguf_text(text):
    return struct.pack("<Q", len(text)) + text.encode()


def ggufs():
    """Files of one tensor of each type that is unpacked, with metadata of every type."""
    scalars = [(0, "B", 1), (1, "b", -1), (2, "H", 2), (3, "h", -2), (4, "I", 3), (5, "i", -3), (6, "f", 0.5), (7, "B", 1),
               (10, "Q", 4), (11, "q", -4), (12, "d", 0.25)]
    pairs = [gguf_text("key.%d" % kind) + struct.pack("<I" + code, kind, value) for kind, code, value in scalars]
    pairs += [gguf_text("text") + struct.pack("<I", 8) + gguf_text("tiny"),
              gguf_text("array") + struct.pack("<IIQ", 9, 8, 2) + gguf_text("a") + gguf_text("b"),
              gguf_text("general.alignment") + struct.pack("<II", 4, 64)]
    for name, kind, block, size in (("f32", 0, 1, 4), ("f16", 1, 1, 2), ("q4_0", 2, 32, 18), ("q8_0", 8, 32, 34), ("q4_k", 12, 256, 144),
                                    ("q6_k", 14, 256, 210), ("q5_k", 13, 256, 176), ("bf16", 30, 1, 2)):
        info = gguf_text("blk.0.weight") + struct.pack("<IQQIQ", 2, block, 2, kind, 0)
        head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(pairs)) + b"".join(pairs) + info
        yield name, head + bytes(-len(head) % 64) + bytes(range(256))[:2 * size] + bytes(max(0, 2 * size - 256))


def text_tokenizers():
    """The tokenizers of the golden header, small steps of tokenizer.json, each with a text."""
    golden = (pathlib.Path(__file__).resolve().parent.parent / "golden" / "tokenizer_golden.h").read_text()
    text = "<|>The <s> r\u00e9sum\u00e9 [MASK] \ufb01 12 don't \u65e5\u672c \U0001f642 a b<sep>  x".encode() + b"\xff\xc3"
    for name, numbers in re.findall(r"char (\w+)_file\[\] = \{([^}]*)\}", golden):
        yield name, bytes(int(number) for number in numbers.split(",") if number.strip()) + text
    model = '"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"the":1,"a":2}}'
    for name, kind, section in (("nmt", '{"type":"Nmt"}', "normalizer"), ("strip", '{"type":"Strip"}', "normalizer"),
                                ("nfd", '{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]}', "normalizer"),
                                ("split", '{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithNext","invert":true}', "pre_tokenizer"),
                                ("regex", '{"type":"Split","pattern":{"Regex":"\\\\s+|[a-c]+"},"behavior":"Removed"}', "pre_tokenizer"),
                                ("punctuation", '{"type":"Punctuation","behavior":"Contiguous"}', "pre_tokenizer"),
                                ("metaspace", '{"type":"Metaspace","replacement":"_","prepend_scheme":"first"}', "decoder")):
        yield name, ('{%s,"%s":%s}' % (model, section, kind)).encode() + text


def drawn(seed, files, length):
    """Bytes without a structure of their own; small ones, of which most drawn values are small."""
    dice = random.Random(seed)
    for i in range(files):
        yield "drawn-%02d" % i, bytes(dice.randrange(256) if dice.random() < 0.7 else dice.randrange(12) for _ in range(length))


def main():
    targets = {"records": records(), "json": jsons(), "bin": bins(), "burnpack": burnpacks(), "checkpoint": checkpoint(), "idx": idx(), "json_lines": json_lines(), "csv": csvs(), "tokenizer": tokenizers(), "image": images(), "sqlite": databases(), "cifar": archives(), "numpy": numpys(), "store_npz": numpys(), "store_safetensors": store_safetensors(), "store_burn": store_burn(), "store_index": store_index(), "onnx": onnxs(), "report": report(), "wav": wavs(), "config": config(),
               "stack": stack(), "settings": settings(), "command": command(), "kernel": kernel(), "compiler": compiler(), "warm": warm(), "store_gguf": ggufs(), "text_tokenizer": text_tokenizers(), "store_pytorch": make_pytorch_golden.files().items(), "dlpack": drawn(1, 16, 96), "ops": drawn(2, 24, 160), "functions": drawn(3, 24, 240)}
    for target, inputs in targets.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if not old.name.startswith("found-"):
                old.unlink()
        for name, data in inputs:
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
