"""ONNX Runtime as a peer of the bench suite: inference of the models, each as the ONNX file that ours was exported to.

    peer_onnx.py THREADS DEVICE WAY PRECISION FOLDER

The lines are those of peer_torch.py; DEVICE, WAY and PRECISION are not used: it computes on the CPU in f32. Before every
"case" FOLDER has model.onnx, input.npy and output.npy, what we get for the input: a case whose output differs is an error.
"""
import math
import sys
import time

TOLERANCE = 1e-3  # of the largest element


def session_of(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.force_spinning_stop", "1")  # threads that spin would run into our turn
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Case:
    """A model that is measured at the moment."""

    def __init__(self, folder, threads):
        self.session = session_of(folder + "/model.onnx", threads)
        self.feeds = {self.session.get_inputs()[0].name: numpy.load(folder + "/input.npy")}
        self.seconds = 0.0
        self.compare(numpy.load(folder + "/output.npy"))
        total, count = 0.0, 1
        while total < 0.03:
            total += self.repeat(count) * count
            count *= 2

    def compare(self, expected):
        output, = self.session.run(None, self.feeds)
        if output.shape != expected.shape:
            raise ValueError(f"the output is {list(output.shape)} instead of {list(expected.shape)}")
        difference, largest = abs(output - expected).max(), abs(expected).max()
        if not difference <= TOLERANCE * largest:
            raise ValueError(f"the output differs by {difference:.3g}, its largest element is {largest:.3g}")

    def repeat(self, count):
        """Seconds of one repetition."""
        begin = time.perf_counter()
        for _ in range(count):
            self.session.run(None, self.feeds)
        self.seconds = (time.perf_counter() - begin) / count
        return self.seconds


def answer(words, case, folder, threads):
    """The reply to a line, and the case that is prepared after it."""
    if words[0] == "case":
        return "ready nan", Case(folder, threads)
    if words[0] == "run":
        count = max(1, round(float(words[1]) / case.seconds))
        return f"{case.repeat(count):.9g} {math.nan}", case
    return "ended", None


def main():
    threads, folder = int(sys.argv[1]), sys.argv[5]
    print(f"ONNX Runtime {onnxruntime.__version__}", flush=True)
    case = None
    for line in sys.stdin:
        try:
            reply, case = answer(line.split(), case, folder, threads)
        except Exception as problem:  # pylint: disable=broad-exception-caught
            reply = "error " + " ".join(str(problem).split())[:400]
        print(reply, flush=True)


if __name__ == "__main__":
    try:
        import numpy
        import onnxruntime
    except ImportError as missing:
        print("absent", missing, flush=True)
    else:
        main()
