"""TensorBoard: the first attempt's folder instead of one with another date and host.

In a folder that an earlier attempt wrote to, the first scalar with a step hides that attempt's
values from this step on, as purge_step does, which a script would have to know beforehand.
"""

import os
import re
import socket

from . import hooks


def install(module, book):
    kind = module.SummaryWriter

    def before(bound):
        labels = _labels(bound.arguments)
        folder = book.claim("tensorboard", labels)
        if folder is None or labels[0] == "own":
            return None
        bound.arguments["log_dir"] = folder
        return bound

    def after(result, bound):
        writer = bound.arguments["self"]
        if "://" in str(writer.log_dir):
            return  # not on a file system
        folder = os.path.abspath(str(writer.log_dir))
        if book.continues("tensorboard", folder):
            hooks.say("tensorboard folder %s is continued" % folder)
            if bound.arguments.get("purge_step") is None:
                _purge_at_first_scalar(module, writer)
        book.note("tensorboard", _labels(bound.arguments), None, folder)

    kind.__init__ = hooks.wrap("tensorboard", kind.__init__, before, after)


def _labels(given):
    """A folder named by the script stays as it is; so the kind of folder comes first."""
    folder = str(given.get("log_dir") or "")
    if not folder:
        return ["default", given.get("comment") or ""]
    # As SummaryWriter makes names, and trainers that pass one on: Aug01_10-15-00_host.
    head, tail = os.path.split(os.path.normpath(folder))
    made = re.match(r"[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_" + re.escape(socket.gethostname()), tail)
    return ["default", head, tail[made.end():]] if made else ["own", os.path.abspath(folder)]


def _purge_at_first_scalar(module, writer):
    def add_scalar(tag, scalar_value, global_step=None, *args, **kwargs):
        if global_step:
            writer.__dict__.pop("add_scalar", None)
            hooks.guarded("tensorboard", lambda: _purge(module, writer, int(global_step)))
        return type(writer).add_scalar(writer, tag, scalar_value, global_step, *args, **kwargs)

    writer.add_scalar = add_scalar


def _purge(module, writer, step):
    file_writer = writer._get_file_writer()
    file_writer.add_event(module.Event(step=step, file_version="brain.Event:2"))
    start = module.SessionLog(status=module.SessionLog.START)
    file_writer.add_event(module.Event(step=step, session_log=start))
