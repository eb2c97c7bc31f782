"""A real campaign of faults, repeated in the simulator: both ETTRs, side by side.

Trainings of the same kind run on this machine, one after the other, each with faults of its own
seed: workers that are killed, workers that stop for ever (a hang), agents that die. Short trainings
are the calibration: all times in the simulator are medians over their journals (one training before
the campaign; without --quick another one after it, since a machine is not equally fast at all
times). From the campaign the simulator gets the layout, the policy, and kind, time and place of
each fault, and repeats it (`robustrun sim --replay`). Its ETTR has to be within 2 points of the
ETTR in `robustrun report` of the real run.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import time

from harness import ROBUSTRUN, ROOT, Figure, Quick, Scratch, start, wait_for

TRAINING = ROOT / "examples" / "train.py"
NODES, SPARES = 2, 1
CAMPAIGN_S, CAMPAIGN_QUICK_S = 1800, 110
BETWEEN_FAULTS_S, BETWEEN_FAULTS_QUICK_S = 50, 18
CALIBRATION_DECKS, CALIBRATION_QUICK_DECKS = 2, 1
CALIBRATION_BETWEEN_S = 14
SETTLED_S = 3  # of training, before a fault
RECOVERED_WITHIN_S = 120
STEP_S, CHECKPOINT_STEPS = 0.1, 10
DECK = ("kill", "kill", "kill", "stop", "agent-death")  # stop: for ever
POINTS_MAX = 2.0
QUICK = Quick(260, "5 faults instead of 35, one calibration of 85 s instead of two of 154 s",
              longer="each fault takes up to 20 s, and all three kinds are needed twice")
OPTIONS = ("--launcher=processes", f"--nnodes={NODES}", f"--spares={SPARES}", "--nproc-per-node=1",
           "--omp=1", "--max-restarts=1000", "--hang-timeout=20s", "--shutdown-timeout=3s",
           "--node-lost-after=5s")


def faults(length_s, between_s, seed):
    """(seconds, kind, rank), in the proportions of the deck."""
    dice = random.Random(f"replay {seed}")
    deck, at = [], between_s * dice.uniform(0.8, 1.2)
    while at < length_s - between_s / 2:
        if not deck:
            deck = dice.sample(DECK, len(DECK))
        yield at, deck.pop(), dice.randrange(NODES)
        at += between_s * dice.uniform(0.8, 1.2)


def ask(*words):
    done = subprocess.run(list(map(str, [ROBUSTRUN, *words])), capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout[:1] == "{" else {}


def step_of(run):
    return ask("status", "--json", run).get("step") or 0


def wait_until_it_trains(run, seconds):
    """Waits until steps advance; a hung training has done steps too, but they stand still."""
    def is_training():
        before = step_of(run)
        time.sleep(5 * STEP_S)
        return 0 < before < step_of(run)

    wait_for(is_training, "steps of the training", seconds)


def inject(run, kind, rank):
    wait_until_it_trains(run, RECOVERED_WITHIN_S)
    time.sleep(SETTLED_S)
    nodes = [one for one in ask("status", "--json", run).get("nodes", [])
             if one["node_rank"] == rank]
    hit = f"--node={nodes[0]['name']}" if kind == "agent-death" and nodes else f"--rank={rank}"
    words = [ROBUSTRUN, "inject", run, kind, hit]
    return subprocess.run(list(map(str, words)), capture_output=True).returncode == 0


def campaign(folder, length_s, between_s, seed):
    """Runs a training with faults; returns its run directory, with the whole journal."""
    folder.mkdir()
    run = folder / "run"
    command = [ROBUSTRUN, "--run-dir", run, *OPTIONS, TRAINING, "--steps", 10**9, "--verified",
               "--checkpoint", folder / "checkpoints", "--every", CHECKPOINT_STEPS, "--slow",
               STEP_S]
    done = 0
    process = start(command, folder)
    try:
        wait_until_it_trains(run, 300)
        began = time.monotonic()
        for at, kind, rank in faults(length_s, between_s, seed):
            time.sleep(max(0.0, began + at - time.monotonic()))
            done += inject(run, kind, rank)
        time.sleep(max(0.0, began + length_s - time.monotonic()))
        wait_until_it_trains(run, RECOVERED_WITHIN_S)
    finally:
        process.terminate()
        process.wait(120)
    took, load = time.monotonic() - began, os.getloadavg()[0]
    print(f"  seed {seed}: {done} faults in {took:.0f} s, load {load:.1f}", flush=True)
    return run


def calibrate(folder, decks, seed):
    between_s = CALIBRATION_BETWEEN_S
    return campaign(folder, between_s * (len(DECK) * decks + 1), between_s, seed)


def run_all(folder, quick):
    """The run directories of the campaign and of the calibration."""
    decks = CALIBRATION_QUICK_DECKS if quick else CALIBRATION_DECKS
    calibration = [calibrate(folder / "seed-1", decks, 1)]
    length_s = CAMPAIGN_QUICK_S if quick else CAMPAIGN_S
    between_s = BETWEEN_FAULTS_QUICK_S if quick else BETWEEN_FAULTS_S
    real = campaign(folder / "seed-2", length_s, between_s, 2)
    if not quick:
        calibration.append(calibrate(folder / "seed-3", decks, 3))
    return real, calibration


def play_again(run, *calibration):
    words = [ROBUSTRUN, "sim", "--replay", run, "--json", "--from-journal", *calibration]
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def show(played):
    print(f"  {'':<14}{'real':>10}{'simulated':>12}")
    for row in played["rows"]:
        if row["real_s"] or row["simulated_s"]:
            print(f"  {row['spent']:<14}{row['real_s']:>8.2f} s{row['simulated_s']:>10.2f} s")
    real, simulated = 100 * played["real_ettr"], 100 * played["simulated_ettr"]
    print(f"  {'ETTR':<14}{real:>8.2f} %{simulated:>10.2f} %"
          f"  {played['points']:+.2f} points; {played['failures_played']} failures played, "
          f"{played['failures_simulated']} met; not played: {played['not_played']}", flush=True)


def keep(runs):
    """Copies the runs' journals to the folder $REPLAY_KEEP, if it is set."""
    folder = os.environ.get("REPLAY_KEEP")
    for run in runs if folder else ():
        kept = pathlib.Path(folder) / run.parent.name
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(run / "journal", kept / "journal")


def measure(quick):
    with Scratch() as folder:
        real, calibration = run_all(folder, quick)
        keep([real, *calibration])
        played = play_again(real, *calibration)
        show(played)
    note = (f"{played['points']:+.2f} points; {played['failures_played']} failures in "
            f"{played['duration_s']:.0f} s, times of other runs")
    return [Figure("ETTR of the simulation, beside the real run's", "", [played["simulated_ettr"]],
                   [played["real_ettr"]], f"within {POINTS_MAX:g} points",
                   abs(played["points"]) <= POINTS_MAX, note)]
