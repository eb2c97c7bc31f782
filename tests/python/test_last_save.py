"""on_stop() with torch itself: two DDP ranks over gloo that see the stop at different times."""

import json
import random
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import BOOT, HELPERS, NEEDS_TORCH, RecordFile

pytestmark = NEEDS_TORCH

SCRIPT = f"""
import sys
sys.path.append({HELPERS!r})
""" + """
import atexit, pathlib, time
import light_torch, torch, robustrun
import torch.distributed as dist

dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=int(sys.argv[2]),
                        world_size=2)
rank = dist.get_rank()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def save(stop):
    same = [torch.zeros(1) for _ in range(2)]
    dist.all_gather(same, torch.tensor([float(stop.step)]))  # no rank is in a step
    pathlib.Path(sys.argv[3]).write_text(f"{stop.step} {stop.reason} {int(same[0])} {int(same[1])}")

robustrun.on_stop(save)
never_closed = open(sys.argv[3] + "-end", "w")
atexit.register(never_closed.write, "reached")
while True:
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    time.sleep(0.002 * rank)
"""
STOP_REASON, STOP_DEADLINE, STEPS = 24, 32, 96


class AnyAgent:
    """Answers every message with its type until it is closed."""

    def __init__(self, path):
        self.types = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer, peer.makefile("rb") as stream:
                while head := stream.read(4):
                    message = json.loads(stream.read(int.from_bytes(head, "little")))
                    self.types.append(message["type"])
                    body = json.dumps({"type": message["type"]}).encode()
                    peer.sendall(len(body).to_bytes(4, "little") + body)


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize("reason", [2, 3])
def test_two_ranks_save_after_the_same_step(tmp_path, reason):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    first, delay = random.Random(seed).randrange(2), random.Random(seed).random() / 10
    (tmp_path / "train.py").write_text(SCRIPT)
    records, agents, ranks = [], [], []
    try:
        for rank in range(2):
            records.append(RecordFile(tmp_path / f"{rank}.record"))
            agents.append(AnyAgent(tmp_path / f"{rank}.sock"))
            env = records[rank].environment(ROBUSTRUN_SOCKET=str(tmp_path / f"{rank}.sock"))
            ranks.append(subprocess.Popen(
                [sys.executable, "-u", str(BOOT), "script", str(tmp_path / "train.py"),
                 str(tmp_path / "store"), str(rank), str(tmp_path / f"saved-{rank}")],
                env=env, stderr=subprocess.PIPE))
        wait_for(lambda: any(rank.poll() is not None for rank in ranks)
                 or all(record.word(STEPS) >= 5 for record in records))
        for rank in ranks:
            assert rank.poll() is None, rank.stderr.read().decode()
        assert all("save_on_stop" in agent.types for agent in agents)
        for record in (records[first], records[1 - first]):
            record.put_word(STOP_DEADLINE, time.monotonic_ns() + 60_000_000_000)
            record.put_word(STOP_REASON, reason)
            time.sleep(delay)
        for rank in ranks:
            _, errors = rank.communicate(timeout=180)
            assert rank.returncode == 143, errors.decode()
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
            rank.stderr.close()
        for agent in agents:
            agent._listener.close()
    for rank in range(2):  # they ended like scripts
        assert (tmp_path / f"saved-{rank}-end").read_text() == "reached"
    said = [(tmp_path / f"saved-{rank}").read_text().split() for rank in range(2)]
    assert said[0] == said[1]
    step, word, *gathered = said[0]
    assert word == {2: "preempt", 3: "stop"}[reason]
    assert gathered == [step, step]
    # It is the last step of both.
    assert [record.word(STEPS) for record in records] == [int(step)] * 2


def test_a_restart_is_not_waited_for(tmp_path):
    """Another rank has failed: the signal comes as usual, and nothing is saved."""
    (tmp_path / "train.py").write_text(
        "import robustrun, sys, time\n"
        "robustrun.on_stop(lambda stop: open(sys.argv[1], 'w'))\n"
        "while True:\n    robustrun.step(1)\n    time.sleep(0.001)\n")
    record = RecordFile(tmp_path / "0.record")
    agent = AnyAgent(tmp_path / "s")
    process = subprocess.Popen(
        [sys.executable, "-u", str(BOOT), "script", str(tmp_path / "train.py"),
         str(tmp_path / "saved")], env=record.environment(ROBUSTRUN_SOCKET=str(tmp_path / "s")))
    try:
        wait_for(lambda: record.word(STEPS) >= 5)
        record.put_word(STOP_REASON, 1)
        seen = record.word(STEPS)
        wait_for(lambda: record.word(STEPS) > seen + 5)
        assert process.poll() is None
        record.put_word(STOP_REASON, 3)  # and alone it saves at once
        assert process.wait(120) == 143
        assert (tmp_path / "saved").exists()
    finally:
        process.kill()
        process.wait()
        agent._listener.close()
