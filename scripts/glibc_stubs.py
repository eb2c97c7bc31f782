"""Fills a folder with what a program is linked against to run with an older glibc.

    .venv-package/bin/python scripts/glibc_stubs.py ARCH VERSION DIR

for example x86_64 2.28 build/glibc-2.28.

DIR gets Scrt1.o, and libc, libm, libpthread and libdl as libraries that have the
symbols of that version and no code. They come from zig (PyPI's ziglang), which makes them for any
glibc. Nothing is done when DIR has them. scripts/install-deps.sh makes .venv-package.
"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

from elftools.elf.elffile import ELFFile

LIBRARIES = {"libm.so": "libm.so.6", "libpthread.so": "libpthread.so.0", "libdl.so": "libdl.so.2"}
LIBC = ["libc.so.6", "libc_nonshared.a"]
ALIASES = [("environ", "__environ", "_environ"), ("timezone", "__timezone"),
           ("daylight", "__daylight"), ("tzname", "__tzname"),
           ("program_invocation_name", "__progname_full"),
           ("program_invocation_short_name", "__progname")]
LOADERS = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}


def made_by_zig(arch, version, folder):
    """Has zig link a program with that glibc; gives the folder of what it made for that."""
    source = folder / "main.c"
    source.write_text("int main(void) { return 0; }\n")
    cache = folder / "cache"
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(cache),
                   "ZIG_LOCAL_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", "-target", f"{arch}-linux-gnu.{version}", "-O1",
         "-fPIE", "-pie", "-o", folder / "program", source, "-lm", "-lpthread", "-ldl"],
        env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("glibc_stubs.py: zig cannot make glibc %s for %s: %s"
                 % (version, arch, done.stderr[-2000:]))
    return cache


def join_aliases(path):
    """Gives variables that have several names in glibc one address each. A program that has its own
    copy of such a variable must share it under all names, and a linker knows them by address."""
    with open(path, "r+b") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        found = {symbol.name: (number, symbol["st_value"])
                 for number, symbol in enumerate(table.iter_symbols())}
        for names in ALIASES:
            for name in names[1:]:
                if name in found and names[0] in found:
                    file.seek(table["sh_offset"] + found[name][0] * table["sh_entsize"] + 8)
                    file.write(struct.pack("<Q", found[names[0]][1]))


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in LOADERS:
        sys.exit("usage: glibc_stubs.py %s VERSION DIR" % "|".join(LOADERS))
    arch, version, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    stamp = out / "made-for"
    if stamp.exists() and stamp.read_text() == f"{arch} {version}":
        return
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        cache = made_by_zig(arch, version, pathlib.Path(folder))
        made = {name: name for name in ["Scrt1.o", *LIBC, *LIBRARIES.values()]}
        for name, of_zig in {**made, LOADERS[arch]: "libld.so.2"}.items():
            found = sorted(cache.rglob(of_zig))
            if not found:
                sys.exit(f"glibc_stubs.py: zig has not made {of_zig}: "
                         + " ".join(sorted(path.name for path in cache.rglob("*.*"))))
            shutil.copy(found[0], out / name)
    join_aliases(out / "libc.so.6")
    for link, name in LIBRARIES.items():
        (out / link).symlink_to(name)
    parts = " ".join(str(out / name) for name in LIBC)
    (out / "libc.so").write_text(f"GROUP ( {parts} AS_NEEDED ( {out / LOADERS[arch]} ) )\n")
    stamp.write_text(f"{arch} {version}")


main()
