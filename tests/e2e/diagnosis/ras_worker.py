"""A worker that becomes tests/helpers/nccl_player: NCCL as its plugin sees it, in the worker's own
process. Rank 0 leaves a process behind that answers like NCCL's RAS.

    ras_worker.py FOLDER nccl|plain
"""

import json
import os
import pathlib
import socketserver
import sys
import time


def report(folder, world):
    """A report in which all ranks are well but the last, which does not answer."""
    said = {"ranks": [], "missing_ranks": []}
    for rank in range(world):
        one = {
            "rank": rank,
            "host": "127.0.0.1",
            "cuda_dev": rank,
            "pid": int((folder / f"pid{rank}").read_text()),
        }
        if rank == world - 1:
            one["status"] = {"unresponsive": True, "considered_dead": False}
        said["missing_ranks" if rank == world - 1 else "ranks"].append(one)
    comm = {"hash": "0xf00d", "secondary_hash": "0x1:0x2", "size": world, **said}
    return json.dumps({"nccl_version": "2.29.2", "communicators": [comm]})


def serve(folder, address, world):
    class Client(socketserver.StreamRequestHandler):
        def handle(self):
            with (folder / "asked").open("a") as file:
                file.write("connected\n")
            for line in self.rfile:
                words = line.decode().strip()
                if words == "VERBOSE STATUS":
                    return self.wfile.write(report(folder, world).encode())
                hello = words.startswith("CLIENT PROTOCOL")
                self.wfile.write(b"SERVER PROTOCOL 2\n" if hello else b"OK\n")

    host, port = address.rsplit(":", 1)
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    with socketserver.ThreadingTCPServer((host, int(port)), Client) as server:
        (folder / "serving").touch()
        server.serve_forever()


def write(path, text):
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


def main():
    folder, mode = pathlib.Path(sys.argv[1]), sys.argv[2]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if rank == 0 and os.fork() == 0:
        serve(folder, os.environ["NCCL_RAS_ADDR"], world)
    write(folder / f"address{rank}", os.environ["NCCL_RAS_ADDR"])
    write(folder / f"pid{rank}", str(os.getpid()))
    while not (folder / "serving").exists():
        time.sleep(0.01)
    if mode == "plain":
        time.sleep(3600)
    player = os.environ["NCCL_PLAYER"]
    os.execv(player, [player, os.environ["NCCL_PROFILER_PLUGIN"], "hang", "5"])


main()
