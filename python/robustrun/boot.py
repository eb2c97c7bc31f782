# How robustrun starts a worker:  python -u /…/robustrun/boot.py MODE PROGRAM ARGUMENTS…
#
# Runs PROGRAM in this very __main__ as `python -u PROGRAM` (MODE script, path) or
# `python -u -m PROGRAM` (MODE module) would, after installing what makes it observable. Nothing
# here may keep the user's program from running: if the package cannot be imported, plain Python
# runs it.
# Keep this file short: Python compiles the main script at every start. The rest is in _boot/run.py.
import sys

# Cache the byte code of our own modules even if the user disabled that: it saves start-up time.
write_no_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, False
try:
    sys.path.insert(0, __file__[: -len("/robustrun/boot.py")])
    from robustrun._boot import run
except Exception:
    import os

    switches = ["-u", "-m"] if sys.argv[1] == "module" else ["-u"]
    os.execv(sys.executable, [sys.executable] + switches + sys.argv[2:])

run.run(write_no_bytecode)
