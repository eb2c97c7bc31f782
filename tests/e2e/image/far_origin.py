"""A remote web server: nginx in a network namespace of its own, behind a link with a given rate and
delay, on the bridge of a lab (helpers/machines.py). Takes root.
"""

import pathlib
import re
import subprocess
import sys

from helpers.machines import namespace, run
from helpers.processes import wait_for

BURST, LATENCY = "512kb", "50ms"  # a hundredth of a second at 400 Mbit/s
ADDRESS, PORT, INSIDE = "10.77.0.240", 8080, 8081
NGINX = """
user root; daemon off; worker_processes 1; error_log {folder}/error.log; pid {folder}/pid;
events {{ worker_connections 1024; }}
http {{
  log_format ranges '$status $body_bytes_sent $http_range';
  access_log {folder}/access.log ranges; sendfile on; keepalive_requests 1000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; root {files}; }}
}}
"""


class Origin:
    """Serves the folder `files`."""

    def __init__(self, lab, folder, files, rate="400mbit", round_trip_s=0.005):
        folder.mkdir()
        self.lab, self.log = lab, folder / "access.log"
        self.url = f"http://{ADDRESS}:{PORT}"
        self.space = subprocess.Popen(["unshare", "--net", "sleep", "infinity"],
                                      stdin=subprocess.DEVNULL)
        own = namespace("self", "net")
        wait_for(lambda: namespace(self.space.pid, "net") not in (None, own),
                 what="the origin's namespace")
        lab.within_hub("ip", "link", "add", "origin", "type", "veth",
                       "peer", "name", "eth0", "netns", self.space.pid)
        lab.within_hub("ip", "link", "set", "origin", "master", "bridge0", "up")
        self.within("ip", "link", "set", "lo", "up")
        self.within("ip", "addr", "add", f"{ADDRESS}/24", "dev", "eth0")
        self.within("ip", "link", "set", "eth0", "up")
        self.within("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate,
                    "burst", BURST, "latency", LATENCY)
        config = folder / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, port=INSIDE, files=files))
        proxy = pathlib.Path(__file__).with_name("delay_proxy.py")
        self.processes = [self.start(folder, "/usr/sbin/nginx", "-c", config),
                          self.start(folder, sys.executable, proxy, f"{ADDRESS}:{PORT}",
                                     f"127.0.0.1:{INSIDE}", round_trip_s / 2)]
        wait_for(lambda: all(self.listens(port) for port in (PORT, INSIDE)), 60, "the origin")

    def start(self, folder, *words):
        with open(folder / "processes.log", "ab") as log:
            return subprocess.Popen(["nsenter", "-t", str(self.space.pid), "-n", *map(str, words)],
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def within(self, *words):
        run("nsenter", "-t", self.space.pid, "-n", *words)

    def listens(self, port):
        lines = pathlib.Path(f"/proc/{self.space.pid}/net/tcp").read_text().splitlines()
        return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
                   for line in lines[1:])

    def sent(self):
        """Bytes that the server has sent, with the headers of all packets."""
        for line in pathlib.Path(f"/proc/{self.space.pid}/net/dev").read_text().splitlines():
            name, _, counts = line.partition(":")
            if name.strip() == "eth0":
                return int(counts.split()[8])
        raise AssertionError("the origin has no network")

    def answers(self):
        """For every requested range so far: its beginning, and the bytes that nginx sent."""
        found = re.findall(r"^206 (\d+) bytes=(\d+)-\d+$", self.log.read_text(), re.MULTILINE)
        return [(int(first), int(sent)) for sent, first in found]

    def cut(self):
        """Pulls the cable: nothing gets in or out, and neither end is notified."""
        self.lab.within_hub("ip", "link", "set", "origin", "down")

    def mend(self):
        self.lab.within_hub("ip", "link", "set", "origin", "up")

    def close(self):
        for process in [*self.processes, self.space]:
            process.terminate()
            process.wait(timeout=30)
