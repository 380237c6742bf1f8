"""onnx_export_read.py FOLDER: every model of the folder with arrays beside it (x.onnx, x.npz) is checked by onnx.checker and run by ONNX
Runtime; its outputs are those of the arrays within 1e-5. Exit status 77 where Python lacks one of the packages."""
import pathlib
import sys

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

wrong = 0
models = sorted(pathlib.Path(sys.argv[1]).glob("*.npz"))
assert models, f"{sys.argv[1]} has no arrays"
for arrays in models:
    path = arrays.with_suffix(".onnx")
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        with numpy.load(arrays) as values:
            inputs = {i.name: values[i.name] for i in session.get_inputs()}
            outputs = session.run(None, inputs)
            for output, found in zip(session.get_outputs(), outputs):
                wanted = values[output.name]
                assert found.dtype == wanted.dtype, f"{output.name} is {found.dtype}, not {wanted.dtype}"
                assert found.shape == wanted.shape, f"{output.name} is {found.shape}, not {wanted.shape}"
                numpy.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    except Exception as error:  # every model is looked at
        wrong += 1
        print(f"{path.name}: {type(error).__name__}: {' '.join(str(error).split())[:400]}")
print(f"{len(models) - wrong} of {len(models)} models are right in onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}")
sys.exit(wrong != 0)
