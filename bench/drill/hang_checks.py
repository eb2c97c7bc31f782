"""Hangs and slow ranks injected into real jobs, what names them, and the files that they leave."""

import importlib.metadata
import json
import lzma
import pathlib
import socket
import time

import harness

from drill.frame import Check, Skip
from drill.tools import TRAIN, job, last_lines, output_of

NAMED_S, ENDED_S = 30, 110
HANG_TIMEOUT_S = 80  # of the runs: what is not confirmed by then is ended
DUMP_AFTER_S = 4.0
SENTENCES = {"never entered": "has not entered", "mismatch": "as operation",
             "GPU before the operation": "has not reached"}
RAS_S = 10
NCCL2_TORCH = (2, 14)


def at(running, name):
    """Seconds since the boot at which a rank noted something in the first attempt."""
    return int(running.note(name)[0]) / 1e9


def hang(drill, fault, ranks, victim, finding, extra=None, **variables):
    """Injects a hang and follows it until the restarted job has ended."""
    drill.need_ranks(ranks)
    dumps = ["--dump-after", DUMP_AFTER_S]
    with job(drill, "--standby=off", f"--nproc-per-node={ranks}", "--omp=1",
             f"--hang-timeout={HANG_TIMEOUT_S}s", TRAIN, "--fault", fault, "--rank", victim,
             *dumps, **variables) as running:
        running.note(f"place.{victim}.0", 90)
        begun = at(running, f"fault.{victim}.0")
        found = running.says(r"hang: .*", NAMED_S)
        if not found:
            drill.claim(f"a rank that is made to {fault} is named within {NAMED_S} s", False,
                        last_lines(running.errors))
            return "not named"
        named_s = found[0] - begun
        drill.figure("named_s", round(named_s, 2))
        drill.figure("first sentence", found[1][0])
        verdict = running.ask("diagnose", "--json", running.run_dir) or {}
        drill.record(f"hangs/{fault}.verdict.json", json.dumps(verdict, indent=1))
        drill.claim(f"the rank that is made to {fault} is the one that is named",
                    victim in verdict.get("culprits", ()) or f"rank {victim}" in found[1][0],
                    verdict or found[1][0])
        words = SENTENCES[finding]
        drill.claim(f"the finding is {finding!r}", verdict.get("finding") == finding
                    or words in found[1][0], [verdict.get("finding"), verdict.get("rule"),
                                              verdict.get("confidence"), found[1][0]])
        if extra:
            extra(drill, running, ranks, victim)
        restarted = running.says(r"restart 1|free restart|attempt 1", ENDED_S)
        drill.claim(f"the job is ended and restarted within {ENDED_S} s", restarted is not None,
                    last_lines(running.errors))
        if restarted is None:
            return f"named after {named_s:.1f} s, never ended"
        ended_s = restarted[0] - begun
        drill.figure("ended_s", round(ended_s, 2))
        code = running.ended(60)
        drill.claim("the restarted job succeeds", code == 0,
                    f"{code}: {last_lines(running.errors)}")
        hangs = running.report().get("hangs", [])
        drill.figure("hangs of the report", hangs)
        drill.figure("confirmed", any(each["stage"] == "convicted" for each in hangs))
    return (f"named after {named_s:.1f} s, restarted after {ended_s:.1f} s: "
            f"{verdict.get('finding')} ({verdict.get('confidence')})")


def diagnosis_from(*paths):
    said = output_of(harness.ROBUSTRUN, "diagnose", "--from", *paths, "--json")
    return json.loads(said) if said else None


def files(drill, running, ranks, victim):
    """The dumps of torch's recorder and RAS's answers, each read by itself."""
    time.sleep(DUMP_AFTER_S)
    for kind in ("trace-json", "trace-pickle"):
        folder = running.folder / kind
        folder.mkdir()
        for rank in range(ranks):
            path = running.folder / f"{kind}.{rank}.0"
            harness.wait_for(path.exists, f"the dump {path.name}", 30)
            (folder / f"nccl_trace_rank_{rank}").write_bytes(path.read_bytes())
            drill.record(f"flight/{kind}.{rank}", path.read_bytes())
        verdict = diagnosis_from(folder)
        drill.figure(f"verdict of {kind}", verdict)
        drill.claim(f"{kind}: the dumps name the rank", verdict is not None
                    and victim in verdict["culprits"], verdict)
    if drill.cpu:
        return  # gloo's operations are not in the record
    records = [pathlib.Path(running.note(f"place.{rank}.0")[2]) for rank in range(ranks)]
    folder = running.folder / "records"
    folder.mkdir()
    for rank, path in enumerate(records):
        (folder / f"{rank}.record").write_bytes(path.read_bytes())
        drill.record(f"records/{rank}.record.xz", lzma.compress(path.read_bytes()))
    verdict = diagnosis_from(folder)
    drill.figure("verdict of the records", verdict)
    drill.claim("the records alone name the rank", verdict is not None
                and victim in verdict["culprits"], verdict)
    ras(drill, running, victim)


def ras_ask(address, *lines):
    """What RAS answers after these lines, until it closes or falls silent."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=RAS_S) as link:
        link.settimeout(RAS_S)
        answer = b""
        for line in lines:
            link.sendall(line.encode() + b"\n")
            if line == lines[-1]:
                break
            answer += link.recv(65536)
        while True:
            try:
                data = link.recv(65536)
            except TimeoutError:
                break
            if not data:
                break
            answer += data
    return answer.decode(errors="replace")


def ras(drill, running, victim):
    address = running.note(f"place.{victim}.0")[1]
    for form, setting in (("json", ["SET FORMAT json"]), ("text", [])):
        try:
            whole = ras_ask(address, "CLIENT PROTOCOL 2", f"TIMEOUT {RAS_S // 2}", *setting,
                            "VERBOSE STATUS")
        except OSError as why:
            drill.claim(f"RAS answers in {form}", False, f"{address}: {why}")
            continue
        drill.record(f"ras/{form}.whole.txt", whole)
        start = whole.find("{") if form == "json" else whole.find("NCCL version")
        report = whole[max(start, 0):]
        path = running.folder / f"ras.{form}"
        path.write_text(report)
        drill.record(f"ras/{form}.txt", report)
        verdict = diagnosis_from(path)
        drill.figure(f"verdict of RAS, {form}", verdict)
        drill.claim(f"RAS's {form} is read", verdict is not None, report[:600])
        drill.figure(f"RAS's {form} names the rank", verdict is not None
                     and victim in verdict["culprits"])
    client = output_of("ncclras", "-p", address.rsplit(":", 1)[1], "-v")
    if client:
        drill.record("ras/ncclras.txt", client)


def hang_sleep(drill):
    """a rank that sleeps is named and the job restarted; dumps, records and RAS are read"""
    return hang(drill, "sleep", 2, 1, "never entered", extra=files)


def names_nccl2(drill, running, ranks, victim):
    lines = [line for line in running.errors.splitlines() if "hang: " in line]
    drill.claim("the sentence names the backend", any("(nccl2)" in line for line in lines), lines)


def hang_nccl2(drill):
    """under torch's nccl2, without the plugin, a rank that sleeps is named and the job restarted"""
    if drill.cpu:
        raise Skip("there is no nccl2 without a GPU")
    version = importlib.metadata.version("torch")
    if tuple(map(int, version.split("+")[0].split(".")[:2])) < NCCL2_TORCH:
        raise Skip(f"torch {version} has no nccl2: 2.14 or newer has it")
    return hang(drill, "sleep", 2, 1, "never entered", extra=names_nccl2,
                TORCH_DIST_USE_NCCL2="1", NCCL_PROFILER_PLUGIN="none")


def hang_skip(drill):
    """a rank that leaves a collective out is named and the job restarted"""
    return hang(drill, "skip", 3, 1, "mismatch")


def hang_kernel(drill):
    """a rank whose GPU computes for ever is named and the job ended"""
    if drill.cpu:
        return hang(drill, "kernel", 2, 1, "never entered")
    return hang(drill, "kernel", 2, 1, "GPU before the operation")


def slow(drill):
    """a rank that is late for every collective is named"""
    drill.need_ranks(2)
    with job(drill, "--standby=off", "--nproc-per-node=2", "--omp=1", TRAIN, "--fault=slow",
             "--at=1", "--steps=100000", "--pace=0.05") as running:
        running.note("first-step.1.0", 90)
        begun = at(running, "first-step.1.0")
        found = running.says(r"slow: .*", 70)
        if not drill.claim("a slow rank is named within 70 s", found is not None,
                           last_lines(running.errors)):
            return "not named"
        named_s = found[0] - begun
        drill.figure("named_s", round(named_s, 2))
        drill.figure("sentence", found[1][0])
        drill.claim("it is the slow rank", "rank 1" in found[1][0], found[1][0])
    return f"named {named_s:.1f} s after the first step: {found[1][0]}"


CHECKS = [Check("hang-sleep", hang_sleep, 200, 70, alone=False),
          Check("hang-kernel", hang_kernel, 200, 70, alone=False),
          Check("hang-skip", hang_skip, 200, 40, alone=False),
          Check("slow", slow, 120, 40, alone=False),
          Check("hang-nccl2", hang_nccl2, 200, 70, alone=False)]
