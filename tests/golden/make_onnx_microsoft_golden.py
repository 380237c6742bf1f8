"""Writes onnx_microsoft_golden.h: models of one operator each, of com.microsoft or without a case by ONNX, inputs, and what ONNX Runtime makes of them.

Run: python3 make_onnx_microsoft_golden.py (needs numpy, onnx and onnxruntime)
"""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import helper

OUT = pathlib.Path(__file__).resolve().parent / "onnx_microsoft_golden.h"
NAMES = {"float32": "F32", "int32": "I32", "int64": "I64", "int8": "I8", "uint8": "U8"}
dice = np.random.default_rng(7)
models, tensors, rows = [], [], []


def floats(*shape):
    return dice.standard_normal(shape).astype(np.float32)


def number(x):
    return f"{float(x):.9g}"


def listed(values):
    """A row of the table of tensors for each; where they begin."""
    begin = len(tensors)
    for x in values:
        shape = x.shape or (1,)  # there is no rank 0 here
        tensors.append(f"    {{BURN_DTYPE_{NAMES[x.dtype.name]}, {{{len(shape)}, {{{', '.join(map(str, shape))}}}}}, "
                       f"(const double[]){{{', '.join(map(number, x.ravel()))}}}}},")
    return begin


def case(name, op, inputs, outputs=1, domain="com.microsoft", **attributes):
    """Inputs that are None are absent; outputs may be a list with "" where one is not asked for."""
    wanted = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    given = [x for x in inputs if x is not None]
    node = helper.make_node(op, names, wanted, domain=domain, **attributes)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in zip(names, inputs) if n]
    results = [onnx.ValueInfoProto(name=n) for n in wanted if n]
    graph = helper.make_graph([node], name, infos, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {n: x for n, x in zip(names, inputs) if n})
    for info, x in zip(model.graph.output, found):
        info.CopyFrom(helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
    raw = model.SerializeToString()
    lines = [", ".join(f"0x{b:02x}" for b in raw[i:i + 20]) for i in range(0, len(raw), 20)]
    models.append(f"static const unsigned char microsoft_{name}[] = {{\n    " + ",\n    ".join(lines) + "};\n")
    first, last = listed(given), listed(found)
    rows.append(f'    {{"{name}", microsoft_{name}, sizeof microsoft_{name}, {first}, {len(given)}, {last}, {len(found)}}},')


case("bias_gelu", "BiasGelu", [floats(2, 3), floats(3)])
case("fast_gelu", "FastGelu", [floats(2, 3), floats(3)])
case("gelu", "Gelu", [floats(5)])
case("quick_gelu", "QuickGelu", [floats(5)], alpha=1.3)
case("fused_matmul", "FusedMatMul", [floats(3, 2), floats(4, 3)], transA=1, transB=1, alpha=0.5)
case("skip_layer_norm", "SkipLayerNormalization", [floats(1, 2, 4), floats(1, 2, 4), floats(4), floats(4), floats(4)], ["y0", "", "", "y3"],
     epsilon=1e-5)
case("skip_simplified", "SkipSimplifiedLayerNormalization", [floats(1, 2, 4), floats(1, 2, 4), floats(4)], epsilon=1e-5)
case("skip_layer_norm_rows", "SkipLayerNormalization", [floats(2, 2, 4), floats(2, 4), floats(4)], epsilon=1e-5)
case("skip_layer_norm_row", "SkipLayerNormalization", [floats(2, 2, 4), floats(1, 2, 4), floats(4), floats(4)], epsilon=1e-3)
case("skip_simplified_sum", "SkipSimplifiedLayerNormalization", [floats(2, 2, 4), floats(2, 2, 4), floats(4), floats(4)],
     ["y0", "", "", "y3"], epsilon=1e-5)
case("simplified", "SimplifiedLayerNormalization", [floats(2, 3, 4), floats(4)], domain="", epsilon=1e-3, axis=-1)
case("fast_gelu_alone", "FastGelu", [floats(2, 3)])
case("fused_conv_relu", "FusedConv", [floats(1, 2, 4, 4), floats(3, 2, 3, 3), floats(3)], activation="Relu", pads=[1, 1, 0, 0])
case("fused_conv_sum", "FusedConv", [floats(1, 1, 3, 3), floats(2, 1, 2, 2), floats(2), floats(1, 2, 2, 2)], activation="LeakyRelu",
     activation_params=[0.3])
case("fused_conv_clip", "FusedConv", [floats(1, 1, 3, 3), floats(2, 1, 2, 2)], activation="Clip", activation_params=[-0.5, 0.7])
BYTES = np.array([[0, 3, 128], [200, 255, 17]], np.uint8)
SMALL = np.array([[-128, 3, 100], [127, -7, 90]], np.int8)


def one(value, dtype=np.float32):
    return np.array(value, dtype)


case("qlinear_add", "QLinearAdd", [BYTES, one(0.1), one(5, np.uint8), BYTES[::-1].copy(), one(0.05),
                                   one(100, np.uint8), one(0.08), one(30, np.uint8)])
case("qlinear_add_signed", "QLinearAdd", [SMALL, one(0.1), one(-2, np.int8), SMALL[:1].copy(), one(0.2), one(4, np.int8),
                                          one(0.15), one(-3, np.int8)])
case("qlinear_mul", "QLinearMul", [BYTES, one(0.02), one(9, np.uint8), BYTES[::-1].copy(), one(0.03),
                                   one(7, np.uint8), one(0.07), one(40, np.uint8)])
IDS, SEGMENTS = np.array([[1, 0, 4], [2, 2, 3]], np.int32), np.array([[0, 0, 1], [0, 1, 1]], np.int32)
TABLES = floats(5, 4), floats(6, 4), floats(2, 4), floats(4), floats(4)
case("embed", "EmbedLayerNormalization", [IDS, SEGMENTS, *TABLES, np.array([[1, 1, 0], [1, 1, 1]], np.int32)], 3, epsilon=1e-5)
case("embed_words_only", "EmbedLayerNormalization", [IDS, None, TABLES[0], TABLES[1], None, TABLES[3], TABLES[4]], 2, epsilon=1e-5)
case("embed_positions", "EmbedLayerNormalization", [IDS, SEGMENTS, *TABLES, None, IDS[::-1].copy()], 2, epsilon=1e-5)
HEADS = floats(2, 3, 4), floats(2, 5, 4), floats(2, 5, 4)
case("heads", "MultiHeadAttention", [*HEADS], num_heads=2)
case("heads_biased", "MultiHeadAttention", [*HEADS, floats(12)], num_heads=2, scale=0.3)
case("heads_masked", "MultiHeadAttention", [*HEADS, None, np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)], num_heads=2)
case("heads_scored", "MultiHeadAttention", [*HEADS, None, None, floats(1, 2, 3, 5)], num_heads=2)
case("heads_causal", "MultiHeadAttention", [floats(1, 4, 4), floats(1, 4, 4), floats(1, 4, 4)], num_heads=2, unidirectional=1)
case("heads_cached", "MultiHeadAttention", [*HEADS, None, None, None, floats(2, 2, 3, 2), floats(2, 2, 3, 2)], 3, num_heads=2)
case("heads_lengths", "MultiHeadAttention", [*HEADS, None, np.array([4, 2], np.int32)], num_heads=2)
case("heads_rows", "MultiHeadAttention", [*HEADS, None, np.tri(5, dtype=np.int32)[1:4][None].repeat(2, 0)], num_heads=2, mask_filter_value=-7.0)
case("heads_ready", "MultiHeadAttention", [HEADS[0], floats(2, 2, 5, 2), floats(2, 2, 5, 2), floats(12)], num_heads=2)

# Attention: projections of 4 to 2 heads of 3, by themselves and with every form of mask.
WORDS, WEIGHTS, BIASES = floats(2, 3, 4), floats(4, 18), floats(18)
case("attention", "Attention", [WORDS, WEIGHTS, BIASES], num_heads=2)
case("attention_scaled", "Attention", [WORDS, WEIGHTS, None], num_heads=2, scale=0.25)
case("attention_causal", "Attention", [WORDS, WEIGHTS, BIASES], num_heads=2, unidirectional=1)
case("attention_sizes", "Attention", [WORDS, floats(4, 16), floats(16)], num_heads=2, qkv_hidden_sizes=[6, 6, 4])
case("attention_raw", "Attention", [WORDS, WEIGHTS, BIASES, np.array([[1, 1, 0], [1, 0, 0]], np.int32)], num_heads=2)
case("attention_raw_causal", "Attention", [WORDS, WEIGHTS, BIASES, np.array([[1, 1, 0], [0, 1, 1]], np.int32)], num_heads=2, unidirectional=1,
     mask_filter_value=-3.0)
case("attention_rows", "Attention", [WORDS, WEIGHTS, BIASES, np.tri(3, dtype=np.int32)[None].repeat(2, 0)], num_heads=2)
case("attention_ends", "Attention", [WORDS, WEIGHTS, BIASES, np.array([3, 1], np.int32)], num_heads=2)
case("attention_ends_begins", "Attention", [WORDS, WEIGHTS, BIASES, np.array([3, 2, 1, 0], np.int32)], num_heads=2)
case("attention_cumulative", "Attention", [WORDS, WEIGHTS, BIASES, np.array([3, 2, 0, 3, 6, 0, 3, 5], np.int32)], num_heads=2)
case("attention_scored", "Attention", [WORDS, WEIGHTS, BIASES, None, None, floats(1, 2, 3, 3)], num_heads=2)
case("attention_cached", "Attention", [WORDS, WEIGHTS, BIASES, None, floats(2, 2, 2, 2, 3)], 2, num_heads=2)
case("attention_cached_causal", "Attention", [WORDS, WEIGHTS, BIASES, np.array([[0, 1, 1, 1, 1], [1, 1, 1, 1, 0]], np.int32),
                                              floats(2, 2, 2, 2, 3)], 2, num_heads=2, unidirectional=1)
case("attention_first", "Attention", [WORDS, WEIGHTS, BIASES], 2, num_heads=2, unidirectional=1)

ANGLES = floats(8, 2)
COSINES, SINES = np.cos(ANGLES), np.sin(ANGLES)
case("rotary", "RotaryEmbedding", [floats(2, 3, 8), np.array([[0, 1, 2], [4, 6, 7]]), COSINES, SINES])
case("rotary_from", "RotaryEmbedding", [floats(2, 3, 8), np.array([3]), COSINES, SINES], interleaved=1)
case("rotary_heads", "RotaryEmbedding", [floats(1, 2, 3, 4), np.array([[5, 1, 0]]), COSINES, SINES])
case("rotary_part", "RotaryEmbedding", [floats(1, 3, 12), np.array([2]), COSINES, SINES], num_heads=2, rotary_embedding_dim=4)


def int32(*values):
    return np.array(values, np.int32)


# GroupQueryAttention: 2 heads of queries share 1 of keys, of 16 numbers; or 4 share 2 of 8.
def grouped(name, inputs, keys=1, **attributes):
    case(name, "GroupQueryAttention", inputs, 3, num_heads=2 * keys, kv_num_heads=keys, **attributes)


FIRST = floats(2, 3, 32), floats(2, 3, 16), floats(2, 3, 16), None, None
NEXT = floats(2, 1, 32), floats(2, 1, 16), floats(2, 1, 16), floats(2, 1, 3, 16), floats(2, 1, 3, 16)
TURNS = np.cos(floats(8, 8)), np.sin(floats(8, 8))
grouped("group", [*FIRST, int32(2, 2), int32(3)])
grouped("group_four", [*FIRST, int32(2, 2), int32(3)], 2)
grouped("group_packed", [floats(1, 3, 64), None, None, None, None, int32(2), int32(3)], 2, scale=0.7)
grouped("group_rotary", [*FIRST, int32(2, 2), int32(3), *TURNS], do_rotary=1)
grouped("group_next", [*NEXT, int32(3, 3), int32(4)])
grouped("group_next_rotary", [*NEXT, int32(3, 3), int32(4), *TURNS], do_rotary=1, rotary_interleaved=1)
grouped("group_next_uneven", [*NEXT, int32(3, 1), int32(4), *TURNS], do_rotary=1)
grouped("group_next_positions", [*NEXT, int32(3, 1), int32(4), *TURNS, np.array([[5], [2]])], do_rotary=1)
grouped("group_several", [floats(1, 2, 32), floats(1, 2, 16), floats(1, 2, 16), floats(1, 1, 3, 16), floats(1, 1, 3, 16), int32(4), int32(5)])
grouped("group_room", [*NEXT, int32(2, 1), int32(3)])
grouped("group_window", [*NEXT, int32(3, 3), int32(4)], local_window_size=2)
grouped("group_window_first", [*FIRST, int32(2, 2), int32(3)], local_window_size=2)
grouped("group_capped", [*NEXT, int32(3, 2), int32(4)], softcap=0.8)
grouped("group_scored", [*NEXT, int32(3, 3), int32(4), None, None, None, floats(1, 2, 1, 4)])
grouped("group_smooth", [*NEXT, int32(3, 2), int32(4)], smooth_softmax=1)
grouped("group_sink", [*FIRST, int32(2, 2), int32(3), None, None, None, None, floats(2)])
grouped("group_sink_scored", [*NEXT, int32(3, 3), int32(4), None, None, None, floats(2, 2, 1, 4), floats(2)])

REGIONS = np.array([[0, 0, 0, 5, 4], [1, 1.2, 0.6, 3.4, 2.5], [0, 4, 3, 9, 9], [1, 3, 3, 1, 1], [0, 6, 5, 6, 5], [1, -4, -3, 2, 2]], np.float32)
case("max_roi", "MaxRoiPool", [floats(2, 2, 6, 7), REGIONS], domain="", pooled_shape=[2, 3])
case("max_roi_scaled", "MaxRoiPool", [floats(2, 1, 6, 7), REGIONS * 1.7], domain="", pooled_shape=[4, 5], spatial_scale=0.5)

OUT.write_text(f"""/* Written by make_onnx_microsoft_golden.py with onnxruntime {onnxruntime.__version__}; do not edit. */
{''.join(models)}
static const struct {{
  BurnDType dtype;
  BurnShape shape;
  const double *values;
}} microsoft_tensors[] = {{
{chr(10).join(tensors)}
}};

static const struct {{
  const char *name;
  const unsigned char *model;
  size_t bytes, first_input, input_count, first_output, output_count;
}} microsoft_cases[] = {{
{chr(10).join(rows)}
}};
""")
