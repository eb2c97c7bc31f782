"""Aim: Run(run_hash=…, force_resume=True). The lock of the killed process is its own attempt's, and
from another machine Aim could not see that it is stale."""

import sys

from . import hooks


def install(module, book):
    kind = module.Run

    def before(bound):
        given = bound.arguments
        if _is_set(given):
            return None
        identity = book.claim("aim", _labels(given))
        if identity is None:
            return None
        if not sys.modules["aim.sdk.repo_utils"].get_repo(given.get("repo")).run_exists(identity):
            hooks.say("aim run %s was deleted, another one is created" % identity)
            return None
        given.update(run_hash=identity, force_resume=True)
        return bound

    def after(result, bound):
        given = bound.arguments
        identity = getattr(given["self"], "hash", None)
        if not identity or _is_set(given):
            return
        if book.continues("aim", identity):
            hooks.say("aim run %s is continued" % identity)
        book.note("aim", _labels(given), None, identity)

    kind.__init__ = hooks.wrap("aim", kind.__init__, before, after)


def _is_set(given):
    return given.get("run_hash") is not None or given.get("read_only")


def _labels(given):
    return [given.get("repo") or "", given.get("experiment") or ""]
