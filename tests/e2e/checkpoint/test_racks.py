"""Copies in memory on a machine of another rack: a whole rack loses its power, and the job goes on
from a step that was on no disk."""

import pytest
from checkpoint.test_peers import SCRIPT, notes, ranks_at_peers
from helpers.jobs import QUICK, rounds, start_job

torch = pytest.importorskip("torch")

RACKS = {"r1": ["h1", "h2"], "r2": ["h3", "h4"], "r3": ["h5", "h6"]}
RACK_OF = {host: rack for rack, hosts in RACKS.items() for host in hosts}
WORLD, COPIED = 4, 5
NETWORKS = {
    "leaves": "".join(f'[[switch]]\nname = "{rack}"\nnodes = {hosts}\n'
                      for rack, hosts in RACKS.items()),
    "labels": '[[switch]]\nname = "leaf"\nnodes = "h[1-6]"\n' + "".join(
        f'[[node]]\nname = "{host}"\nrack = "{rack}"\n' for host, rack in RACK_OF.items()),
}


def resumption(folder):
    """The steps that the ranks of the newest complete attempt loaded, or None."""
    attempts = {int(path.name.split(".")[1]) for path in folder.glob("resumed.*.*")
                if path.name.split(".")[-1].isdigit()}
    found = [notes(folder, f"resumed.{each}", WORLD) for each in sorted(attempts)]
    return next((each for each in reversed(found) if each), None)


@rounds(of_ci=1)
@pytest.mark.parametrize(
    "network", ["labels", pytest.param("leaves", marks=pytest.mark.nightly)])
def test_a_lost_rack_loses_no_step_that_the_others_hold(lab, robustrun, network, seed):
    machines = lab(6)
    saves = robustrun.folder / "saves"
    (saves / "checkpoints").mkdir(parents=True)
    robustrun.write("job.py", SCRIPT)
    robustrun.write("net.toml", NETWORKS[network])
    job = start_job(
        robustrun, "--hosts=h[1-6]", "--iface=eth0", f"--nnodes={WORLD}", "--spares=2",
        "--topology=net.toml", "--standby=off", *QUICK, "job.py",
        env={**machines.home.environment(), "SAVES": str(saves), "GLOO_SOCKET_IFNAME": "eth0",
             "COPIED": str(COPIED)},
        prefix=machines.prefix,
    )
    job.wait(lambda: len(job.spares()) == 2, "the spares", 240)
    job.wait(lambda: ranks_at_peers(job) == set(range(WORLD)), "copies of all ranks at peers", 300)
    used = sorted({RACK_OF[name] for name in job.group_names()})
    rack = used[seed % len(used)]
    lost = [name for name in job.group_names() if RACK_OF[name] == rack]
    print("loses rack", rack, "with", lost, "of", job.group_names())
    assert len(lost) == 2
    for name in lost:
        machines[name].pull()  # no agent notices the end of the other
    for name in lost:
        machines[name].crash()
    for rank, (step, from_memory, size) in enumerate(
            job.wait(lambda: resumption(saves), "a resumption", 400)):
        assert step == COPIED
        assert from_memory == size, f"rank {rank} took it from memory"
    assert not set(lost) & set(job.group_names())
    job.wait(lambda: min(notes(saves, "done", WORLD))[0] > COPIED + 2, "more steps", 240)
    job.stop()
    robustrun.expect_nothing_left()
