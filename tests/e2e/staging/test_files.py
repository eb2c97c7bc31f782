"""Staged files: copied to every machine before workers start, and read from the storage about
once."""

import hashlib
import os
import signal
import time

from helpers.jobs import start_job
from image.block_server import BLOCK
from image.far_storage import Far

MIB = 1 << 20
SCRIPT = """
import hashlib, os
path = os.path.join(os.environ["ROBUSTRUN_STAGE_DIR"], "weights.bin")
print("sum", hashlib.sha256(open(path, "rb").read()).hexdigest(), flush=True)
"""


def stage(runner, machines, far, size, *options):
    weights = os.urandom(size)
    (far.below / "weights.bin").write_bytes(weights)
    runner.write("sum.py", SCRIPT)
    job = start_job(
        runner, f"--hosts=h[1-{len(machines.machines)}]", "--iface=eth0", "--nproc-per-node=1",
        f"--cache-dir={far.cache}", f"--stage={far.path / 'weights.bin'}", "--prefetch=off",
        "--preflight=off", *options, "sum.py",
        env=machines.home.environment(), prefix=machines.prefix,
    )
    return job, hashlib.sha256(weights).hexdigest()


def test_a_staged_file_is_on_every_machine_and_left_the_storage_about_once(lab, robustrun):
    machines = lab(4)
    far = Far(robustrun, machines)
    size = 24 * MIB + 12345
    job, right = stage(robustrun, machines, far, size)
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert finished.text.count(f"sum {right}") == 4, finished.text
    read = far.bytes_read()
    print(f"{read / size:.3f} copies left the storage")
    assert size <= read <= 1.1 * size
    robustrun.expect_nothing_left()


def test_a_stopped_machine_delays_no_other(lab, robustrun):
    machines = lab(4)
    far = Far(robustrun, machines)
    blocks = 32 * MIB // BLOCK
    job, right = stage(robustrun, machines, far, blocks * BLOCK, "--peers-rate=4",
                       "--node-suspect-after=60", "--node-lost-after=120")
    job.wait(lambda: all(far.blocks_at(m) >= 8 for m in machines.machines.values()),
             "the first blocks", 150)
    victim = machines["h2"].agents()[0]
    os.kill(victim, signal.SIGSTOP)
    stopped = time.monotonic()
    others = [machines[name] for name in ("h1", "h3", "h4")]
    try:
        job.wait(lambda: all(far.blocks_at(m) == blocks for m in others), "all blocks elsewhere",
                 150)
        print(f"the others had all {time.monotonic() - stopped:.1f} s later")
        assert far.blocks_at(machines["h2"]) < blocks, "it was stopped too late to delay the others"
    finally:
        os.kill(victim, signal.SIGCONT)
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert finished.text.count(f"sum {right}") == 4, finished.text


def test_an_agent_that_is_killed_while_it_passes_blocks_on_is_replaced(lab, robustrun):
    machines = lab(3)
    far = Far(robustrun, machines)
    job, right = stage(robustrun, machines, far, 24 * MIB, "--peers-rate=4")
    job.wait(lambda: all(far.blocks_at(m) >= 8 for m in machines.machines.values()),
             "the first blocks", 150)
    os.kill(machines["h3"].agents()[0], signal.SIGKILL)
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert finished.text.count(f"sum {right}") >= 3, finished.text


def test_a_file_that_no_machine_has_is_an_error(nodes):
    nodes.runner.write("sum.py", SCRIPT)
    path = nodes.runner.folder / "nowhere.bin"
    finished = nodes("--nnodes=2", f"--cache-dir={nodes.runner.folder / 'cache'}",
                     f"--stage={path}", "--max-restarts=0", "sum.py").finish()
    assert finished.code != 0
    assert f"cannot stage {path}" in finished.errors
    assert "no node of the run can read it" in finished.errors


def test_one_machine_stages_for_itself(robustrun):
    weights = os.urandom(3 * MIB)
    robustrun.write("weights.bin", weights.hex())
    robustrun.write("sum.py", SCRIPT)
    job = start_job(robustrun, f"--cache-dir={robustrun.folder / 'cache'}",
                    "--stage=weights.bin", "sum.py")
    finished = job.finish()
    assert finished.code == 0, finished.errors
    right = hashlib.sha256(weights.hex().encode()).hexdigest()
    assert f"sum {right}" in finished.text
