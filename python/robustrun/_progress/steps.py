"""Counts optimizer steps without a change to the script.

A step is a call of step() on the optimizer instance that stepped first: wrappers step an inner
optimizer, and GANs have several. A step() that calls super().step() counts once. The hook is
torch's own global post-step hook, registered as soon as the script imports torch.

At the first step, the optimizer's state shows whether training continues from a checkpoint: Adam
and similar optimizers count steps in their state, and others have no state at the beginning. So
even for scripts that do not report steps, a restart that begins from scratch is noticed.
"""

import sys

from . import imports, progress

_NESTING_FRAMES = 6  # frames to search for an enclosing step() of the same optimizer


def install():
    imports.after_import("torch.optim.optimizer", _register)


def _register(module):  # torch older than 2.0 has no such hook
    torch = sys.modules["torch"]
    module.register_optimizer_step_post_hook(_make_hook(torch, module))
    module.register_optimizer_step_pre_hook(_make_first_look(torch, module))


def _make_first_look(torch, module):
    """A hook that reads the optimizer's state before its first step. It cannot remove itself,
    because torch is iterating over its hooks."""
    is_compiling = getattr(module, "is_compiling", None)
    is_over = False

    def before_step(optimizer, args, kwargs):
        nonlocal is_over
        if is_over or (is_compiling or torch.compiler.is_compiling)():
            return
        record = progress._current
        try:
            if _learns_nothing(optimizer):
                return
            is_over = True
            if record is not None:
                _look_at_state(optimizer, record)
        except Exception:  # a user's own optimizer may have any form
            is_over = True

    return before_step


def _learns_nothing(optimizer):
    """Whether all learning rates are 0: torch.distributed.checkpoint makes such a step to create
    the state that it loads into."""
    rates = [group.get("lr") for group in optimizer.param_groups]
    return bool(rates) and all(isinstance(rate, (int, float)) or _is_here(rate) for rate in rates) \
        and not any(float(rate) for rate in rates)


def _look_at_state(optimizer, record):
    done = _steps_in_state(optimizer)
    if done is not None:
        record.words[progress.STEPS_BEFORE] = max(0, done - record.words[progress.STEPS]) + 1
    # A program that has loaded a checkpoint may continue from it without optimizer state.
    elif not optimizer.state and not record.words[progress.LOAD_BEGIN_AT_NS]:
        record.begins_anew = True  # provided that it has a state after the step


def _is_here(number):
    """Whether the tensor can be read without waiting for a GPU."""
    return hasattr(number, "device") and number.device.type == "cpu"


def _steps_in_state(optimizer):
    """The number of steps in the optimizer's state; None: unknown, or on a GPU."""
    for holder in (*list(optimizer.state.values())[:1], *optimizer.param_groups[:1]):
        step = holder.get("step")
        if isinstance(step, (int, float)) or _is_here(step):
            return max(0, int(step))
    return None


def _has_state(optimizer):
    """Whether the optimizer has a state. Plain SGD never has, even after a resume."""
    try:
        return any(optimizer.state.values())
    except Exception:
        return False


def _make_hook(torch, module):
    from weakref import ref

    # torch 2.2 and older have it only in this module; torch.compiler is imported after torch.optim.
    is_compiling = getattr(module, "is_compiling", None)
    getframe = sys._getframe
    first = _no_optimizer

    def after_step(optimizer, args, kwargs):
        nonlocal first
        if (is_compiling or torch.compiler.is_compiling)():
            return  # traced, not run
        if first() is not optimizer:
            if first() is not None:
                return
            first = ref(optimizer)
        frame = getframe(1)
        step = frame.f_code
        for _ in range(_NESTING_FRAMES):
            frame = frame.f_back
            if frame is None:
                break
            if frame.f_code is step and frame.f_locals.get("self") is optimizer:
                return
        record = progress._current  # None in a forked child
        if record is not None and not record.by_script:
            if record.begins_anew:
                record.begins_anew = False
                if _has_state(optimizer):
                    record.words[progress.STEPS_BEFORE] = 1
            record.count_step()

    return after_step


def _no_optimizer():
    return None
