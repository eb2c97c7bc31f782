"""Calls for training scripts; see the package."""

import os
from time import monotonic_ns

from .._progress import progress

# A tensor on an accelerator is read at most this often: reading one waits for the device.
DEVICE_READ_INTERVAL_NS = 1_000_000_000

_device_read_at = 0


def step(n, loss=None, **metrics):
    """Reports that step `n` is done, with its loss and other metrics.

    Call it once per step, always from the same thread. From then on robustrun counts these calls
    instead of optimizer steps. Metrics are numbers or 0-dim tensors; at most 16 are kept, and names
    are cut to 24 bytes. Costs a few microseconds. A tensor on an accelerator is read at most once a
    second, because reading it waits for the device; pass floats to have every value recorded.
    The metric steps_total, the number of steps that will be done, gives an ETA.
    Outside robustrun it does nothing.
    """
    record = progress.current()
    if record is not None:
        if loss is not None:
            metrics["loss"] = loss
        _put_step(record, n, metrics)


def _put_step(record, n, metrics):
    words = record.words
    now = monotonic_ns()
    values = [(name, _real(value, now)) for name, value in metrics.items()]
    number = int(n) & 0xFFFFFFFFFFFFFFFF  # may raise, and must not while the record is locked
    locked = words[progress.SEQUENCE] | 1
    words[progress.SEQUENCE] = locked
    if record.by_script or not words[progress.STEPS]:  # else an optimizer counted this step
        words[progress.STEPS] += 1
    record.by_script = True
    is_first = not words[progress.FIRST_STEP_AT_NS]
    if is_first:
        words[progress.FIRST_STEP_AT_NS] = now
    words[progress.LAST_STEP_AT_NS] = now
    words[progress.HAS_STEP] = 1
    words[progress.STEP] = number
    _put_metrics(record, values)
    words[progress.SEQUENCE] = locked + 1
    if is_first:
        progress.after_first_step()
    if progress.boundary is not None:
        progress.boundary(record)


def note_metrics(**metrics):
    """Records robustrun's own metrics. Only for the thread that calls step()."""
    record = progress.current()
    if record is not None:
        locked = record.words[progress.SEQUENCE] | 1
        record.words[progress.SEQUENCE] = locked
        _put_metrics(record, metrics.items())
        record.words[progress.SEQUENCE] = locked + 1


def _put_metrics(record, values):
    for name, value in values:
        if value is not None:
            where = record.metrics.get(name) or _new_metric(record, name)
            if where:
                record.reals[where] = value


def _new_metric(record, name):
    """The index of the value's word; None if all places are taken."""
    count = len(record.metrics)
    if count == progress.METRICS_MAX:
        return None
    text = name.encode("utf-8", "replace")[: progress.METRIC_NAME_BYTES]
    text = text.decode("utf-8", "ignore").encode().ljust(progress.METRIC_NAME_BYTES, b"\0")
    first = progress.METRICS + count * progress.METRIC_WORDS
    where = record.metrics[name] = first + progress.METRIC_NAME_BYTES // 8
    for word in range(first, where):
        record.words[word] = int.from_bytes(text[:8], "little")
        text = text[8:]
    record.words[progress.METRIC_COUNT] = count + 1
    return where


def _real(value, now):
    """`value` as a float; NaN if it is not a number; None to keep the old value unread."""
    global _device_read_at
    device = getattr(value, "device", None)
    if getattr(device, "type", "cpu") != "cpu" and _device_read_at != now:
        if now - _device_read_at < DEVICE_READ_INTERVAL_NS:
            return None
        _device_read_at = now  # all tensors of one call are read together
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return float("nan")


def attempt():
    """How often the workers of this run were restarted; 0 in the first attempt."""
    for name in ("ROBUSTRUN_ATTEMPT", "TORCHELASTIC_RESTART_COUNT"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0


class StopRequest:
    """Why the workers are about to be stopped, and how much time is left.

    reason        "restart": another rank may have failed: start no collective;
                  "preempt": a machine leaves, or the job is preempted; "stop": the run is ending
    seconds_left  seconds until the deadline at the time of the call, at least 0; None: no deadline
    """

    __slots__ = ("reason", "seconds_left")

    def __init__(self, reason, deadline_ns):
        self.reason = reason
        left = (deadline_ns - monotonic_ns()) / 1e9 if deadline_ns else None
        self.seconds_left = left and max(0.0, left)

    def __repr__(self):
        return "StopRequest(reason=%r, seconds_left=%r)" % (self.reason, self.seconds_left)


STOP_REASONS = {1: "restart", 2: "preempt", 3: "stop"}


def stop_requested():
    """Returns a StopRequest if the workers are about to be stopped, else None.

    On "preempt" and "stop" a last checkpoint is worthwhile. On "restart" another rank may have
    failed, so do not start collectives. Ranks may see the request at different steps; on_stop()
    agrees on one. Costs about a microsecond.
    """
    record = progress.current()
    if record is None:
        return None
    reason = STOP_REASONS.get(record.words[progress.STOP_REASON] & 0xFF)
    return reason and StopRequest(reason, record.words[progress.STOP_DEADLINE_NS])
