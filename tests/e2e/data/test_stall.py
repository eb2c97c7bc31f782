"""Storage that stops answering: which rank waits, for which source and file, is told everywhere."""

import contextlib
import json
import pathlib
import signal
import subprocess
import urllib.request

from data.token_sets import write
from helpers.exposition import parse
from helpers.fuse import await_mount, need_fuse
from helpers.jobs import start_job
from helpers.runner import BUILD

SCRIPT = pathlib.Path(__file__).parent / "stall_job.py"
VIEW = BUILD / "test-helpers" / "slow_view"
SPEC = """
[[source]]
name = "far"
paths = "far"
[batch]
tokens = 8192
context = 2048
"""
WITHIN_S = 150  # generous for busy machines


@contextlib.contextmanager
def view(folder, place, hold):
    """`folder` at `place`; reads of the tokens of source "far" wait while `hold` is there."""
    need_fuse(VIEW)
    place.mkdir()
    server = subprocess.Popen([VIEW, folder, place, "0", "/dev/null", "far.bin", hold])
    try:
        await_mount(server, place)
        yield
    finally:
        hold.unlink(missing_ok=True)
        if server.poll() is None:
            subprocess.run(["umount", "--lazy", place], check=True)
            server.wait(60)


def status(job):
    done = subprocess.run([job.runner.binary, "status", "--json", str(job.run)],
                          capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout) if done.returncode == 0 else None


def ranks(job):
    known = status(job)
    return known["nodes"][0]["ranks"] if known and known["nodes"] else []


def test_a_rank_whose_storage_stalls_is_named_with_source_and_file(robustrun):
    folder, place = robustrun.folder / "plain", robustrun.folder / "view"
    hold = robustrun.folder / "hold"
    folder.mkdir()
    (folder / "data.toml").write_text(SPEC)
    write(folder / "far", [[i] * 4000 for i in range(3000)])
    with view(folder, place, hold):
        job = start_job(robustrun, "--nproc-per-node=2", "--standby=off", "--hang-timeout=0",
                        "--metrics-port=0", SCRIPT, str(folder), str(place))
        job.wait(lambda: (status(job) or {"steps": 0})["steps"] > 5, "steps", WITHIN_S)
        hold.touch()
        job.wait(lambda: any(rank["data_waiting_s"] for rank in ranks(job)), "the wait", WITHIN_S)
        path = str(place / "far.bin")
        waiting = job.wait(
            lambda: next((rank for rank in ranks(job)[1:] if (rank["data_waiting_s"] or 0) > 2
                          and path in rank["data_place"]), None), "its place", WITHIN_S)
        assert waiting["data_place"] == f"source far, {path}"
        assert ranks(job)[0]["data_waiting_s"] is None
        text = subprocess.run([job.runner.binary, "status", str(job.run)], capture_output=True,
                              text=True, timeout=60).stdout
        assert f"rank 1 waits for source far, {path}, " in " ".join(text.split())
        page = urllib.request.urlopen(status(job)["metrics_url"], timeout=10).read().decode()
        values = parse(page)[0]
        assert values["data_waiting_ranks",] == 1 and values["data_wait_seconds",] > 2

        line = job.wait(lambda: next((line for line in job.err().splitlines()
                                      if "hang: " in line and "far.bin" in line), None),
                        "the hang", WITHIN_S)
        assert "hang: rank 1 " in line and "data loader" in line
        assert f"it waits for data of source far, {path}" in line
        hold.unlink()
        job.says("the hang is over", WITHIN_S)
        job.wait(lambda: all(not rank["data_waiting_s"] for rank in ranks(job)), "batches",
                 WITHIN_S)
        job.process.send_signal(signal.SIGTERM)
        job.finish()
        report = robustrun.report(job.run)
        assert report["data_rank"] == 1 and report["data_waited_s"] > 2
