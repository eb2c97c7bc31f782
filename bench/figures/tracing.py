"""What watching collectives costs: callbacks, steps, agents, bytes, analysis; and torch's time-out.

- Callbacks: tests/helpers/nccl_player plays NCCL to the plugin in one thread, in all seven versions
  of the interface; a step's callbacks and an operation's as a whole, and each one by itself. Then
  with a site's plugin behind ours, compared with the sum of both alone.
- Steps: a DDP training over gloo with --trace=auto beside --trace=off, in turns.
- Agent and bytes: one node with 8 healthy ranks in 32 communicators each, once of NCCL (played) and
  once of gloo. Its agent is connected over TLS, as from another machine; the processor time is the
  agent's own. And the bytes of all messages about 64 communicators of each rank, in played time.
- Analysis: 16,384 ranks in four groups each, where one rank blocks all others.
- torch alone reports a hang when its time-out is over: by default after 30 min, with NCCL after
  10 min. It is set to 20 s here, to show torch's report and the rank that it names.
"""

import json
import math
import re
import statistics
import subprocess
import time
from functools import partial

import hang_peer
from fleet import Run, cpu_seconds
from harness import (
    BIN,
    HELPERS,
    ROBUSTRUN,
    ROOT,
    Figure,
    Quick,
    Scratch,
    call,
    clean_environment,
    in_turns,
    median_ratio,
)

PLAYER = HELPERS / "nccl_player"
LIBRARY = BIN.parent / "share" / "robustrun" / "librobustrun_tracer.so"
RECORDER = PLAYER.with_name("libnccl-profiler-recorder.so")
VERSIONS = range(1, 8)
ALL_VERSIONS = " ".join(map(str, VERSIONS))
BEHIND_MAX_NS = 30
RANKS, COMMUNICATORS = 8, 32
CALLBACK_MAX_NS = 100
STEP_RATIO_MAX = 1.01
AGENT_MAX_PERCENT = 1
LOG_MAX_KB_S = 10
WIRE_MAX_KB_S = 20
ANALYSIS_MAX_S = 1
SETTLED_AFTER_S = 15  # imports are over, and the records of the start are written
NODE_SECONDS = 30
MEDIAN_PAIRS_MIN = 6  # for a 95 % interval of the median
QUICK = Quick(45, "1 round of callbacks instead of 9, 2 pairs of steps instead of 20, 3 analyses "
              "instead of 10; neither the load of a node, which takes 90 s, nor torch's time-out")


def played(version, extra=()):
    """Nanoseconds of each callback: medians of the player's rounds."""
    command = [ROBUSTRUN, "--no-python", "--nproc-per-node=1", PLAYER, LIBRARY, "bench", version]
    with Scratch() as folder:
        done = call(command, folder, clean_environment() | dict(extra), check=True)
    times = json.loads(done.stdout)
    assert times["mask"], "the plugin found no record"
    whole = {"of a step": times["step_ns"], "of an operation": times["operation_ns"]}
    return {name: time["median"] for name, time in (whole | times["callback_ns"]).items()}


def callbacks(runs):
    """Figures of the slowest version for each kind of callback; prints all of them."""
    readings = in_turns(runs, *[lambda version=version: played(version) for version in VERSIONS])
    by_version = {version: {name: [one[name] for one in ones] for name in ones[0]}
                  for version, ones in zip(VERSIONS, readings, strict=True)}
    names = list(dict.fromkeys(name for times in by_version.values() for name in times))
    print("    ns per callback" + "".join(f"{f'v{version}':>7}" for version in VERSIONS))
    for name in names:
        cells = [f"{statistics.median(times[name]):7.1f}" if name in times else f"{'':7}"
                 for times in by_version.values()]
        print(f"    {name:15}" + "".join(cells).rstrip())

    def slowest(candidates):
        return max(((statistics.median(times[name]), version, name)
                    for version, times in by_version.items()
                    for name in candidates if name in times))

    figures = []
    kinds = {"plugin callback, mean of a step's": ["of a step"],
             "plugin callback, mean of an operation's": ["of an operation"],
             "plugin callback, the slowest by itself": names[2:]}
    for kind, candidates in kinds.items():
        value, version, name = slowest(candidates)
        figures.append(Figure(kind, "ns", by_version[version][name], [],
                              f"below {CALLBACK_MAX_NS} ns", value < CALLBACK_MAX_NS,
                              f"version {version}" + f", {name}" * (len(candidates) > 1)))
    return figures


RECORDER_SETTINGS = {"NCCL_RECORDER_QUICK": "1", "NCCL_RECORDER_VERSIONS": ALL_VERSIONS}


def played_alone(version):
    """Means of the site's plugin without ours."""
    done = call([PLAYER, RECORDER, "bench", version], env=clean_environment() | RECORDER_SETTINGS,
                check=True)
    times = json.loads(done.stdout)
    return {"of a step": times["step_ns"]["median"],
            "of an operation": times["operation_ns"]["median"]}


def behind(runs):
    """What a callback takes with the site's plugin behind ours, beyond the sum of both."""
    shared = {"NCCL_PROFILER_PLUGIN": str(RECORDER), **RECORDER_SETTINGS}
    excess = {}
    for version in VERSIONS:
        ours, theirs, both = in_turns(runs, partial(played, version),
                                      partial(played_alone, version),
                                      partial(played, version, shared))
        for name in ("of a step", "of an operation"):
            excess[version, name] = [c[name] - a[name] - b[name]
                                     for a, b, c in zip(ours, theirs, both, strict=True)]
            middles = [statistics.median(one[name] for one in ones)
                       for ones in (ours, theirs, both)]
            print(f"    v{version} {name}: ours {middles[0]:.1f}, theirs {middles[1]:.1f}, "
                  f"both {middles[2]:.1f} ns")
    (version, name), values = max(excess.items(), key=lambda one: statistics.median(one[1]))
    return [Figure("site's plugin behind ours, beyond the sum of both", "ns", values, [],
                   f"at most {BEHIND_MAX_NS} ns", statistics.median(values) <= BEHIND_MAX_NS,
                   f"version {version}, mean {name}")]


def trained(trace, steps):
    """Milliseconds of wall and of its workers' processor time that a step of two ranks takes."""
    with Scratch() as folder:
        call([ROBUSTRUN, f"--trace={trace}", "--nproc-per-node=2", "--omp=1",
              ROOT / "bench" / "step_job.py", 50, steps], folder, clean_environment(), check=True)
        costs = [json.loads(path.read_text()) for path in folder.glob("cost.*.json")]
    return {"wall": max(cost["wall"] for cost in costs) / steps * 1000,
            "cpu": sum(cost["cpu"] for cost in costs) / steps * 1000}


def median_interval(values):
    """An interval of the median with at least 95 %, by order statistics, for any distribution."""
    ordered, beyond, share = sorted(values), 0, 0.0
    while True:
        share += math.comb(len(ordered), beyond) / 2 ** len(ordered)
        if 2 * share > 0.05:
            break
        beyond += 1
    return ordered[max(0, beyond - 1)], ordered[len(ordered) - max(1, beyond)]


def step_time(pairs, steps):
    traced, plain = in_turns(pairs, lambda: trained("auto", steps), lambda: trained("off", steps))
    figures = []
    for name, which in (("step of a gloo training", "wall"), ("processor time of its step", "cpu")):
        ours, peer = [one[which] for one in traced], [one[which] for one in plain]
        low, high = median_interval([a / b for a, b in zip(ours, peer, strict=True)])
        bounds = "95 % interval of the median" if len(ours) >= MEDIAN_PAIRS_MIN else "range"
        note = f"{len(ours)} pairs, {bounds} {low:.4f} to {high:.4f}"
        figures.append(Figure(f"{name}, traced / not", "ms", ours, peer, "below 1.01",
                              median_ratio(ours, peer) < STEP_RATIO_MAX, note))
    return figures


def wire_bytes(agent):
    """Bytes that a process has sent and received over its TCP connections."""
    shown = subprocess.run(["ss", "-tinpH"], capture_output=True, text=True, check=True).stdout
    lines = shown.splitlines()
    own = [after for line, after in zip(lines, lines[1:], strict=False) if f"pid={agent}," in line]
    return sum(int(count) for line in own
               for count in re.findall(r"bytes_(?:sent|received):(\d+)", line))


def logged_bytes(folder):
    """Bytes of the run's own files, without the output of workers."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def node_load(seconds, *program):
    """The agent's CPU in % of a core, KB/s of files and of connections, and suspected hangs."""
    options = ["--launcher=processes", "--nnodes=1", f"--nproc-per-node={RANKS}", "--omp=1"]
    with Scratch() as folder, Run(folder, RANKS, *options, program=program) as run:
        run.started(0)
        agent = next(iter(run.agents().values()))
        steps = wait_for_steps(run, folder)

        def now():
            return (time.monotonic(), cpu_seconds(agent), logged_bytes(folder / "run"),
                    wire_bytes(agent))

        before = now()
        time.sleep(seconds)
        passed, cpu, logged, wired = (b - a for a, b in zip(before, now(), strict=True))
        assert steps_of(folder) > steps, "the workers do nothing"
        run.journal.update()
        suspected = sum(one.rule == "HangSuspected" for one in run.journal.records)
        return {"cpu": cpu / passed * 100, "logged": logged / passed / 1000,
                "wired": wired / passed / 1000, "suspected": suspected}


def steps_of(folder):
    done = subprocess.run([ROBUSTRUN, "status", "--json", folder / "run"], capture_output=True,
                          text=True)
    return json.loads(done.stdout)["steps"] if done.returncode == 0 else 0


def wait_for_steps(run, folder):
    run.wait(lambda _: steps_of(folder), "the first step")
    time.sleep(SETTLED_AFTER_S)
    return steps_of(folder)


def node_loads(rounds, seconds):
    jobs = {"NCCL, played": ("--no-python", PLAYER, LIBRARY, "busy", "6"),
            "gloo": (ROOT / "bench" / "groups_job.py",)}
    readings = in_turns(rounds, *[lambda job=job: node_load(seconds, *job)
                                  for job in jobs.values()])
    figures = []
    for name, ones in zip(jobs, readings, strict=True):
        shape = f"{RANKS} ranks x {COMMUNICATORS} communicators ({name})"
        suspected = sum(one["suspected"] for one in ones)
        note = f"{suspected} hangs suspected meanwhile" if suspected else ""
        for what, key, unit, limit in (("agent", "cpu", "% of a core", AGENT_MAX_PERCENT),
                                       ("files of", "logged", "KB/s", LOG_MAX_KB_S),
                                       ("connection of", "wired", "KB/s", LOG_MAX_KB_S)):
            values = [one[key] for one in ones]
            figures.append(Figure(f"{what} {shape}", unit, values, [], f"below {limit} {unit}",
                                  statistics.median(values) < limit, note))
    return figures


def analysis(runs):
    """The reading of the unit test, which also checks the verdict."""
    command = [BIN / "test_tracer", "-s", "-tc=*ranks with four communicators each*"]
    seconds = []
    for _ in range(runs):
        done = call(command, check=True)
        seconds.append(float(re.search(r"processor time for 16,384 ranks: ([\d.e-]+) s",
                                       done.stdout)[1]))
    return Figure("analysis of 16,384 ranks x 4 communicators", "s", seconds, [],
                  f"below {ANALYSIS_MAX_S} s", statistics.median(seconds) < ANALYSIS_MAX_S)


def wire_load():
    """The reading of a unit test, whose time is played: every run gives the same."""
    command = [BIN / "test_agent", "-s", "-tc=what an agent sends about 64 communicators*"]
    done = call(command, check=True)
    sent = float(re.search(r"64 communicators of 8 ranks: ([\d.e-]+) KB/s", done.stdout)[1])
    return Figure("messages of an agent, 8 ranks x 64 communicators", "KB/s", [sent], [],
                  f"below {WIRE_MAX_KB_S} KB/s", sent < WIRE_MAX_KB_S)


def measure(quick):
    if quick:
        parts = (lambda: callbacks(1), lambda: behind(1), lambda: step_time(2, 150),
                 lambda: [wire_load()], lambda: [analysis(3)])
    else:
        parts = (lambda: callbacks(9), lambda: behind(9), lambda: step_time(20, 600),
                 lambda: [wire_load()], lambda: node_loads(3, NODE_SECONDS),
                 lambda: [analysis(10)], lambda: [hang_peer.measure()])
    for part in parts:
        for figure in part():
            middle = statistics.median(figure.ours)
            print(f"    {figure.name}: {middle:.4g} {figure.unit}", flush=True)
            yield figure
