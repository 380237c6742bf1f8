"""ops_json_test.py BURN SOURCE FILE - the file is what `burn ops --json` prints, and says what ops.def, the reference page
and the enums of the headers say."""
import json
import re
import subprocess
import sys

burn, source, path = sys.argv[1:]
headers = source + "/plugin-api/include/burn/plugin/"


def run(*arguments):
    return subprocess.run([burn, "ops", *arguments], check=True, capture_output=True, text=True).stdout


def read(name):
    with open(headers + name, encoding="utf-8") as file:
        return file.read()


def words(op, key):
    return ", ".join(op[key])


def attr_text(attr):
    types = {"i64": "int", "f64": "float", "bool": "bool", "dtype": "dtype", "i64s": "ints", "number": "number"}
    return attr["name"] + ": " + types[attr["tag"]]


def check_against_page(ops):
    """Every row of the page that people read."""
    rows = {}
    for line in run("--markdown").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if len(cells) > 9 and cells[1].isdigit():
            rows[cells[2].strip("`")] = cells
    assert rows.keys() == ops.keys(), rows.keys() ^ ops.keys()
    for name, op in ops.items():
        cells = rows[name]
        inputs = [i["name"] + ("..." if i["list"] else "?" if i["optional"] else "") for i in op["inputs"]]
        assert cells[1] == str(op["number"]) and cells[3] == ", ".join(inputs), (name, cells, inputs)
        shown = [re.sub(r" = .*", "", attr) for attr in cells[4].split(", ")] if cells[4] else []
        assert shown == [attr_text(attr) for attr in op["attrs"]], (name, shown)
        required = [" = " not in attr for attr in cells[4].split(", ")] if cells[4] else []
        assert required == [attr["required"] for attr in op["attrs"]], name
        assert cells[5] == ("any" if len(op["kinds"]) == 3 else words(op, "kinds")), (name, cells[5])
        assert cells[6] == str(op["outputs"]) and cells[7] == op["form"], (name, cells)


def check_attrs(ops, enums):
    kinds = {"i64": int, "f64": (int, float), "bool": bool, "dtype": str, "i64s": int, "number": (int, float)}
    for name, op in ops.items():
        for attr in op["attrs"]:
            assert attr["required"] == ("default" not in attr), (name, attr)
            assert attr["required"] or isinstance(attr["default"], kinds[attr["tag"]]), (name, attr)
            if "enum" in attr:
                assert attr["default"] in enums[attr["enum"]].values(), (name, attr)
            elif attr["name"] in ("mode", "update", "padding_mode"):
                raise AssertionError(f"{name}.{attr['name']} has no enum")


def check_enums(enums):
    """Each constant of the headers stands in the enum of its prefix, and nothing else does."""
    prefixes = {"pad": "PAD", "update": "UPDATE", "interpolate": "INTERPOLATE", "grid_sample": "GRID_SAMPLE",
                "grid_padding": "GRID_PADDING", "traits": "TRAIT", "gradients": "GRADIENT"}
    text = read("op.h") + read("modes.h")
    for name, prefix in prefixes.items():
        found = dict(re.findall(rf"\bBURN_{prefix}_([A-Z0-9_]+)\s*=\s*(\d+)", text))
        found.pop("LIMIT", None)
        assert {key.lower(): int(value) for key, value in found.items()} == enums[name], (name, found, enums[name])


def main():
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert text == run("--json"), "ops.json is not what the command prints"
    root = json.loads(text)
    ops = {op["name"]: op for op in root["ops"]}
    numbers = {int(number): name for number, name in re.findall(r"^BURN_OP\((\d+), (\w+),", read("ops.def"), re.M)}
    assert numbers == {op["number"]: name for name, op in ops.items()}
    families = dict(re.findall(r"^BURN_OP\(\d+, (\w+), (\w+),", read("ops.def"), re.M))
    assert families == {name: op["family"] for name, op in ops.items()}
    abi = dict(re.findall(r"#define BURN_ABI_(MAJOR|MINOR|OLDEST_MINOR) (\d+)u", read("abi.h")))
    assert {key.lower(): int(value) for key, value in abi.items()} == root["abi"], (abi, root["abi"])
    for key, macro, file in (("dtypes", "DTYPE", "dtypes.def"), ("statuses", "STATUS", "status.def")):
        rows = re.findall(rf"^BURN_{macro}\((\d+), (\w+)", read(file), re.M)
        assert [(int(n), name) for n, name in rows] == [(r["number"], r["name"].upper()) for r in root[key]], key
    check_against_page(ops)
    check_attrs(ops, root["enums"])
    check_enums(root["enums"])
    conv = ops["conv2d"]
    assert [i["name"] for i in conv["inputs"]] == ["x", "weight", "bias"] and conv["inputs"][2]["optional"]
    assert conv["attrs"][0]["name"] == "stride" and conv["attrs"][0]["default"] == 1
    assert ops["cat"]["inputs"][0]["list"] and ops["layer_norm"]["attrs"]
    print(f"{len(ops)} ops")


main()
