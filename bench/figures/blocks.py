"""Reading an image through robustrun-blocks when its store has all blocks.

A blob of 1 GiB of random bytes, in a store on the same disk as the file itself. Each reading has a
server of its own, which has checked no block yet, and reads the whole image in order, by read(2) of
1 MiB; the peer reads the file itself in the same way. Three cases, by the content of the page cache
before: nothing; the bytes of the store (and of the file), but no page of the image; the pages of
the image (and of the file), as for every reader but the first. Takes root.
"""

import contextlib
import os
import subprocess
import sys
import time

from harness import (
    BIN,
    Figure,
    Quick,
    Scratch,
    clean_environment,
    empty_memory,
    in_turns,
    median_ratio,
    wait_for,
)

SIZE = 1 << 30
PIECE = 1 << 20
QUICK_SIZE = SIZE // 4
ROUNDS = 7
QUICK = Quick(20, "1 round of 256 MiB instead of 7 of 1 GiB")


def make_blob(path, size):
    with open(path, "wb") as file:
        for _ in range(size // PIECE):
            file.write(os.urandom(PIECE))


class Readings:
    def __init__(self, folder, size):
        self.folder, self.size = folder, size
        self.file = folder / "file"
        self.cache = folder / "cache"
        self.mount = folder / "mount"
        self.cpu_s = {}  # of servers, by case
        make_blob(self.file, size)
        with self.served() as image:
            self.read_all(image)
        self.data = next(self.cache.glob("blocks/*/data"))

    @contextlib.contextmanager
    def served(self, case=None):
        """The mounted image. CPU time of its server counts for `case`."""
        server = subprocess.Popen(
            [BIN / "robustrun-blocks", "serve", "--source", self.file, "--cache", self.cache,
             "--mount", self.mount, "--socket", self.folder / "socket", "--origin-rate", "0"],
            stdout=subprocess.PIPE, env=clean_environment(), text=True)
        try:
            if not server.stdout.readline():
                sys.exit("robustrun-blocks does not start")
            yield self.mount / "image"
        finally:
            server.terminate()
            used = os.wait4(server.pid, 0)[2]
            server.returncode = 0
            server.stdout.close()
        wait_for(lambda: not os.path.ismount(self.mount), f"the unmount of {self.mount}")
        if case:
            self.cpu_s.setdefault(case, []).append(used.ru_utime + used.ru_stime)

    def read_all(self, path):
        """MiB per second."""
        buffer = bytearray(PIECE)
        begun = time.monotonic()
        with open(path, "rb", 0) as file:
            got = 0
            while count := file.readinto(buffer):
                got += count
        if got != self.size:
            sys.exit(f"{path} gave {got} bytes")
        return got / (1 << 20) / (time.monotonic() - begun)

    def file_cold(self):
        empty_memory()
        return self.read_all(self.file)

    def image_cold(self):
        empty_memory()
        with self.served("nothing") as image:
            return self.read_all(image)

    def file_warm(self):
        empty_memory()
        self.read_all(self.file)
        return self.read_all(self.file)

    def image_of_warm_store(self):
        empty_memory()
        self.read_all(self.data)
        with self.served("store") as image:
            return self.read_all(image)

    def image_warm(self):
        empty_memory()
        with self.served() as image:
            self.read_all(image)
            return self.read_all(image)


def measure(quick):
    if os.geteuid() != 0:
        sys.exit("this measurement mounts and empties the page cache: it takes root")
    with Scratch() as folder:
        size = QUICK_SIZE if quick else SIZE
        readings = Readings(folder, size)
        rounds = QUICK.rounds if quick else ROUNDS
        cold, cold_file = in_turns(rounds, readings.image_cold, readings.file_cold)
        yield Figure("image / file, nothing in memory", "MiB/s", cold, cold_file, "at least 0.7",
                     median_ratio(cold, cold_file) >= 0.7)
        stored, warm, warm_file = in_turns(rounds, readings.image_of_warm_store,
                                           readings.image_warm, readings.file_warm)
    for case, name in (("nothing", "nothing in memory"), ("store", "the store in memory")):
        seconds = ", ".join(f"{value * 2**30 / size:.2f}" for value in readings.cpu_s[case])
        print(f"  CPU of the server, {name}: {seconds} s per GiB")
    yield Figure("image / file, the store's bytes in memory", "MiB/s", stored, warm_file, "-", True)
    yield Figure("image / file, the image's pages in memory", "MiB/s", warm, warm_file, "-", True)
