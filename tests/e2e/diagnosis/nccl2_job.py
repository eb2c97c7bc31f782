"""A training over torch's nccl2 whose process group is played: no torch, no GPU.

    nccl2_job.py STEPS [RANK STEP]

Each step is an all-reduce, in which every rank waits until all have called it. At STEP of the first
attempt RANK sleeps before its call. As in torch 2.15 (FlightRecorderHook.cpp, WorkNCCL.cpp) the
worker server answers with one dump for each back-end name, and at the timeout of the others'
operations the watchdog of a reconfigurable group neither ends the process nor prints anything: this
one leaves the file timed_out.RANK.

torch's server and watchdog are threads of C++. Here they are a process of their own, which reads
what the rank has written to the file recorder.ATTEMPT.RANK: threads of Python would run while
stacks of the rank are taken.
"""

import http.server
import json
import os
import socketserver
import sys
import time
import urllib.parse

import robustrun

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ATTEMPT = int(os.environ["ROBUSTRUN_ATTEMPT"])
STEPS = int(sys.argv[1])
VICTIM, AT = map(int, sys.argv[2:4]) if len(sys.argv) > 2 else (-1, -1)
RECORDER = f"recorder.{ATTEMPT}.{RANK}"
TIMEOUT_S = 2
KEPT = 64  # operations

entries = []


def write(name, text):
    with open(name + ".new", "w") as file:
        file.write(text)
    os.rename(name + ".new", name)


def dump(back_end):
    kept = recorded() if back_end == "nccl2" else []
    last = str(kept[-1]["collective_seq_id"]) if kept else ""
    group = {"name": "0", "desc": "default_pg", "ranks": str(list(range(WORLD)))}
    status = {"last_enqueued_collective": last, "last_started_collective": "-1",
              "last_completed_collective": last}
    return {"version": "2.10", "comm_lib_version": "2.32.3", "nccl_comm_state": {},
            "pg_config": {"0": group} if kept else {}, "pg_status": {"0": status} if kept else {},
            "entries": kept}


def recorded():
    try:
        with open(RECORDER) as file:
            return json.load(file)
    except FileNotFoundError:
        return []


class WorkerServer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = urllib.parse.urlsplit(self.path)
        assert asked.path == "/handler/fr_trace_json", asked.path
        name = urllib.parse.parse_qs(asked.query).get("backend", ["gloo"])[0]
        body = json.dumps(dump(name)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "worker"

    def log_message(self, *_):
        pass


class Server(socketserver.UnixStreamServer):
    timeout = 0.5

    def look_at_time(self):
        """The watchdog."""
        for entry in recorded():
            age_s = (time.time_ns() - entry["time_created_ns"]) / 1e9
            if not entry["retired"] and age_s > TIMEOUT_S:
                open(f"timed_out.{RANK}", "a").close()


def serve(rank_pid):
    path = os.environ["ROBUSTRUN_FLIGHT_SOCKET"]
    if os.path.exists(path):
        os.unlink(path)
    with Server(path, WorkerServer) as server:
        while os.getppid() == rank_pid:
            server.handle_request()
            server.look_at_time()


def called_by_all(number):
    def called(rank):
        try:
            with open(f"called.{ATTEMPT}.{rank}") as file:
                return int(file.read())
        except FileNotFoundError:
            return 0
    return all(called(rank) >= number for rank in range(WORLD))


def all_reduce(number):
    entry = {"record_id": number - 1, "pg_id": 0, "process_group": ["0", "default_pg"],
             "thread_name": "pt_main_thread", "thread_id": "140000000000000",
             "collective_seq_id": number, "p2p_seq_id": 0, "op_id": 7 * number,
             "profiling_name": "nccl2:all_reduce", "time_created_ns": time.time_ns(),
             "input_sizes": [[64]], "input_dtypes": ["BFloat16"],
             "output_sizes": [[64]], "output_dtypes": ["BFloat16"],
             "state": "scheduled", "time_discovered_started_ns": 0,
             "time_discovered_completed_ns": 0, "retired": False, "timeout_ms": 2000,
             "is_p2p": False}
    entries.append(entry)
    write(RECORDER, json.dumps(entries[-KEPT:]))
    write(f"called.{ATTEMPT}.{RANK}", str(number))
    while not called_by_all(number):
        time.sleep(0.01)
    entry.update(state="completed", retired=True, time_discovered_completed_ns=time.time_ns())
    write(RECORDER, json.dumps(entries[-KEPT:]))


def load_batch(step):
    if (RANK, step, ATTEMPT) == (VICTIM, AT, 0):
        time.sleep(10000)
    time.sleep(0.02)


def main():
    rank_pid = os.getpid()
    if os.fork() == 0:
        serve(rank_pid)
        os._exit(0)
    for step in range(1, STEPS + 1):
        load_batch(step)
        all_reduce(step)
        robustrun.step(step)


if __name__ == "__main__":
    main()
