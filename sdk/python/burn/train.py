"""The learner: epochs of training and validation with a step function of Python."""
import math
import numbers

from . import _c, metric
from .data import Batch, Dataset, Loader
from .device import chosen
from .optimizer import Schedule


def _output(given):
    """A step's tensors as C has them: a dict with "loss"; or (loss, output, targets)."""
    if isinstance(given, tuple):
        given = dict(zip(("loss", "output", "targets"), given))
    elif isinstance(given, _c.BurnTensor):
        given = {"loss": given}
    if not isinstance(given, dict):
        raise TypeError(f"the step gave {type(given).__name__}; a loss, (loss, output, targets) or a dict of tensors with \"loss\" expected")
    return _c.BurnStepOutput(count=len(given), names=list(given), tensors=list(given.values()))


class _Task:
    """What C calls for the steps of a run."""

    def __init__(self, model, step):
        self.model, self.function, self.address = model, step, model._built()[1]
        self.task = _c.BurnTask(step=_c.callbacks["BurnTask.step"], context=id(self))

    def step(self, address, batch):
        if address == self.address:
            return _output(self.function(self.model, Batch(batch)))
        copy = self.model._shown(address, None)  # C's own, of validation or of another device
        try:
            return _output(self.function(copy, Batch(batch)))
        finally:
            copy._forget()


class Epoch(dict):
    """The values of an epoch: epoch["train"]["Loss"]; a metric without value is missing."""

    def __init__(self, result):
        named = [result.metrics[i] for i in range(result.metric_count)]
        super().__init__({split: {m.name: m.values[i] for m in named if not math.isnan(m.values[i])} for i, split in enumerate(("train", "valid"))})
        self.number, self.seconds, self.items_per_second = result.epoch, result.seconds, result.items_per_second


class Result:
    """The outcome of a run: .epochs, each an Epoch of this run, and what C tells."""

    def __init__(self, result, epochs):
        self.last, self.epochs = Epoch(result.last), epochs
        self.epochs_done, self.epochs_resumed, self.steps = result.epochs_done, result.epochs_resumed, result.steps
        self.stopped_early, self.interrupted = result.stopped_early, result.interrupted


class _Listener:
    def __init__(self, function):
        self.function, self.epochs = function, []

    def on_epoch(self, result):
        self.epochs.append(Epoch(result))
        if self.function:
            self.function(self.epochs[-1])


class NoImprovement:
    """Ends a run after so many epochs without a better value of a metric, of "train" or "valid"; the first `warmup_epochs` never end it."""

    def __init__(self, metric="Loss", split="valid", *, highest=False, epochs=1, warmup_epochs=0):
        if split not in ("train", "valid"):
            raise ValueError(f"split is {split!r}; 'train' or 'valid' expected")
        self.config = _c.BurnNoImprovement(metric=metric, split=("train", "valid").index(split), highest=highest, epochs=epochs, warmup_epochs=warmup_epochs)
        self.strategy = _c.burn_stop_without_improvement(self.config)  # which points at the config


def _rate(lr):
    """A learning rate as fields of a BurnLearnerConfig."""
    if isinstance(lr, numbers.Real):
        return {"learning_rate": lr}
    if isinstance(lr, Schedule):
        return {"schedule": lr._schedule}
    raise TypeError(f"lr is {lr!r}; a number or a schedule of burn.schedule expected")


def _loader(value, what):
    if not isinstance(value, Loader):
        raise TypeError(f"{what} is a {type(value).__name__}; a burn.data.Loader is expected, as Loader(dataset, 32, shuffle=True)")
    return value._loader


def _metrics(metrics):
    for item in metrics:
        if not hasattr(item, "metric"):
            raise TypeError(f"{item!r} is no metric; burn.metric.accuracy() and others make one, and subclasses of burn.metric.Metric are some")
    return {"items": [m.metric for m in metrics], "count": len(metrics)}



class Learner:
    """Trains a module. step(model, batch) returns the loss, or (loss, output, targets), or a dict of tensors with "loss"; in validation
    it gets the model on the device below autodiff. `lr` is a number or a schedule. Other keywords are those of BurnLearnerConfig;
    `early_stopping` is a NoImprovement, or one of C, whose config is not kept alive by it."""

    def __init__(self, model, optimizer, step, *, metrics=None, device=None):
        self.model, self.optimizer, self.step_function, self.device = model, optimizer, step, chosen(device)
        self.metrics = [metric.accuracy()] if metrics is None else list(metrics)

    def fit(self, train, valid=None, *, epochs=1, lr=1e-3, on_epoch=None, quiet=True, devices=(), early_stopping=None, **config):
        """Trains for some epochs on loaders; the outcome, with the values of each epoch. devices: several that share each batch, the
        learner's first; step is called from a thread for each then."""
        module, task, listener = self.model._module(), _Task(self.model, self.step_function), _Listener(on_epoch)
        if early_stopping is not None:
            config["early_stopping"] = getattr(early_stopping, "strategy", early_stopping)
        devices = [self.device if i == 0 else chosen(device) for i, device in enumerate(devices)]
        settings = _c.BurnLearnerConfig(epochs=epochs, devices=devices, device_count=len(devices), metrics=_metrics(self.metrics), quiet=quiet, context=id(listener),
                                        on_epoch=_c.callbacks["BurnLearnerConfig.on_epoch"], **_rate(lr), **config)
        result = _c.BurnLearnerResult()
        _c.burn_learner_fit(settings, task.task, self.device, module, self.optimizer._optimizer, _loader(train, "train"),
                            None if valid is None else _loader(valid, "valid"), result)
        return Result(result, listener.epochs)

    def evaluate(self, data):
        """The metrics of the model over a loader."""
        model, result = self.model.valid(), _c.BurnEpochResult()
        task = _Task(model, self.step_function)
        _c.burn_learner_evaluate(task.task, self.device.inner, model._module(), _loader(data, "data"), _metrics(self.metrics), result)
        return Epoch(result)["valid"]


def average(average, model, decay):
    """average = decay * average + (1 - decay) * model, of all weights: a moving average (EMA). It begins as model.valid()."""
    _c.burn_module_average(average._module(), model._module(), decay)


__all__ = ["Batch", "Dataset", "Epoch", "Learner", "Loader", "NoImprovement", "Result", "average"]
