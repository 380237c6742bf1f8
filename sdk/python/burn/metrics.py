"""Metrics as the learner wants them."""
from . import _c


class kept:
    """A metric of C with the config that it points at."""

    def __init__(self, make, config=None):
        self.config = config
        self.metric = make(config) if config is not None else make()


class Metric:
    """A metric of your own: subclass it with a name, and measure(output, items), which returns the mean of the step over its items as a
    number or a tensor of one element."""

    name, unit, scale = "Metric", "", 1.0

    def __init__(self):
        self.table = _c.BurnMetricInterface(name=self.name, unit=self.unit, scale=self.scale, measure=_c.callbacks["BurnMetricInterface.measure"])
        self.call = _Call(self)
        self.metric = _c.BurnMetric(table=self.table, config=id(self.call), name=self.name)

    def measure(self, output, items):
        raise NotImplementedError(f"{type(self).__name__} has no measure(output, items)")


class _Call:
    """What C calls: the arguments and results of C around those of Metric.measure."""

    def __init__(self, metric):
        self.metric = metric

    def measure(self, given):
        output = given.output
        named = {output.names[i]: output.tensors[i] for i in range(output.count)}
        value = self.metric.measure(named, given.items)
        if isinstance(value, _c.BurnTensor):
            return _c.BurnMeasured(numbers=value, weight=given.items, mean=True)
        return _c.BurnMeasured(number=value, weight=given.items, mean=True)
