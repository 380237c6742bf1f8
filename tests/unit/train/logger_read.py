"""What logger_test.c has written, read by others: logger_read.py WHAT FOLDER EXPECTED.

WHAT is json_lines, tensorboard, again, prometheus, histograms or hparams. EXPECTED has the loss of training and the accuracy of validation of each epoch:
"0.5,90;0.25,95;". Exits 77 where Python lacks the reader.
"""
import json
import math
import pathlib
import sys

BATCHES, VALID_BATCHES = 7, 3


def near(a, b, tolerance=1e-6):
    assert abs(a - b) <= tolerance * max(1, abs(b)), f"{a} is not {b}"


def read_json_lines(folder, epochs):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    places = [(r["epoch"], r["split"], r["batch"], r["final"], r["metric"]) for r in rows]
    assert len(set(places)) == len(places), "a value is there twice"
    for epoch, (loss, accuracy) in enumerate(epochs, 1):
        final = {(r["split"], r["metric"]): r for r in rows if r["epoch"] == epoch and r["final"]}
        near(final["train", "Loss"]["value"], loss)
        near(final["valid", "Accuracy"]["value"], accuracy)
        assert final["valid", "Accuracy"]["unit"] == "%"
        batches = [r for r in rows if r["epoch"] == epoch and r["metric"] == "Loss" and r["split"] == "train" and not r["final"]]
        assert [r["batch"] for r in batches] == list(range(1, BATCHES + 1))
        near(sum(r["value"] * r["weight"] for r in batches) / sum(r["weight"] for r in batches), loss)


def accumulator(folder, split):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator(str(folder / "tensorboard" / split), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
    events.Reload()
    return events


def read_tensorboard(folder, epochs):
    train, valid = accumulator(folder, "train"), accumulator(folder, "valid")
    assert sorted(train.Tags()["scalars"]) == ["Accuracy/batch", "Accuracy/epoch", "Loss/batch", "Loss/epoch"]
    assert [e.step for e in train.Scalars("Loss/batch")] == list(range(1, 3 * BATCHES + 1)), "steps are missing or there twice"
    assert [e.step for e in valid.Scalars("Loss/batch")] == list(range(1, 3 * VALID_BATCHES + 1))
    assert [e.step for e in train.Scalars("Loss/epoch")] == [1, 2, 3]
    for event, (loss, _) in zip(train.Scalars("Loss/epoch"), epochs, strict=True):
        near(event.value, loss)
    for event, (_, accuracy) in zip(valid.Scalars("Accuracy/epoch"), epochs, strict=True):
        near(event.value, accuracy)
    text = train.Tensors("note/text_summary" if "note/text_summary" in train.Tags()["tensors"] else "note")[0].tensor_proto
    assert text.string_val[0] == b"part & <parcel>"
    assert train.SummaryMetadata("note").plugin_data.plugin_name == "text"


def read_again(folder, _):
    train = accumulator(folder, "train")
    assert [(e.step, e.value) for e in train.Scalars("Loss/batch")] == [(1, 1), (2, 2), (3, 3), (4, 14), (5, 15), (6, 16), (7, 17)]
    assert train.Tensors("note")[-1].tensor_proto.string_val[0] == b"second"


def read_hparams(folder, _):
    from google.protobuf.json_format import MessageToDict
    from tensorboard.plugins.hparams import metadata, plugin_data_pb2
    session = accumulator(folder, ".")
    content = session.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    assert session.SummaryMetadata("_hparams_/session_start_info").plugin_data.plugin_name == metadata.PLUGIN_NAME
    info = metadata.parse_session_start_info_plugin_data(content)
    assert isinstance(info, plugin_data_pb2.SessionStartInfo) and info.start_time_secs > 1.6e9
    values = {name: MessageToDict(value) for name, value in info.hparams.items()}
    assert values == {"layers": 3.0, "rate": 0.0625, "name": "d\u00e9j\u00e0 \"vu\"", "adam.nesterov": True, "adam.sizes": "[2,3]"}, values


def read_histograms(folder, _):
    train = accumulator(folder, "train")
    histogram = train.Histograms("numbers")[0].histogram_value
    assert train.Histograms("numbers")[0].step == 3
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (0, 59, 60, sum(range(60)))
    assert histogram.sum_squares == sum(i * i for i in range(60))
    import numpy
    counts, edges = numpy.histogram(numpy.arange(60.0), bins=30)
    assert list(histogram.bucket) == list(counts)
    assert numpy.allclose(list(histogram.bucket_limit), edges[1:])
    assert sorted(train.Tags()["histograms"]) == ["bias_1", "bias_2", "none", "numbers", "seen", "weight_1", "weight_2"]
    assert train.Histograms("weight_1")[0].histogram_value.num == 16
    assert train.Histograms("none")[0].histogram_value.num == 0


def read_prometheus(folder, epochs):
    from prometheus_client.parser import text_fd_to_metric_families
    with open(folder / "burn.prom") as file:
        families = {family.name: family for family in text_fd_to_metric_families(file)}
    assert all(family.type == "gauge" for family in families.values())
    finals = {(s.labels["metric"], s.labels["split"]): s.value for s in families["burn_metric_epoch"].samples}
    near(finals["Loss", "train"], epochs[-1][0])
    near(finals["Accuracy", "valid"], epochs[-1][1])
    assert {s.labels["unit"] for s in families["burn_metric"].samples} == {"", "%"}
    assert {s.labels["split"]: s.value for s in families["burn_epoch"].samples} == {"train": 3, "valid": 3}
    assert {s.labels["split"]: s.value for s in families["burn_batches"].samples} == {"train": BATCHES, "valid": VALID_BATCHES}
    assert not math.isnan(families["burn_updated_timestamp_seconds"].samples[0].value)


def main():
    what, folder, expected = sys.argv[1:]
    epochs = [tuple(map(float, pair.split(","))) for pair in expected.split(";") if pair]
    try:
        globals()["read_" + what](pathlib.Path(folder), epochs)
    except ModuleNotFoundError as error:
        print(error)
        sys.exit(77)


main()
