"""robustrun.prepare(): results that a standby worker has made before it becomes a worker."""

import os
import sys

_SITE = ("site-packages", "dist-packages")

_calls = {}  # what this process has asked for: key of a call -> its line
_results = {}  # key of a call -> (surroundings, its result), made beforehand


def prepare(function, arguments=None, *, seed=0):
    """Calls a function of a module and returns its result. After a failure the standby worker that
    takes a rank's place has the result already.

        model = robustrun.prepare("model:build", {"layers": 12})

    for `from model import build; model = build(layers=12)`.

    function   "MODULE:FUNCTION"; any module but __main__
    arguments  keyword arguments: None, bool, int, float, str, lists, dicts with str keys
    seed       0 to 2**32 - 1: the function draws its random numbers (Python's, NumPy's global
               ones, torch's on the CPU) from generators with this seed; the script's own
               generators stay where they are

    The result must depend only on the code, the arguments and the seed: not on the rank, a process
    group, a GPU, or files that change. torch runs it on one thread. It is used once; a second
    equal call makes another one. Call it before the first step. Raises what the module and the
    function raise; ValueError, TypeError for bad arguments. Outside robustrun it just calls the
    function.
    """
    import json

    arguments = arguments or {}
    key = _key(function, arguments, seed)
    if key not in _calls:
        _calls[key] = json.dumps([function, arguments, seed, _surroundings()])
    if key in _results:
        surroundings, result = _results.pop(key)
        if not _differing(surroundings):
            return result
    return _call(function, arguments, seed)


def calls():
    """This process's calls as lines of text, for make(). May run in a signal handler."""
    return list(_calls.values())


def make(lines):
    """In a standby worker: makes the results of these calls. What fails is left to the worker."""
    import json

    for line in lines:
        function, arguments, seed, surroundings = json.loads(line)
        try:
            differing = _differing(surroundings)
            if differing:
                raise RuntimeError("the script has changed %s before" % " and ".join(differing))
            result = _call(function, arguments, seed)
            _results[_key(function, arguments, seed)] = _surroundings(), result
        except BaseException as error:
            sys.stderr.write("robustrun: prepare: cannot make %s beforehand: %s: %s\n"
                             % (function, type(error).__name__, error))


def _key(function, arguments, seed):
    """Equal for equal calls. Refuses what make() could not repeat."""
    import json

    if (not isinstance(function, str) or not all(function.partition(":"))
            or function.startswith("__main__:")):
        raise ValueError('prepare: %r is not of the form "MODULE:FUNCTION", or of the main script'
                         % (function,))
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 32:
        raise ValueError("prepare: the seed must be an integer from 0 to 2**32 - 1, not %r"
                         % (seed,))
    call = [function, arguments, seed]
    key = json.dumps(call, sort_keys=True)
    if json.loads(key) != call:
        raise TypeError("prepare: arguments must be plain values (None, bool, int, float, str, "
                        "lists, dicts with str keys), not %r" % (arguments,))
    return key


def _surroundings():
    """What a result depends on without being passed: a script may change these before it calls."""
    # Python ignores entries that are not text.
    found = {"sys.path": [each for each in sys.path
                          if isinstance(each, str) and os.path.basename(each) not in _SITE]}
    torch = sys.modules.get("torch")
    if hasattr(torch, "get_default_dtype"):
        found["torch's default dtype"] = str(torch.get_default_dtype())
        found["torch's default device"] = str(torch.empty(0).device)
    return found


def _differing(surroundings):
    """The names of those that are known there and here and differ."""
    return [name for name, here in _surroundings().items()
            if surroundings.get(name, here) != here]


def _call(function, arguments, seed):
    kept = {}

    def keep():
        for name, (get_state, set_state, _) in _generators().items():
            kept.setdefault(name, (set_state, get_state()))

    keep()
    torch, threads = None, 0
    try:
        found = _find(function)
        keep()  # those that the module has imported
        for _, set_state, state_of in _generators().values():
            if state_of is not None:
                set_state(state_of(seed))
        # Several threads would keep a standby worker from being forked, and round otherwise.
        torch = sys.modules.get("torch")
        threads = torch.get_num_threads() if hasattr(torch, "get_num_threads") else 0
        if threads > 1:
            torch.set_num_threads(1)
        return found(**arguments)
    finally:
        if threads > 1 and torch.get_num_threads() == 1:
            torch.set_num_threads(threads)
        for set_state, state in kept.values():
            set_state(state)


def _find(function):
    import importlib

    module, _, path = function.partition(":")
    found = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _generators():
    """The global generators of loaded libraries: name -> (get state, set state, the state of a
    seed; None: it is only kept)."""
    import random

    found = {"random": (random.getstate, random.setstate,
                        lambda seed: random.Random(seed).getstate())}
    numpy = sys.modules.get("numpy.random")
    if hasattr(numpy, "RandomState"):
        found["numpy"] = (numpy.get_state, numpy.set_state,
                          lambda seed: numpy.RandomState(seed).get_state())
    torch = sys.modules.get("torch")
    if hasattr(torch, "default_generator"):
        own = torch.default_generator
        found["torch"] = (own.get_state, own.set_state,
                          lambda seed: torch.Generator().manual_seed(seed).get_state())
    cuda = sys.modules.get("torch.cuda")
    if hasattr(cuda, "is_initialized") and cuda.is_initialized():
        found["cuda"] = (cuda.get_rng_state_all, cuda.set_rng_state_all, None)
    seeds = getattr(cuda, "_lazy_seed_tracker", None)  # torch.manual_seed() until CUDA is used
    if seeds is not None:
        found["cuda's seeds"] = (lambda: dict(vars(seeds)), lambda state: vars(seeds).update(state),
                                 None)
    return found
