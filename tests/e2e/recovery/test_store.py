"""The store through which ranks find each other: the agent serves it, with torch's protocol."""

import os
import random
import signal
import socket

from helpers.jobs import descendants
from helpers.processes import wait_for

# The same random requests to torch's own store and to the one at MASTER_PORT, through two clients
# of torch each. What they answer must be equal; prints how many requests there were.
BOTH = r"""
import datetime, os, random, sys, threading
from torch.distributed import TCPStore
seed = int(sys.argv[1])
SHORT = datetime.timedelta(milliseconds=300)

def client(port, **options):
    return TCPStore("127.0.0.1", port, 1, wait_for_workers=False,
                    timeout=datetime.timedelta(seconds=30), **options)

own = client(0, is_master=True)
stores = [(own, client(own.port, is_master=False)),
          tuple(client(int(os.environ["MASTER_PORT"]), is_master=False) for _ in range(2))]

def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__

def settled(store, call):
    # The outcome, once the store has carried it out: a set, for one, has no answer.
    result = outcome(lambda: call(store))
    store.check([])
    return result

def polls(thread):
    with open(f"/proc/self/task/{thread.native_id}/syscall") as file:
        return file.read().split()[0] == "7"

def value(draw):
    return draw.choice(["", "1", "-7", "text", "x" * draw.randrange(3000), "y" * 200000])

def requests(draw):
    key, other = (draw.choice("abcdefgh") for _ in range(2))
    text, more = value(draw), value(draw)
    number = draw.randrange(-5, 6)
    return draw.choice([
        lambda s: s.set(key, text),
        lambda s: s.check([key]) and s.get(key),
        lambda s: s.append(key, text[:100]),
        lambda s: s.compare_set(key, text, more),
        lambda s: s.compare_set(key, "", more),
        lambda s: s.add("n" + key, number),
        lambda s: s.delete_key(key),
        lambda s: s.num_keys(),
        lambda s: s.check([key, other]),
        lambda s: s.check([]),
        lambda s: s.multi_set([key, other], [text, more]),
        lambda s: s.check([key, other]) and s.multi_get([key, other]),
        lambda s: s.queue_push("q" + key, text or "z"),
        lambda s: s.queue_len("q" + key),
        lambda s: s.queue_pop("q" + key, False),
        lambda s: s.check(["q" + key]),
        lambda s: sorted(s.list_keys()),
    ])

draw = random.Random(seed)
for count in range(600):
    request, second = requests(draw), draw.randrange(2)
    theirs, ours = (settled(pair[second], request) for pair in stores)
    assert theirs == ours, (seed, count, theirs, ours)

# Waits: one that ends in time, for a set, an add, a push, a compare_set; and one that does not.
for wake in (lambda s, k: s.set(k, ""), lambda s, k: s.add(k, 1), lambda s, k: s.append(k, "a"),
             lambda s, k: s.compare_set(k, "", "b"), lambda s, k: s.queue_push(k, "c")):
    seen = []
    for one, two in stores:
        key = f"wait{len(seen)}.{draw.random()}"
        answers = []
        def wait():
            answers.append(outcome(lambda: two.wait([key, key + "."],
                                                    datetime.timedelta(seconds=20))))
        thread = threading.Thread(target=wait)
        thread.start()
        # torch's store never answers a wait for a queue that comes between the push and the set.
        while not polls(thread):
            pass
        wake(one, key)
        one.set(key + ".", "")
        thread.join(25)
        answers.append(outcome(lambda: one.wait(["never"], SHORT)))
        answers.append(outcome(lambda: one.add("after", 1)))
        seen.append(answers)
    assert seen[0] == seen[1], seen
if hasattr(own, "barrier"):
    for one, two in stores:
        thread = threading.Thread(target=lambda: two.barrier("gate", 2))
        thread.start()
        one.barrier("gate", 2)
        thread.join(25)
        assert not thread.is_alive()
outcome(lambda: stores[1][0].set("big", "x" * (9 << 20)))  # refused or not: the store goes on
assert stores[1][1].add("alive", 1) == 1
print("equal", count + 1)
"""

# gloo; the ranks come at different times. Prints the sum, and who served the store.
GROUP = r"""
import os, sys, time
import torch, torch.distributed as dist
rank = int(os.environ["RANK"])
time.sleep(float(sys.argv[1]) * (rank == 0))
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print("sum", int(total), os.environ["TORCHELASTIC_USE_AGENT_STORE"], flush=True)
open(f"ready.{rank}.{os.environ['TORCHELASTIC_RESTART_COUNT']}", "w").write(
    f"{os.getpid()} {os.environ['MASTER_PORT']}")
while len(sys.argv) > 2 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    time.sleep(0.02)
dist.destroy_process_group()
"""


def listener(port):
    """The process of this machine that listens on a TCP port."""
    wanted = f":{port:04X}"
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in open(table).read().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(wanted) and fields[3] == "0A":
                inodes.add(f"socket:[{fields[9]}]")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            links = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        except OSError:
            continue
        if links & inodes:
            return int(pid)
    return None


def test_it_answers_as_torchs_own_store(robustrun):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    robustrun.write("both.py", BOTH)
    finished = robustrun.run("--nproc-per-node=1", "--max-restarts=0", "both.py", str(seed))
    assert finished.code == 0, finished.errors
    assert "equal 600" in finished.text


def test_rank_zeros_worker_serves_it_if_that_is_asked_for(robustrun):
    robustrun.write("group.py", GROUP)
    finished = robustrun.run("--nproc-per-node=2", "--store=worker", "group.py", "0")
    assert finished.code == 0, finished.errors
    assert finished.text.count("sum 2 False") == 2


def test_the_store_of_an_unknown_torch_is_left_to_the_worker(robustrun):
    """The installed torch, taken for one that is newer than those that are known."""
    robustrun.write("group.py",
                    "from robustrun._boot import store\nstore.LAST = (2, 1)\n" + GROUP)
    finished = robustrun.run("--nproc-per-node=2", "--max-restarts=0", "group.py", "0")
    assert finished.code == 0, finished.errors
    assert finished.text.count("sum 2 False") == 2
    assert "is not known here: rank 0's worker serves it" in finished.errors


def test_each_attempt_gets_an_empty_store_of_the_agent(robustrun):
    robustrun.write("group.py", GROUP)
    running = robustrun.start("--nproc-per-node=2", "group.py", "0", "wait")
    notes = [robustrun.folder / f"ready.{rank}.0" for rank in range(2)]
    wait_for(lambda: all(note.exists() and note.read_text() for note in notes),
             what="two ranks")
    pid, port = notes[1].read_text().split()
    assert listener(int(port)) == running.agent()
    stranger = socket.create_connection(("127.0.0.1", int(port)))
    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert stranger.recv(1) == b""
    os.kill(int(pid), signal.SIGKILL)
    finished = running.finish()
    assert finished.code == 0, finished.errors
    assert finished.text.count("sum 2 True") == 4
    assert (robustrun.folder / "ready.1.1").read_text().split()[1] != port
    assert finished.errors.count("the store has closed the connection of 127.0.0.1") == 1
    assert not descendants(running.pid)


def test_a_taken_port_leaves_the_store_to_the_worker(robustrun):
    """With a fixed MASTER_PORT that another program has opened."""
    robustrun.write("group.py", GROUP)
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        finished = robustrun.run("--nproc-per-node=1", "--max-restarts=0",
                                 f"--master-port={port}", "group.py", "0")
    assert finished.code != 0
    assert str(port) in finished.errors
    assert "in use" in finished.errors or "listens there" in finished.errors
