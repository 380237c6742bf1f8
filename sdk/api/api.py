"""The description of the public C API (burn.json) for generators of bindings: loaded, with what all of them ask."""
import json
import pathlib
import re

SCALARS = {"bool": "bool", "char": "signed", "int": "signed", "int8_t": "signed", "int16_t": "signed", "int32_t": "signed", "int64_t": "signed",
           "unsigned int": "unsigned", "uint8_t": "unsigned", "uint16_t": "unsigned", "uint32_t": "unsigned", "uint64_t": "unsigned",
           "size_t": "unsigned", "uintptr_t": "unsigned", "float": "float", "double": "float"}
STRUCTS = {"struct", "config", "module", "module_stateless", "module_variant"}
ENDS = re.compile(r"_(drop|destroy|close|cancel)$")


class Api:
    def __init__(self, path=pathlib.Path(__file__).with_name("burn.json"), include=None):
        """All of the API, or of it what the headers in the folder `include` have: an installation may lack a library."""
        data = json.loads(pathlib.Path(path).read_text())
        if include:
            for key in ("functions", "types", "constants"):
                data[key] = [entry for entry in data[key] if (pathlib.Path(include) / entry["header"]).exists()]
        self.version, self.constants = data["version"], data["constants"]
        self.functions = {f["name"]: f for f in data["functions"]}
        self.types = {t["name"]: t for t in data["types"]}
        self.handles = [t for t in data["types"] if t["kind"] == "handle"]
        self.structs = [t for t in data["types"] if t["kind"] in STRUCTS]
        self.enums = [t for t in data["types"] if t["kind"] == "enum"]
        self.callbacks = [t for t in data["types"] if t["kind"] == "callback"]

    def kind(self, name):
        return self.types.get(name, {}).get("kind", "")

    def scalar(self, name):
        """The C type that a number's type stands for: uint32_t of BurnDType; None if it is not a number."""
        while self.kind(name) == "alias":
            target = self.types[name]["type"]
            if target.get("pointers"):
                return None
            name = target["base"]
        return "int" if self.kind(name) == "enum" else name if name in SCALARS else None

    def struct(self, name):
        """The name of the struct that a name stands for: BurnParam of BurnOptionParam; None if it is none."""
        while self.kind(name) == "alias":
            name = self.types[name]["type"]["base"]
        return name if self.kind(name) in STRUCTS else None

    @staticmethod
    def depth(type_):
        """Pointers, counting an array that is a parameter as one."""
        return type_.get("pointers", 0) + ("array" in type_)

    def counts(self, parameters, i):
        """Whether parameter i is the number of the items of the list before it."""
        if i == 0:
            return False
        before, this = parameters[i - 1]["type"], parameters[i]
        is_list = self.depth(before) and (before.get("const") or "*const" in before["c"]) and before["c"] not in ("const void *", "const char *")
        number = self.scalar(this["type"]["base"]) in ("size_t", "uint32_t", "int") and not self.depth(this["type"])
        several = parameters[i - 1]["name"].endswith("s") and parameters[0]["name"] != "op"  # burn_op_calls counts inputs per call
        return bool(is_list and number and several and re.search(r"count$", this["name"]))

    def drop(self, handle):
        """The function that ends a handle, if there is one."""
        for name, function in self.functions.items():
            parameters = function["parameters"]
            if len(parameters) == 1 and ENDS.search(name) and parameters[0]["type"]["base"] == handle and "cancel" not in name:
                return name
        return {"BurnCalibration": "burn_calibration_cancel", "BurnFolderLock": "burn_folder_unlock", "BurnGraph": "burn_graph_release"}.get(handle)

    def clone(self, handle):
        return {"BurnTensor": "burn_clone", "BurnDataset": "burn_dataset_clone"}.get(handle)
