"""Names in comments and between backticks of READMEs and DECISIONS.md that nothing in the tree has: of functions and files that were renamed or removed.

A name is a word with an underscore. It is one of the tree if it occurs in code, in a script or in a path. Left out are patterns
(name_<family>, name_*), texts in quotes, and names with a part of one letter or digit (burn_x_init), which stands for something."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = (".c", ".h", ".cpp", ".hpp", ".def", ".inc", ".cu")
DATA = (".npy", ".onnx", ".svg")
LEFT_OUT = ("build", ".git/", "tests/lint/names.py", "tests/fuzz/corpus/")
KEPT = ("tests/abi/zoo/", "tests/golden/")   # kept as it was, and made by scripts: not looked at
FOREIGN = """
EM_LOONGARCH CUDA_KERNEL_NODE_PARAMS_v2 CU_LAUNCH_PARAM_BUFFER_POINTER CU_LAUNCH_PARAM_BUFFER_SIZE CUdevice_attribute CUevent_flags
CUfunction_attribute CUmemPool_attribute cublas_api cublasLtMatmulAlgo_t cublasLtMatmulHeuristicResult_t cudaStream_t cudnn_graph
library_types nvidia_cudnn_cu13 NV_cooperative_matrix2 VK_KHR_external_memory_fd mesa_shader_cache
ENABLE_LOCALES NO_REASON RESOLVE_BENEATH TRUSTED_SCHEMA getopt_long kat_vectors minimize_crash process_vm_readv arch_prctl
add_dummy_prefix escape_whitespaces treat_whitespace_as_suffix longest_first sentencepiece_model Other_Alphabetic White_Space
backward_hooks cmake_prefix_path dequantize_row eta_min corpus_score roc_auc_score seq_lens set_float32_matmul_precision gaussian_weights
silero_vad_16k_op15 bert_toy_optimized byte_sb_bidi_lstm sentence_embedding gan_mnist pretrained_models pytorch_resnet_cifar10
test_gemm_alpha autobatch_size custom_content dummy_classification_input freq_complex test_rmsprop_optimizer_with_numbers_basic
from_utf8_lossy
"""   # of other software
MADE = """
Head_KIND_Dense MLP_CONFIG MNIST_FOLDER MY_KERNELS MlpConfig_defaults Name_defaults Name_type Net_forward SILERO_VAD silero_vad
d_in d_out dqn_config libmnist_model base_index nd_name subject_case layer_norm_half
name_from name_self prefix_new f64_avx512 ND_FUSED_mul ND_FUSED_mul_from ND_FUSED_mul_self
ratio_onednn torch_compile_lacks torch_bytes_peak sdk_packages sdk_bindings sdk_python
cuda_emulated_graphs vulkan_graphs vulkan_fused_graphs vulkan_validated_graphs vulkan_casts
SHAPE_ONLY sample_expanded_axis
"""   # in examples, by macros and by the build
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
WORD = re.compile(r"(?<![<>*\w])[A-Za-z]\w*(?![<*\w])")


def blank(match):
    return "\n" * match.group(0).count("\n") or " "


def code_of(text):
    return TOKEN.sub(lambda m: blank(m) if m.group(0)[0] == "/" else m.group(0), text)


def prose_of(path, text):
    """(line, text) of every comment, or of everything between backticks."""
    if path.suffix == ".md":
        text = re.sub(r"```.*?```", blank, text, flags=re.S)
        found = re.finditer(r"`[^`\n]+`", text)
    else:
        found = (m for m in TOKEN.finditer(text) if m.group(0)[0] == "/")
    for match in found:
        first = text.count("\n", 0, match.start()) + 1
        for number, line in enumerate(match.group(0).split("\n")):
            yield first + number, re.sub(r'"[^"]*"|-D', " ", line)


def is_name(word):
    parts = word.split("_")
    return len(parts) > 1 and all(len(part) > 1 for part in parts)


def main():
    known, prose = set((FOREIGN + MADE).split()), []
    for path in sorted(ROOT.rglob("*")):
        where = path.relative_to(ROOT).as_posix()
        if where.startswith(LEFT_OUT) or not path.is_file() or path.suffix in DATA:
            continue
        text = path.read_text(errors="replace")
        known.update(re.findall(r"\w+", where))
        if path.suffix != ".md":
            known.update(re.findall(r"\w+", code_of(text) if path.suffix in CODE else text))
        if (path.suffix in CODE or path.name in ("README.md", "DECISIONS.md")) and not where.startswith(KEPT):
            prose += [(where, line, word) for line, words in prose_of(path, text) for word in WORD.findall(words) if is_name(word)]
    problems = [entry for entry in prose if entry[2] not in known]
    for where, line, word in problems:
        print(f"check: {where}:{line}: nothing is called {word}; if that is right, add it to the lists of tests/lint/names.py")
    print(f"check: {len(prose)} names in comments and READMEs, {len(problems)} of them unknown")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
