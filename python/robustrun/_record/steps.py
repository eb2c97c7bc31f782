"""Counts optimizer steps without a change to the script.

A step is a call of the optimizer instance that stepped first (wrappers step an inner one, GANs
have several); one that calls super().step() is counted once. The hook is torch's own global
post-step hook, registered the moment the script itself imports torch.

At the first step the optimizer's state tells whether it goes on from a checkpoint: Adam and its
relatives count their steps in it, others have none when they begin anew. So a restart that starts
over is seen of scripts that say nothing of their steps, too.
"""

import sys

from . import imports, progress

_NESTING_FRAMES = 6  # how far up an enclosing step() of the same optimizer is looked for


def install():
    imports.after_import("torch.optim.optimizer", _register)


def _register(module):  # torch older than 2.0 has no such hook
    torch = sys.modules["torch"]
    module.register_optimizer_step_post_hook(_make_hook(torch, module))
    module.register_optimizer_step_pre_hook(_make_first_look(torch, module))


def _make_first_look(torch, module):
    """Reads the state of the optimizer that steps first, before it does. It cannot be taken away
    again from within: torch is iterating over its hooks."""
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
        except Exception:  # an optimizer of somebody's own may be anything
            is_over = True

    return before_step


def _learns_nothing(optimizer):
    """torch.distributed.checkpoint steps once with a rate of 0, to have a state to load into."""
    rates = [group.get("lr") for group in optimizer.param_groups]
    return bool(rates) and all(isinstance(rate, (int, float)) or _is_here(rate) for rate in rates) \
        and not any(float(rate) for rate in rates)


def _look_at_state(optimizer, record):
    done = _steps_in_state(optimizer)
    if done is not None:
        record.words[progress.STEPS_BEFORE] = max(0, done - record.words[progress.STEPS]) + 1
    # Whoever has loaded a file may go on from it without its optimizer's state.
    elif not optimizer.state and not record.words[progress.LOAD_BEGIN_AT_NS]:
        record.begins_anew = True  # if it has a state once it has stepped


def _is_here(number):
    """A tensor that can be read without waiting for a GPU."""
    return hasattr(number, "device") and number.device.type == "cpu"


def _steps_in_state(optimizer):
    """How many steps its state has seen; None: that is not known, or would wait for a GPU."""
    for holder in (*list(optimizer.state.values())[:1], *optimizer.param_groups[:1]):
        step = holder.get("step")
        if isinstance(step, (int, float)) or _is_here(step):
            return max(0, int(step))
    return None


def _has_state(optimizer):
    """Plain SGD never has: what it does after a resume looks as at the beginning."""
    try:
        return any(optimizer.state.values())
    except Exception:
        return False


def _make_hook(torch, module):
    from weakref import ref

    # torch 2.2 and older know it only there; torch.compiler is imported later than torch.optim.
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
