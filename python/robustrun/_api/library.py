"""librobustrun.so: where it is, and that it belongs to this package."""

import ctypes
import os

ABI_VERSION = 4
LIBRARY_NAME = "librobustrun.so"
_library = None


def paths():
    """Paths at which the library may be: the one in ROBUSTRUN_LIBRARY; else beside the installed
    package (share/robustrun/python/robustrun), in share/ of the prefix of this package's
    site-packages (lib/python3.X/site-packages, or the folder of pip's --target), or in the build
    tree of a checkout.
    """
    named = os.environ.get("ROBUSTRUN_LIBRARY")
    if named:
        return [named]
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    beside = os.path.join(os.path.dirname(os.path.dirname(package)), LIBRARY_NAME)
    root = os.path.dirname(os.path.dirname(os.path.realpath(package)))
    build = os.environ.get("ROBUSTRUN_BUILD_DIR") or os.path.join(root, "build")
    site = os.path.dirname(package)
    prefixes = [os.path.dirname(os.path.dirname(os.path.dirname(site))), site]
    return [beside] + [os.path.join(prefix, "share", "robustrun", LIBRARY_NAME)
                       for prefix in prefixes + [build]]


def opened():
    """The library, loaded once per process. ctypes releases the GIL during calls."""
    global _library
    if _library is not None:
        return _library
    looked_at = paths()
    found = [path for path in looked_at if os.path.exists(path)]
    if not found:
        raise ImportError("cannot find %s: looked for it at %s"
                          % (LIBRARY_NAME, ", ".join(looked_at)))
    library = ctypes.CDLL(found[0])
    library.rr_abi_version.restype = ctypes.c_uint32
    if library.rr_abi_version() != ABI_VERSION:
        raise ImportError("cannot use %s: its version differs from that of the Python package"
                          % found[0])
    _library = library
    return library
