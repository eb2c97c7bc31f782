# How robustrun starts a worker:  python -u /…/robustrun/boot.py MODE PROGRAM ARGUMENTS…
#
# Runs PROGRAM in this very __main__ as `python -u PROGRAM` (MODE script, path) or
# `python -u -m PROGRAM` (MODE module) would, after hanging up what makes it observable. Nothing
# here may keep the user's program from running: without our package plain Python takes over.
# Short because the main script alone is compiled anew at every start; the rest is in _boot/run.py.
import sys

# Our own modules are kept compiled whatever the user wants of theirs: it is their start-up time.
write_no_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, False
try:
    sys.path.insert(0, __file__[: -len("/robustrun/boot.py")])
    from robustrun._boot import run
except Exception:
    import os

    switches = ["-u", "-m"] if sys.argv[1] == "module" else ["-u"]
    os.execv(sys.executable, [sys.executable] + switches + sys.argv[2:])

run.run(write_no_bytecode)
