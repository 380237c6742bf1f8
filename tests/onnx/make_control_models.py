"""make_control_models.py: small models with loops, conditions that depend on data, sequences and small integers, each with the outputs of ONNX
Runtime, into control/<name>/: model.onnx, and ref_0, ref_1, .. with input_<i>.npy and output_<i>.npy. Always the same bytes."""
import pathlib
import shutil

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parent / "control"
F32, I64, I32, BOOL, U8, I8 = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.UINT8,
                               TensorProto.INT8)
info = helper.make_tensor_value_info
node = helper.make_node
random = numpy.random.default_rng(17)


def constant(name, values, dtype):
    return numpy_helper.from_array(numpy.asarray(values, dtype), name)


def floats(name, *shape):
    return constant(name, random.normal(size=shape), numpy.float32)


def write(name, nodes, inputs, outputs, constants, *sets, domains=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)] + [helper.make_opsetid(d, 1) for d in domains],
                              ir_version=8, producer_name="burn")
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    for i, values in enumerate(sets):
        reference = folder / f"ref_{i}"
        reference.mkdir()
        results = session.run(None, {x.name: value for x, value in zip(inputs, values)})
        for k, value in enumerate(values):
            numpy.save(reference / f"input_{k}.npy", value)
        for k, value in enumerate(results):
            numpy.save(reference / f"output_{k}.npy", value)


def body(name, nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, name, inputs, outputs, list(constants))


def f32(*values):
    return numpy.asarray(values, numpy.float32)


ROUND, HOLDS = info("i", I64, []), info("c", BOOL, [])

# Doubles until the sum is 100 or more; every round is kept, too. The second input never starts.
write("loop_while",
      [node("ReduceSum", ["x"], ["s0"], keepdims=0), node("Less", ["s0", "hundred"], ["go"]),
       node("Loop", ["", "go", "x"], ["y", "all"], body=body(
           "body", [node("Add", ["a", "a"], ["b"]), node("ReduceSum", ["b"], ["s"], keepdims=0),
                    node("Less", ["s", "hundred"], ["more"]), node("Neg", ["b"], ["kept"])],
           [ROUND, HOLDS, info("a", F32, [2])], [info("more", BOOL, []), info("b", F32, [2]), info("kept", F32, [2])]))],
      [info("x", F32, [2])], [info("y", F32, [2]), info("all", F32, [None, 2])], [constant("hundred", 100, numpy.float32)],
      [f32(1, 2)], [f32(300, 2)], [f32(49, 0.5)])

# A text of numbers that grows by one at a time, as a decoder writes it: an axis that every round changes.
write("loop_decoder",
      [node("Loop", ["rounds", "", "tokens"], ["text", "chosen"], body=body(
          "body", [node("Gather", ["table", "t"], ["vectors"], axis=0), node("ReduceMean", ["vectors"], ["mean"], axes=[1], keepdims=0),
                   node("MatMul", ["mean", "w"], ["scores"]), node("ArgMax", ["scores"], ["next"], axis=1, keepdims=1),
                   node("Concat", ["t", "next"], ["longer"], axis=1), node("Equal", ["next", "stop"], ["stops"]),
                   node("Squeeze", ["stops"], ["flat"]), node("Not", ["flat"], ["more"]),
                   node("Squeeze", ["next"], ["number"])],
          [ROUND, HOLDS, info("t", I64, [1, None])],
          [info("more", BOOL, []), info("longer", I64, [1, None]), info("number", I64, [])]))],
      [info("tokens", I64, [1, "length"]), info("rounds", I64, [])],
      [info("text", I64, [1, None]), info("chosen", I64, [None])],
      [floats("table", 7, 4), floats("w", 4, 7), constant("stop", 99, numpy.int64)],
      [numpy.asarray([[1, 2]], numpy.int64), numpy.asarray(5, numpy.int64)],
      [numpy.asarray([[6, 3, 0, 1]], numpy.int64), numpy.asarray(1, numpy.int64)])

# Tensors put into a sequence round by round, read by place, and joined.
write("loop_sequence",
      [node("SequenceEmpty", [], ["none"], dtype=F32),
       node("Loop", ["four", "", "none", "x"], ["made", "last"], body=body(
           "body", [node("SequenceInsert", ["list", "a"], ["longer"]), node("Mul", ["a", "w"], ["b"]), node("Identity", ["c"], ["d"])],
           [ROUND, HOLDS, helper.make_tensor_sequence_value_info("list", F32, None), info("a", F32, [1, 3])],
           [info("d", BOOL, []), helper.make_tensor_sequence_value_info("longer", F32, None), info("b", F32, [1, 3])])),
       node("SequenceErase", ["made", "one"], ["fewer"]), node("SequenceLength", ["fewer"], ["count"]),
       node("SequenceAt", ["made", "minus"], ["third"]), node("SequenceInsert", ["fewer", "third", "one"], ["more"]),
       node("ConcatFromSequence", ["more"], ["joined"], axis=0), node("ConcatFromSequence", ["fewer"], ["stacked"], axis=0, new_axis=1),
       node("SplitToSequence", ["joined", "two"], ["halves"], axis=0), node("SequenceAt", ["halves", "zero"], ["half"]),
       node("Add", ["half", "last"], ["sum"])],
      [info("x", F32, [1, 3])],
      [info("joined", F32, [None, 3]), info("stacked", F32, [None, 1, 3]), info("count", I64, []), info("sum", F32, [None, 3])],
      [constant("four", 4, numpy.int64), floats("w", 1, 3), constant("one", 1, numpy.int64), constant("minus", -2, numpy.int64),
       constant("two", 2, numpy.int64), constant("zero", 0, numpy.int64)],
      [f32([1, 2, 3])[0][None]])

# Rounds that read by their number, with a condition inside; and a loop in it.
write("loop_nested",
      [node("Loop", ["rounds", "", "start"], ["y", "all"], body=body(
          "outer", [node("Gather", ["x", "i"], ["row"], axis=0), node("Add", ["i", "one"], ["after"]),
                    node("Unsqueeze", ["after", "axis"], ["end"]), node("Slice", ["x", "first", "end", "axis"], ["before"]),
                    node("ReduceSum", ["before", "axis"], ["sum"], keepdims=0), node("ReduceSum", ["row"], ["total"], keepdims=0),
                    node("Greater", ["total", "nought"], ["positive"]),
                    node("If", ["positive"], ["chosen"],
                         then_branch=body("yes", [node("Add", ["sum", "row"], ["p"])], [], [info("p", F32, [3])]),
                         else_branch=body("no", [node("Mul", ["row", "a"], ["n"])], [], [info("n", F32, [3])])),
                    node("Loop", ["i", "", "chosen"], ["b"], body=body(
                        "inner", [node("Mul", ["v", "half"], ["w"]), node("Add", ["w", "row"], ["z"]), node("Identity", ["e"], ["f"])],
                        [info("k", I64, []), info("e", BOOL, []), info("v", F32, [3])], [info("f", BOOL, []), info("z", F32, [3])])),
                    node("Identity", ["c"], ["d"])],
          [ROUND, HOLDS, info("a", F32, [3])], [info("d", BOOL, []), info("b", F32, [3]), info("positive", BOOL, [])]))],
      [info("x", F32, ["rows", 3]), info("rounds", I64, [])], [info("y", F32, [3]), info("all", BOOL, [None])],
      [floats("start", 3), constant("one", 1, numpy.int64), constant("axis", [0], numpy.int64), constant("first", [0], numpy.int64),
       constant("nought", 0, numpy.float32), constant("half", 0.5, numpy.float32)],
      [random.normal(size=(4, 3)).astype(numpy.float32), numpy.asarray(4, numpy.int64)],
      [random.normal(size=(2, 3)).astype(numpy.float32), numpy.asarray(0, numpy.int64)])

# A loop in a loop that has no end where the input is nought, as it is while code is written.
write("loop_endless",
      [node("Loop", ["two", "", "x"], ["y"], body=body(
          "outer", [node("Loop", ["", "c", "a"], ["b"], body=body(
              "inner", [node("Add", ["v", "v"], ["w"]), node("ReduceMax", ["w"], ["m"], keepdims=0), node("Less", ["m", "ten"], ["f"])],
              [info("k", I64, []), info("e", BOOL, []), info("v", F32, [2])], [info("f", BOOL, []), info("w", F32, [2])])),
                    node("Identity", ["c"], ["d"])],
          [ROUND, HOLDS, info("a", F32, [2])], [info("d", BOOL, []), info("b", F32, [2])]))],
      [info("x", F32, [2])], [info("y", F32, [2])], [constant("two", 2, numpy.int64), constant("ten", 10, numpy.float32)], [f32(1, 0.5)])

# States that change places: what one round has as b is a of the next.
write("loop_exchange",
      [node("Loop", ["rounds", "", "x", "y"], ["p", "q", "sums"], body=body(
          "body", [node("Add", ["a", "b"], ["s"]), node("Identity", ["c"], ["d"])],
          [ROUND, HOLDS, info("a", F32, [2]), info("b", F32, [2])],
          [info("d", BOOL, []), info("b", F32, [2]), info("a", F32, [2]), info("s", F32, [2])]))],
      [info("x", F32, [2]), info("y", F32, [2])], [info("p", F32, [2]), info("q", F32, [2]), info("sums", F32, [3, 2])],
      [constant("rounds", 3, numpy.int64)], [f32(1, 2), f32(3, 5)])

# Branches that the data choose, of which one gives more rows; both read what is used again later.
write("if_data",
      [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "nought"], ["positive"]), node("Exp", ["x"], ["e"]),
       node("If", ["positive"], ["y", "w"],
            then_branch=body("yes", [node("Concat", ["e", "x"], ["p"], axis=0), node("Identity", ["s"], ["v"])], [],
                             [info("p", F32, None), info("v", F32, [])]),
            else_branch=body("no", [node("MatMul", ["e", "m"], ["n"]), node("Neg", ["s"], ["u"])], [],
                             [info("n", F32, None), info("u", F32, [])])),
       node("Relu", ["y"], ["r"]), node("ReduceMax", ["e"], ["most"], keepdims=0), node("Add", ["w", "most"], ["t"])],
      [info("x", F32, ["rows", 2])], [info("r", F32, None), info("t", F32, [])],
      [constant("nought", 0, numpy.float32), floats("m", 2, 2)],
      [f32([1, 2], [3, -1], [0.5, 0.25])], [f32([1, -2], [-3, -1])])

# A recurrence written as a scan, both ways.
write("scan_recurrent",
      [node("Transpose", ["x"], ["turned"], perm=[1, 0, 2]),
       node("Scan", ["h0", "turned", "x"], ["h", "states", "back"], num_scan_inputs=2, scan_input_axes=[0, 1], scan_input_directions=[0, 1],
            scan_output_axes=[1, 0], scan_output_directions=[0, 1], body=body(
                "body", [node("MatMul", ["step", "w"], ["in"]), node("MatMul", ["a", "u"], ["again"]), node("Add", ["in", "again"], ["sum"]),
                         node("Tanh", ["sum"], ["b"]), node("Identity", ["b"], ["kept"]), node("Sub", ["step", "other"], ["difference"])],
                [info("a", F32, [None, 3]), info("step", F32, [None, 2]), info("other", F32, [None, 2])],
                [info("b", F32, [None, 3]), info("kept", F32, [None, 3]), info("difference", F32, [None, 2])]))],
      [info("x", F32, ["batch", "time", 2]), info("h0", F32, ["batch", 3])],
      [info("h", F32, [None, 3]), info("states", F32, [None, None, 3]), info("back", F32, [None, None, 2])],
      [floats("w", 2, 3), floats("u", 3, 3)],
      [random.normal(size=(2, 4, 2)).astype(numpy.float32), numpy.zeros((2, 3), numpy.float32)],
      [random.normal(size=(1, 1, 2)).astype(numpy.float32), numpy.ones((1, 3), numpy.float32)])

# Layers of small integers, as tools that quantize write them. Signed weights have 7 bits: ONNX Runtime's sums of u8 * i8 saturate without VNNI.
small = random.integers
write("quantized_layers",
      [node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
       node("QLinearConv", ["q", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
       node("QLinearAdd", ["c", "ys", "yz", "c", "ys", "yz", "zs", "zz"], ["sum"], domain="com.microsoft"),
       node("QLinearMul", ["sum", "zs", "zz", "c", "ys", "yz", "ps", "pz"], ["product"], domain="com.microsoft"),
       node("DequantizeLinear", ["product", "ps", "pz"], ["d"]), node("Flatten", ["d"], ["flat"]),
       node("DynamicQuantizeLinear", ["flat"], ["f", "fs", "fz"]), node("MatMulInteger", ["f", "m", "fz", "mz"], ["integers"]),
       node("Cast", ["integers"], ["numbers"], to=F32), node("Mul", ["fs", "ms"], ["scale"]), node("Mul", ["numbers", "scale"], ["y"]),
       node("QuantizeLinear", ["y", "os", "oz"], ["r"]), node("QLinearMatMul", ["r", "os", "oz", "n", "ns", "nz", "ts", "tz"], ["t"]),
       node("ConvInteger", ["q", "k", "xz"], ["conv"], pads=[0, 1, 2, 1])],
      [info("x", F32, ["batch", 3, 6, 6])],
      [info("y", F32, None), info("t", I8, None), info("conv", I32, None), info("c", U8, None)],
      [constant("xs", 0.02, numpy.float32), constant("xz", 120, numpy.uint8), constant("w", small(-64, 64, (4, 3, 3, 3)), numpy.int8),
       constant("ws", [0.01, 0.02, 0.03, 0.015], numpy.float32), constant("wz", [0, 0, 0, 0], numpy.int8),
       constant("ys", 0.05, numpy.float32), constant("yz", 128, numpy.uint8), constant("b", small(-500, 500, 4), numpy.int32),
       constant("zs", 0.1, numpy.float32), constant("zz", 127, numpy.uint8), constant("ps", 0.9, numpy.float32),
       constant("pz", 100, numpy.uint8), constant("m", small(0, 256, (36, 5)), numpy.uint8), constant("mz", 131, numpy.uint8),
       constant("ms", 0.004, numpy.float32), constant("os", 0.5, numpy.float32), constant("oz", -3, numpy.int8),
       constant("n", small(-64, 64, (5, 4)), numpy.int8), constant("ns", 0.01, numpy.float32), constant("nz", 4, numpy.int8),
       constant("ts", 1.5, numpy.float32), constant("tz", 2, numpy.int8), constant("k", small(0, 256, (2, 3, 3, 3)), numpy.uint8)],
      [random.uniform(-2.4, 2.4, size=(2, 3, 6, 6)).astype(numpy.float32)],
      [random.uniform(-1, 1, size=(1, 3, 6, 6)).astype(numpy.float32)], domains=["com.microsoft"])

# Quantized and back, around layers of floats; one scale for every channel.
write("quantized_pairs",
      [node("QuantizeLinear", ["x", "xs", "xz"], ["q"]), node("DequantizeLinear", ["q", "xs", "xz"], ["a"]),
       node("DequantizeLinear", ["w", "ws", "wz"], ["v"], axis=0), node("Conv", ["a", "v", "b"], ["c"], pads=[1, 1]),
       node("Relu", ["c"], ["r"]), node("QuantizeLinear", ["r", "rs", "rz"], ["s"], axis=1),
       node("DequantizeLinear", ["s", "rs", "rz"], ["y"], axis=1)],
      [info("x", F32, ["batch", 2, "length"])], [info("y", F32, None), info("s", U8, None)],
      [constant("xs", 0.05, numpy.float32), constant("xz", -7, numpy.int8), constant("w", small(-128, 128, (3, 2, 3)), numpy.int8),
       constant("ws", [0.01, 0.02, 0.005], numpy.float32), constant("wz", [0, 0, 0], numpy.int8), floats("b", 3),
       constant("rs", [0.02, 0.05, 0.01], numpy.float32), constant("rz", [0, 10, 3], numpy.uint8)],
      [random.normal(size=(2, 2, 5)).astype(numpy.float32)], [random.normal(size=(1, 2, 8)).astype(numpy.float32)])
