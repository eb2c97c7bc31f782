"""robustrun-blocks under test, a client of its socket, and web servers: nginx, and one with answers
chosen by the test."""

import contextlib
import http.server
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import threading

from helpers.processes import HeldPort, end, wait_for
from helpers.runner import BUILD

PROGRAM = BUILD / "bin" / "robustrun-blocks"
BLOCK = 128 << 10  # docs/formats/block-store.md
STATUS, SETTLED, GET, QUIT, PEERS = 1, 2, 3, 4, 5
OK, NONE, ERROR, WANT, EVENT = 101, 102, 103, 110, 120
HEAD = struct.Struct("<IIQQI")
MAGIC = 0x4B425252


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        self.next_id = 1
        self.events = []

    def send(self, kind, block=0, payload=b"", id=None):
        if id is None:
            id, self.next_id = self.next_id, self.next_id + 1
        self.socket.sendall(HEAD.pack(MAGIC, kind, id, block, len(payload)) + payload)
        return id

    def exactly(self, length):
        data = b""
        while len(data) < length:
            more = self.socket.recv(length - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def receive(self):
        magic, kind, id, block, length = HEAD.unpack(self.exactly(HEAD.size))
        assert magic == MAGIC
        return kind, id, block, self.exactly(length)

    def ask(self, kind, block=0, payload=b""):
        wanted = self.send(kind, block, payload)
        while True:
            kind, id, _, data = self.receive()
            if kind == EVENT:
                self.events.append(data.decode())
            elif kind != WANT and id == wanted:  # requests of the server have ids of their own
                return kind, data

    def status(self):
        kind, data = self.ask(STATUS)
        assert kind == OK
        values = dict(line.split("=", 1) for line in data.decode().splitlines())
        return {name: int(value) if value.isdigit() else value for name, value in values.items()}

    def close(self):
        self.socket.close()


class Server:
    """`robustrun-blocks serve`; ends by quit() or at the end of its `with`."""

    def __init__(self, folder, source, *options, name="mnt", cache=None):
        self.mount = folder / name
        self.socket = folder / f"{name}.sock"
        self.cache = cache or folder / "cache"
        self.image = self.mount / "image"
        self.command = [PROGRAM, "serve", "--source", str(source), "--cache", self.cache,
                        "--mount", self.mount, "--socket", self.socket, *map(str, options)]
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment)
        ready = self.process.stdout.readline()
        self.words = None if ready else self.process.communicate()[1]
        self.key = ready.split()[1] if ready else None
        self.client = Client(self.socket) if ready else None

    def status(self):
        return self.client.status()

    def wait_status(self, name, value=1):
        wait_for(lambda: self.status()[name] == value, 60, f"{name}={value}")

    def read(self, offset, length):
        with open(self.image, "rb", 0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            return os.pread(file.fileno(), length, offset)

    def quit(self):
        with contextlib.suppress(EOFError, ConnectionError):
            self.client.ask(QUIT)
        self.process.wait(30)
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.wait(30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)
        subprocess.run(["umount", "-l", self.mount], stderr=subprocess.DEVNULL, check=False)
        self.process.stdout.close()
        self.process.stderr.close()
        if self.client:
            self.client.close()


class Nginx:
    """`certificate`: for https, with its key in the same file."""

    def __init__(self, folder, root, certificate=None):
        assert shutil.which("nginx"), "no nginx: scripts/install-deps.sh test installs it"
        self.folder = folder / "nginx"
        self.folder.mkdir()
        self.held = HeldPort()
        self.port = self.held.number
        self.scheme = "https" if certificate else "http"
        tls = (f"ssl; ssl_certificate {certificate}; ssl_certificate_key {certificate}"
               if certificate else "")
        paths = "\n".join(f"{name}_temp_path {self.folder}/{name};" for name in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.config = self.folder / "nginx.conf"
        self.config.write_text(f"""
            daemon off; worker_processes 1; pid {self.folder}/pid;
            error_log {self.folder}/error.log;
            user {pathlib.Path(root).owner()};
            events {{ worker_connections 256; }}
            http {{ access_log {self.folder}/access.log; {paths}
              server {{ listen 127.0.0.1:{self.port} {tls}; root {root}; }} }}""")
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["nginx", "-e", self.folder / "error.log", "-c", self.config])
        wait_for(self.answers, what="nginx")

    def answers(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def close(self):
        self.stop()
        self.held.close()

    def url(self, name):
        return f"{self.scheme}://127.0.0.1:{self.port}/{name}"


class OddServer:
    """Serves ranges of some bytes, and counts `requests`. `behave(request, first, last)` may answer
    itself, and then returns True."""

    def __init__(self, data, behave=lambda request, first, last: False):
        self.data = data
        self.etag = '"v1"'
        self.behave = behave
        self.requests = 0
        self.stop_event = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
                first = int(found[1])
                last = min(int(found[2]), len(outer.data) - 1)
                outer.requests += 1
                with contextlib.suppress(ConnectionError):  # the client may be gone by now
                    if not outer.behave(self, first, last):
                        outer.serve(self, first, last)

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/image"

    def serve(self, request, first, last, announced=None, status=206):
        body = self.data[first:last + 1]
        request.send_response(status)
        request.send_header("ETag", self.etag)
        start, end = announced or (first, last)
        request.send_header("Content-Range", f"bytes {start}-{end}/{len(self.data)}")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop_event.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
