"""The profiler plugin in NCCL itself: loaded, read and counted, for each version of its interface;
what it costs."""

import contextlib
import json
import lzma
import os
import pathlib
import re
import statistics
import subprocess
import time

import harness

from drill import elf, record, tools
from drill.frame import Check, Skip, Wrong
from drill.tools import COLLECTIVES, PLAYER, PLUGIN, RECORDER, TRAIN, job, last_lines

ROUNDS = 20              # of collectives.py calls
CALLS = 1000             # of collectives.py latency
PAIRS_MIN, PAIRS_MAX = 3, 8
SLOWER_MAX = 1.05
BANDWIDTH_BATCHES = 200


def exported_versions():
    said = tools.output_of("nm", "-D", "--defined-only", PLUGIN)
    if said is None:
        found = re.findall(rb"\0ncclProfiler_v(\d+)(?=\0)", PLUGIN.read_bytes())
        return sorted({int(version) for version in found})
    return sorted(map(int, re.findall(r"ncclProfiler_v(\d+)", said)))


def variant(folder, version):
    """A copy of the plugin that exports this version alone."""
    data, _ = elf.hide(PLUGIN.read_bytes(), lambda name: name.startswith("ncclProfiler_v")
                       and name != f"ncclProfiler_v{version}")
    path = pathlib.Path(folder) / f"libdrill-plugin-v{version}.so"
    path.write_bytes(data)
    return path


def calls(drill, ranks, plugin=None, rounds=ROUNDS, **more):
    """A run of collectives.py: its results, its records as read, and NCCL's lines about it."""
    variables = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,PROFILE", **more}
    if plugin:
        variables["NCCL_PROFILER_PLUGIN"] = str(plugin)
    with job(drill, "--standby=off", "--max-restarts=0", f"--nproc-per-node={ranks}", COLLECTIVES,
             "calls", rounds, **variables) as running:
        code = running.ended(40)
        text = running.errors
        if code != 0:
            raise Wrong(f"{ranks} ranks ended with {code}: {last_lines(text, 8)}")
        results = [json.loads((running.folder / f"result.{rank}").read_text())
                   for rank in range(ranks)]
        data = [(running.folder / f"record.{rank}").read_bytes() for rank in range(ranks)]
    return results, data, "\n".join(line for line in text.splitlines() if "NCCL" in line)


def loaded_version(text):
    """The version of the interface that NCCL's log names, or None."""
    found = re.search(r"PROFILER/Plugin: Loaded .*\(v(\d+)\)", text)
    return int(found[1]) if found else None


def one_rank(drill):
    """NCCL loads the plugin for a CUDA job of one rank, and its record can be read"""
    if drill.cpu:
        return one_rank_over_gloo(drill)
    drill.need_nccl()
    results, data, text = calls(drill, 1)
    drill.record("one-rank/nccl.log", text)
    drill.record("one-rank/0.record.xz", lzma.compress(data[0]))
    drill.claim("the plugin is in the worker", results[0]["plugin_is_loaded"], text[-600:])
    version = loaded_version(text)
    ours = [each for each in drill.profiler_versions if each in exported_versions()]
    drill.claim("NCCL takes the highest version that both have", version == max(ours, default=0),
                f"v{version}; the library looks for {drill.profiler_versions}, the plugin has "
                f"{exported_versions()}")
    found = record.read(data[0])
    if found is None:
        raise Wrong(f"the record has {len(data[0])} bytes")
    drill.figure("record", found)
    drill.claim("the record names the version", found["version"] == version, found)
    drill.claim("the communicator is in the record", [
        (each["size"], each["rank"]) for each in found["communicators"]] == [(1, 0)], found)
    with job(drill, "--standby=off", "--max-restarts=0", TRAIN) as running:
        code = running.ended(60)
        place = running.note("place.0.0")
        drill.claim("a torch job of one rank over NCCL succeeds", code == 0,
                    f"exit code {code}: {last_lines(running.errors)}")
        drill.claim("torch has the NCCL that was asked for", not drill.given_nccl
                    or str(drill.given_nccl) in place[3].split(":"), place)
        steps = running.report().get("steps")
        drill.claim("its steps are counted", steps == 40, steps)
    return f"v{version} taken, mask {found['mask']:#x}; {len(found['kinds'])} kinds seen"


def one_rank_over_gloo(drill):
    with job(drill, "--standby=off", "--max-restarts=0", TRAIN) as running:
        code = running.ended(60)
        drill.claim("a torch job of one rank succeeds", code == 0, last_lines(running.errors))
        drill.claim("its steps are counted", running.report().get("steps") == 40,
                    running.report().get("steps"))
    return "over gloo"


def judge(drill, name, results, data, version, rounds):
    """Claims about the records of a run over several ranks."""
    ranks, read = len(data), [record.read(each) for each in data]
    drill.figure(name, read)
    drill.claim(f"{name}: the plugin is in all workers", all(
        each["plugin_is_loaded"] for each in results), results)
    drill.claim(f"{name}: the version is {version}", {each["version"] for each in read}
                == {version}, [each["version"] for each in read])
    # Before version 4 NCCL gives the size of no communicator, and its number only with an event.
    comms = [each["communicators"] for each in read]
    drill.claim(f"{name}: one communicator a rank, of the same key", all(
        len(each) == 1 for each in comms) and len({each[0]["key"] for each in comms}) == 1, comms)
    if any(len(each) != 1 for each in comms):
        return
    if version >= 4:
        drill.claim(f"{name}: size and ranks are right", [
            (each[0]["size"], each[0]["rank"]) for each in comms]
            == [(ranks, rank) for rank in range(ranks)], comms)
    # NCCL has events for calls from version 5 on; before, some ways to broadcast have none.
    seen = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")[:4 if version >= 5 else 3]
    wanted = (len(seen) * rounds, 4 * rounds)
    drill.claim(f"{name}: all collectives are counted", all(
        each[0]["entered"] in wanted for each in comms), comms)
    # NCCL may report the end of a kernel with the next operation.
    drill.claim(f"{name}: all are done, but perhaps the last", all(
        each[0]["entered"] - each[0]["done"] <= 1 for each in comms), comms)
    drill.claim(f"{name}: {2 * rounds} sends and receives are counted, all done", all(
        (each[0]["p2p_entered"], each[0]["p2p_done"]) == (2 * rounds, 2 * rounds)
        for each in comms), comms)
    drill.claim(f"{name}: the kinds are right", all(
        each["kinds"].get(kind) == rounds for each in read for kind in seen),
        [each["kinds"] for each in read])
    drill.claim(f"{name}: nothing was without a slot or unknown", all(
        not any(each["without_slot"]) and not each["unknown_objects"] for each in read),
        [[each["without_slot"], each["unknown_objects"]] for each in read])


def versions(drill):
    """several ranks, with each version of the plugin that this NCCL takes, and counts are right"""
    exported = exported_versions()
    with harness.Scratch() as folder:
        if drill.cpu:
            return played_versions(drill, folder, exported)
        drill.need_ranks(2)
        tried = [each for each in reversed(exported) if each in drill.profiler_versions]
        for number, version in enumerate(tried):
            plugin = PLUGIN if number == 0 else variant(folder, version)
            for ranks in (2, 4) if number == 0 else (2,):
                name = f"v{version}, {ranks} ranks"
                try:
                    results, data, text = calls(drill, ranks, plugin)
                except Wrong as why:
                    drill.claim(f"{name}: the job succeeds", False, why)
                    continue
                drill.record(f"versions/v{version}-{ranks}.log", text)
                drill.record(f"versions/v{version}-{ranks}.0.record.xz",
                             lzma.compress(data[0]))
                drill.claim(f"{name}: NCCL names it", loaded_version(text) == version,
                            loaded_version(text))
                judge(drill, name, results, data, version, ROUNDS)
    return f"v{', v'.join(map(str, tried))} with 2 ranks, v{tried[0]} with 4"


def played_versions(drill, folder, exported):
    """Without a GPU the player of NCCL takes each variant."""
    if not PLAYER.exists():
        raise Skip(f"there is no {PLAYER}")
    for version in exported:
        plugin = variant(folder, version)
        shown = tools.output_of("nm", "-D", "--defined-only", plugin) or ""
        drill.claim(f"v{version}: it is still there", f"ncclProfiler_v{version}" in shown, shown)
        for played in exported:
            done = subprocess.run([PLAYER, plugin, "stuck", str(played)], capture_output=True)
            drill.claim(f"variant v{version}: v{played} is found only if it is the same",
                        (done.returncode == 0) == (played == version), done.returncode)
    return f"v{exported[0]} to v{exported[-1]}, played"


def judge_other(drill, name, logs, least):
    """Claims about what another plugin behind ours has written down, a log for each rank."""
    texts = [path.read_text() for path in logs]
    begun = [len(re.findall(r"^start 2 ", text, re.M)) for text in texts]
    drill.claim(f"{name}: the other plugin sees {least} collectives or more a rank",
                min(begun, default=0) >= least, begun)
    drill.claim(f"{name}: it gets no handle that is not its own",
                texts and not any("strange" in text for text in texts),
                [line for text in texts for line in text.splitlines() if "strange" in line][:4])


def shared_slot(drill):
    """another profiler plugin behind robustrun's: both see every collective"""
    if not RECORDER.exists():
        raise Skip(f"there is no {RECORDER}: it is built with the tests")
    with harness.Scratch() as folder:
        variables = {"NCCL_RECORDER_LOG": str(folder / "seen.%p"),
                     "NCCL_RECORDER_VERSIONS": "4 5 6 7"}
        if drill.cpu:
            return played_shared_slot(drill, folder, variables)
        drill.need_ranks(2)
        version = max((each for each in (4, 5, 6, 7) if each in drill.profiler_versions), default=0)
        if version == 0:
            raise Skip(f"this NCCL looks for the versions {drill.profiler_versions} only")
        results, data, text = calls(drill, 2, RECORDER, **variables)
        drill.record("shared-slot/nccl.log", text)
        name = f"shared, v{version}"
        drill.claim(f"{name}: NCCL names it", loaded_version(text) == version, text[-600:])
        judge(drill, name, results, data, version, ROUNDS)
        # Before version 5 some broadcasts have no event, and a send or receive is another event.
        judge_other(drill, name, sorted(folder.glob("seen.*")), 3 * ROUNDS)
    return f"v{version}, 2 ranks"


def played_shared_slot(drill, folder, variables):
    with job(drill, "--standby=off", "--max-restarts=0", "--no-python", PLAYER, PLUGIN, "stuck",
             6, NCCL_PROFILER_PLUGIN=str(RECORDER), **variables) as running:
        code = running.ended(60)
        drill.claim("the job succeeds", code == 0, last_lines(running.errors))
    judge_other(drill, "played", sorted(folder.glob("seen.*")), 2)
    return "played"


def latency(drill, ranks, trace, variables):
    with job(drill, f"--trace={trace}", "--standby=off", "--max-restarts=0",
             f"--nproc-per-node={ranks}", COLLECTIVES, "latency", CALLS, **variables) as running:
        code = running.ended(60)
        if code != 0:
            raise Wrong(f"{ranks} ranks ended with {code}: {last_lines(running.errors)}")
        result = json.loads((running.folder / "result.0").read_text())
    if result["plugin_is_loaded"] != (trace == "auto"):
        raise Wrong(f"--trace={trace}, and the plugin in the worker: {result['plugin_is_loaded']}")
    return result


def overhead_of(drill, ranks, seconds, variables):
    """Pairs of runs with and without the plugin, in turns, for about `seconds`."""
    end, longest, pairs = time.monotonic() + seconds, 0.0, []
    while len(pairs) < PAIRS_MAX:
        began = time.monotonic()
        if len(pairs) >= PAIRS_MIN and began + longest > end:
            break
        order = ("auto", "off") if len(pairs) % 2 else ("off", "auto")
        pairs.append({trace: latency(drill, ranks, trace, variables) for trace in order})
        longest = max(longest, time.monotonic() - began)
    for what in ("alone_us", "batched_us"):
        ours = [pair["auto"][what] for pair in pairs]
        peer = [pair["off"][what] for pair in pairs]
        ratio, least, most = harness.ratio_interval(ours, peer)
        added = statistics.median(a - b for a, b in zip(ours, peer, strict=True))
        drill.figure(f"{ranks} ranks, {what}", {
            "with": ours, "without": peer, "ratio": ratio, "least": least, "most": most,
            "added_us": added})
        drill.claim(f"{ranks} ranks, {what}: at most {SLOWER_MAX} of the time without the plugin",
                    least <= SLOWER_MAX, f"{ratio:.3f} ({least:.3f} to {most:.3f}), "
                    f"{added:+.2f} us")
    return f"{ranks} ranks {ratio:.3f} ({least:.3f} to {most:.3f}), {added:+.2f} us"


@contextlib.contextmanager
def shared_gpu():
    """NVIDIA's MPS, so that kernels of several processes run at once; without it the GPU gives them
    turns of milliseconds. Yields its variables; None: it does not start."""
    with harness.Scratch() as folder:
        places = {"CUDA_MPS_PIPE_DIRECTORY": str(folder), "CUDA_MPS_LOG_DIRECTORY": str(folder)}
        environment = {**os.environ, **places}
        program = "nvidia-cuda-mps-control"
        started = tools.output_of(program, "-d", env=environment)
        try:
            yield None if started is None else places
        finally:
            if started is not None:
                subprocess.run([program], input="quit\n", text=True, env=environment,
                               capture_output=True)


def overhead(drill):
    """the time of a small all_reduce with and without the plugin, one rank"""
    drill.need_nccl()
    return overhead_of(drill, 1, 12, {})


def overhead2(drill):
    """the time of a small all_reduce with and without the plugin, two ranks"""
    drill.need_ranks(2)
    drill.need_gpu()
    with shared_gpu() as places:
        drill.figure("MPS", places is not None)
        if places is not None:
            try:
                return "MPS: " + overhead_of(drill, 2, 20, places)
            except Wrong as why:
                drill.figure("why not with MPS", str(why))
    return overhead_of(drill, 2, 20, {})


def bandwidth(drill):
    """the bandwidth of all_reduce in the report, against the ranks' own clocks"""
    drill.need_ranks(2)
    drill.need_gpu()
    with job(drill, "--standby=off", "--max-restarts=0", "--nproc-per-node=2", COLLECTIVES,
             "bandwidth", BANDWIDTH_BATCHES) as running:
        code = running.ended(60)
        if code != 0:
            raise Wrong(f"2 ranks ended with {code}: {last_lines(running.errors)}")
        result = json.loads((running.folder / "result.0").read_text())
        rows = [row for row in running.report().get("bandwidth", [])
                if row["operation"] == "all_reduce"]
    drill.figure("by the ranks' clock", result)
    drill.figure("rows of the report", rows)
    if not drill.claim("the report has one row for all_reduce", len(rows) == 1, rows):
        return ""
    # Kernels alone are faster than kernels with the gaps between them.
    ratio = rows[0]["algorithm_bytes_per_s"] / result["algorithm_bytes_per_s"]
    drill.figure("ratio", ratio)
    drill.claim("it is 0.8 to 2 times that of the ranks' clock", 0.8 <= ratio <= 2, ratio)
    drill.claim("the bus bandwidth is that of two ranks", abs(
        rows[0]["bus_bytes_per_s"] / rows[0]["algorithm_bytes_per_s"] - 1) < 0.01, rows)
    return f"{rows[0]['algorithm_bytes_per_s'] / 1e9:.3g} GB/s, {ratio:.2f} of the ranks' clock"


FIRST = [Check("one-rank", one_rank, 120, 20, alone=False),
         Check("versions", versions, 120, 15, alone=False),
         Check("shared-slot", shared_slot, 60, 10, alone=False)]
TIMES = [Check("overhead-2", overhead2, 90, 25), Check("overhead", overhead, 60, 15),
         Check("bandwidth", bandwidth, 90, 25)]
