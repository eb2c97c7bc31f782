"""Runs of the tarball for aarch64 on an emulated machine of that kind: workers, a kill, a recovery,
and an end that leaves nothing."""

import json

import pytest
from install import virtual_machine

pytestmark = pytest.mark.skipif(bool(virtual_machine.missing()), reason=virtual_machine.missing())

# In the first attempt the ranks step until one is killed.
STEPS = """\
import os, time
import robustrun
from robustrun._checkpoint import c_api
c_api._load()
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
for step in range(1, 100_000):
    robustrun.step(step, loss=1 / step)
    if step == 3:
        with open(f"pid.{attempt}.{rank}.new", "w") as file:
            file.write(str(os.getpid()))
        os.rename(file.name, file.name[:-4])
    if attempt == "1" and step == 10:
        break
    time.sleep(0.05)
print("rank", rank, "of", os.environ["WORLD_SIZE"], "on", os.uname().machine, "ends in attempt",
      attempt, flush=True)
"""

SCRIPT = """\
processes() {{
  for each in /proc/[0-9]*; do tr '\\0' ' ' < $each/cmdline; echo; done 2> /dev/null |
    grep '[r]obustrun'
}}
robustrun {options} steps.py > out 2> errors &
until [ -e pid.0.0 ] && [ -e pid.0.1 ]; do
  sleep 0.2
  kill -0 $! || {{ cat out errors; exit 90; }}
done
processes > during
kill -9 $(cat pid.0.1)
wait $!
code=$?
cat out
echo ---- errors
cat errors
echo ---- report
robustrun report --json
echo ---- doctor
robustrun doctor --json
echo ---- during
wc -l < during
echo ---- left
processes
exit $code
"""


@pytest.mark.parametrize("options", [
    "--nproc-per-node=2 --standby=off",
    "--nproc-per-node=2",
    "--launcher=processes --nnodes=2 --nproc-per-node=1 --standby=off",
], ids=["one-node", "with-standbys", "two-nodes"])
def test_a_killed_worker_is_restarted_and_the_run_ends_well(tmp_path, options):
    machine = virtual_machine.VirtualMachine(tmp_path, {"steps.py": STEPS})
    shown, code = machine.run(SCRIPT.format(options=options))
    assert code == 0, shown
    out, errors, report, doctor, during, left = (
        part.partition("\n")[2] for part in ("\n" + shown).split("---- "))
    for rank in (0, 1):
        assert out.count(f"rank {rank} of 2 on aarch64 ends in attempt 1\n") == 1, out
    assert "restart 1 of 3" in errors, errors
    (incident,) = json.loads(report)["incidents"]
    assert "SIGKILL" in json.dumps(incident), incident
    checks = {check["name"]: check for check in json.loads(doctor)["checks"]}
    for name in ("kernel", "robustrun", "Python", "cgroups"):
        assert checks[name]["state"] == "ok", checks[name]
    assert int(during) > 4
    assert left == "", left
