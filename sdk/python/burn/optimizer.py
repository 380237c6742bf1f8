"""What optimizers and schedules of C have in common, and schedules that are made of others."""
import array

from . import _c
from .device import chosen
from .module import _record_config


class Optimizer:
    """Updates the parameters of a module by their gradients. The learning rate is given with each step."""

    def __init__(self, create, config):
        self._optimizer = create(config)
        _c.burn_optimizer_status(self._optimizer)

    def step(self, module, gradients, lr):
        """Updates by what loss.backward() has given; gradients are moved out of it."""
        target = module._module()
        _c.burn_optimizer_step(self._optimizer, target, _c.burn_gradients_params(gradients, target), lr)

    def train_step(self, module, loss, lr):
        """Backward from the loss, and the update."""
        _c.burn_train_step(self._optimizer, module._module(), loss, lr)

    def clip(self, *, value=None, norm=None, global_norm=None):
        """Clips gradients before each step: elements, each gradient by itself, or all by one factor."""
        kinds = {_c.BURN_GRADIENT_CLIPPING_VALUE: value, _c.BURN_GRADIENT_CLIPPING_NORM: norm, _c.BURN_GRADIENT_CLIPPING_GLOBAL_NORM: global_norm}
        ((kind, limit),) = ((kind, limit) for kind, limit in kinds.items() if limit is not None)
        _c.burn_optimizer_with_clipping(self._optimizer, (kind, limit))
        return self

    def state(self):
        return _c.burn_optimizer_value(self._optimizer)

    def load_state(self, value, device):
        _c.burn_optimizer_load(self._optimizer, value, device)

    def save(self, path, format="mpk", precision="full"):
        """Writes the state as a record, so that training can go on from there; formats are those of modules, but for bpk."""
        _c.burn_value_write(self.state(), str(path), _record_config(format, precision))

    def load(self, path, device=None, format="mpk", precision="full"):
        """Replaces the state by that of a record; `device` is that of the parameters. Returns the optimizer."""
        self.load_state(_c.burn_value_read(str(path), _record_config(format, precision)), chosen(device))
        return self


class Lbfgs:
    """L-BFGS: step(module, closure, lr) calls closure() for the loss several times."""

    def __init__(self, **values):
        from .config import configured
        self._lbfgs = _c.burn_lbfgs_create(configured(_c.BurnLbfgsConfig_defaults(), **values))
        _c.burn_lbfgs_status(self._lbfgs)

    def step(self, module, closure, lr=1.0):
        """Returns the loss of the parameters that the step ends with."""
        return _c.burn_lbfgs_step(self._lbfgs, module._module(), _c.callbacks["BurnLossClosure"], id(closure), lr)


class Schedule:
    """A learning rate as a function of the iteration: schedule(i)."""

    def __init__(self, make, config):
        self._config = config  # C keeps a pointer to it
        self._schedule = make(config)
        _c.burn_schedule_check(self._schedule)

    def __call__(self, iteration):
        return _c.burn_schedule_rate(self._schedule, iteration)


class WarmUp(Schedule):
    """A line from initial_lr to the first rate of a schedule, over num_iters iterations, and then that schedule:
    WarmUp(100, CosineAnnealing(1e-3, 900))."""

    def __init__(self, num_iters, then, initial_lr=0.0):
        self._parts = then
        super().__init__(_c.burn_schedule_warm_up, _c.BurnWarmUpRate(config=(num_iters, initial_lr), schedule=then._schedule))


class Sequential(Schedule):
    """One schedule after the other: schedule k + 1 begins at iteration milestones[k], with its own iteration 0."""

    def __init__(self, schedules, milestones):
        schedules, milestones = list(schedules), array.array("Q", milestones)
        if len(milestones) + 1 != len(schedules):
            raise ValueError(f"Sequential: {len(milestones)} milestones for {len(schedules)} schedules")
        self._parts = schedules, milestones.tobytes()
        super().__init__(_c.burn_schedule_sequential, _c.BurnSequentialRate(schedules=[part._schedule for part in schedules], count=len(schedules),
                                                                            milestones=self._parts[1]))
