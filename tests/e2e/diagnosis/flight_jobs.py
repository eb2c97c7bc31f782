"""Simulated hung jobs of 16 ranks with NCCL, and what PyTorch's Flight Recorder would hold of them.

    python flight_jobs.py KIND SEED FOLDER [--faulty N]  writes the dumps of one job, and the truth
    python flight_jobs.py --campaign ROBUSTRUN [--seeds N] recall and precision of `diagnose`

The job trains as Megatron does: pipeline stages (1F1B, batched sends and receives), tensor-parallel
and expert-parallel collectives within a layer, data-parallel gradients, a norm over all ranks. The
simulation is of the machinery, not of the dumps: a host that launches ahead of its GPU until it
must wait for it; ordered streams, one per communicator, after one of computations; collectives that
end when all members have entered; sends that end with their receive. A fault stops or changes one
of these, and the rest of the job comes to rest by itself. Nothing here uses the analyzer's rules.

KIND, of ranks chosen by the seed:
  sleep    the host launches nothing any more
  lock     the same, and its dump is empty, empty but for pg_status, of no length, or missing
  gpu      the GPU does nothing any more, the host goes on
  watchdog the GPU stops, some time after the recorder's last update: a driver that hangs
  skip     one operation is left out
  order    two operations of different groups are called in the other order
"""

import argparse
import collections
import heapq
import json
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "fixtures" / "flight_recorder"))
import write_nccl  # noqa: E402

WORLD = 16
KINDS = ("sleep", "lock", "gpu", "watchdog", "skip", "order")
DESCRIPTIONS = {"tp": "TENSOR_MODEL_PARALLEL_GROUP", "pp": "PIPELINE_MODEL_PARALLEL_GROUP",
                "dp": "DATA_PARALLEL_GROUP", "ep": "EXPERT_MODEL_PARALLEL_GROUP",
                "world": "default_pg"}


class Group:
    def __init__(self, kind, name, ranks):
        self.kind, self.name, self.ranks = kind, name, ranks


class Call:
    """One call of a rank: a collective, or a batch of sends and receives."""

    def __init__(self, group, kind, size=0, overlaps=False, peers=(), batched=True):
        self.group, self.kind, self.size = group, kind, size
        self.overlaps = overlaps  # computations do not wait for this call
        self.peers = peers  # of a batch: (is_send, rank)
        self.batched = batched
        self.number = 0  # of the collective, or of the batch, in its group and on its rank
        self.collectives_before = 0
        self.launched = self.came = self.ended = None
        self.seen_started = self.seen_ended = None  # by the recorder


class Wait:
    """The host waits until its GPU has done everything so far."""


class Job:
    def __init__(self, kind, seed, faulty):
        self.kind, self.seed = kind, seed
        self.random = random.Random(f"{kind} {seed} {faulty}")
        self.draw_layout()
        self.programs = [self.program(rank) for rank in range(WORLD)]
        self.draw_faults(faulty)
        self.play()

    # The training and its layout.

    def draw_layout(self):
        draw = self.random
        self.tp, self.pp, self.dp = draw.choice([(2, 2, 4), (4, 2, 2), (2, 4, 2), (2, 2, 4)])
        self.ep = draw.choice([size for size in (2, 4) if size <= self.dp])
        self.microbatches = draw.choice([2, 4])
        self.layers = draw.choice([1, 2])
        self.steps = draw.choice([2, 3])
        self.overlap = draw.random() < 0.6  # gradients are reduced beside the computations
        self.wait_for_pipeline = draw.random() < 0.5  # torch.cuda.synchronize() after each batch
        self.batched = draw.random() < 0.7
        self.timing = draw.random() < 0.3  # TORCH_NCCL_ENABLE_TIMING
        self.ahead = draw.choice([32, 1000])  # launches before the host has to wait
        self.ring = draw.choice([2000, 2000, 60])
        self.form = draw.choice(["pickle", "json", "torch"])
        count = iter(range(1, 1000))
        self.groups = collections.defaultdict(dict)  # kind → rank → group
        self.all_groups = []

        def add(kind, ranks, name=None):
            group = Group(kind, name or str(next(count)), ranks)
            self.all_groups.append(group)
            for rank in ranks:
                self.groups[kind][rank] = group

        add("world", list(range(WORLD)), "0")
        at = {self.rank_at(t, d, p): (t, d, p)
              for t in range(self.tp) for d in range(self.dp) for p in range(self.pp)}
        for kind, key in (("dp", lambda t, d, p: (t, p)), ("tp", lambda t, d, p: (d, p)),
                          ("pp", lambda t, d, p: (t, d)),
                          ("ep", lambda t, d, p: (t, p, d // self.ep))):
            members = collections.defaultdict(list)
            for rank in sorted(at):
                members[key(*at[rank])].append(rank)
            for _, ranks in sorted(members.items()):
                add(kind, ranks)

    def rank_at(self, t, d, p):
        return t + self.tp * (d + self.dp * p)

    def program(self, rank):
        stage = rank // (self.tp * self.dp)
        before, after = rank - self.tp * self.dp, rank + self.tp * self.dp
        group = {kind: self.groups[kind][rank] for kind in DESCRIPTIONS}
        program = []

        def exchange(*peers):
            peers = [peer for peer in peers if 0 <= peer[1] < WORLD]
            if peers and self.batched:
                program.append(Call(group["pp"], "p2p", 4096, peers=peers))
            else:
                for peer in peers:
                    program.append(Call(group["pp"], "p2p", 4096, peers=[peer], batched=False))
            if peers and self.wait_for_pipeline:
                program.append(Wait())

        def layers(is_last_backward=False):
            for _ in range(self.layers):
                program.append(Call(group["tp"], "_all_gather_base", 2048))
                program.append(Call(group["tp"], "_reduce_scatter_base", 4096))
                program.append(Call(group["ep"], "all_to_all", 1024))
                program.append(Call(group["ep"], "all_to_all", 1024))
                if is_last_backward:
                    program.append(Call(group["dp"], "all_reduce", 65536, overlaps=self.overlap))

        for _ in range(self.steps):
            warm = min(self.pp - stage - 1, self.microbatches)
            rest = self.microbatches - warm
            for _ in range(warm):
                exchange((False, before))
                layers()
                exchange((True, after))
            if rest:
                exchange((False, before))
            for i in range(rest):
                layers()
                # Unbatched, stages take turns; otherwise both would send first.
                exchange((True, after), (False, after))
                layers(is_last_backward=not warm and i == rest - 1)
                if i == rest - 1:
                    exchange((True, before))
                elif self.batched:
                    exchange((True, before), (False, before))
                else:
                    exchange((False, before), (True, before))
            for i in range(warm):
                exchange((False, after))
                layers(is_last_backward=i == warm - 1)
                exchange((True, before))
            program.append(Call(group["world"], "all_reduce", 1))
            program.append(Wait())
            program.append(Call(group["dp"], "all_reduce", 1))
        return program

    # The faults.

    def draw_faults(self, count):
        draw = self.random
        self.faulty = sorted(draw.sample(range(WORLD), count))
        self.stops_at = {}  # rank → place in its program where the host stops
        self.gpu_stops = {}  # rank → time
        self.blind_from = {}  # rank → time
        self.changed = {}
        if self.kind in ("sleep", "lock"):
            step = draw.randrange(self.steps)
            for rank in self.faulty:
                length = len(self.programs[rank]) // self.steps
                self.stops_at[rank] = step * length + draw.randrange(length)
        elif self.kind in ("gpu", "watchdog"):
            at = draw.uniform(0.2, 0.8)
            for rank in self.faulty:
                self.gpu_stops[rank] = at + draw.uniform(0, 0.02)
        else:
            for rank in self.faulty:
                self.change(rank)

    def change(self, rank):
        program = self.programs[rank]
        draw = self.random
        if self.kind == "skip":
            calls = [i for i, call in enumerate(program)
                     if isinstance(call, Call) and not call.peers]
            self.changed[rank] = draw.choice(calls)
            del program[self.changed[rank]]
            return
        swaps = [i for i in range(len(program) - 1)
                 if all(isinstance(call, Call) and not call.peers for call in program[i:i + 2])
                 and program[i].group is not program[i + 1].group]
        self.changed[rank] = at = draw.choice(swaps)
        program[at], program[at + 1] = program[at + 1], program[at]

    # The simulation.

    def play(self):
        self.number_calls()
        self.events = []
        self.tick = iter(range(10**9))
        self.next_call = [0] * WORLD
        self.calls = [[c for c in program if isinstance(c, Call)] for program in self.programs]
        self.host_free = [self.random.uniform(0, 0.001) for _ in range(WORLD)]
        self.pending = [[] for _ in range(WORLD)]  # launched, not ended
        self.here = collections.defaultdict(dict)  # operation of a group → rank → call
        self.transfers = collections.defaultdict(dict)
        if self.gpu_stops:
            self.scale_gpu_stops()
        for rank in range(WORLD):
            self.at(self.host_free[rank], self.host, rank)
        self.now = 0.0
        while self.events:
            self.now, _, act, argument = heapq.heappop(self.events)
            act(argument)
        self.observe()

    def scale_gpu_stops(self):
        """Converts shares of the whole run to seconds, by a simulation without the fault."""
        sound = object.__new__(Job)
        sound.__dict__.update(self.__dict__)
        sound.random = random.Random(f"{self.kind} {self.seed} sound")
        sound.gpu_stops, sound.programs = {}, [self.program(rank) for rank in range(WORLD)]
        sound.play()
        for rank, part in self.gpu_stops.items():
            self.gpu_stops[rank] = part * sound.now
        if self.kind == "watchdog":
            for rank, time in self.gpu_stops.items():
                self.blind_from[rank] = time - self.random.uniform(0.01, 0.1) * sound.now

    def at(self, time, act, argument):
        heapq.heappush(self.events, (time, next(self.tick), act, argument))

    def number_calls(self):
        for rank, program in enumerate(self.programs):
            collectives, batches = collections.Counter(), collections.Counter()
            for call in program:
                if not isinstance(call, Call):
                    continue
                call.rank = rank
                counter = batches if call.peers else collectives
                counter[call.group.name] += 1
                call.number = counter[call.group.name]
                call.collectives_before = collectives[call.group.name]
            pairs = collections.Counter()
            for call in program:
                if not isinstance(call, Call):
                    continue
                call.pairs = []
                for is_send, peer in call.peers:
                    way = (rank, peer) if is_send else (peer, rank)
                    pairs[(way, is_send)] += 1
                    call.pairs.append((call.group.name, way, pairs[(way, is_send)]))

    def host(self, rank):
        """Launches the next call, unless the host has to wait; then the end of a call wakes it."""
        program = self.programs[rank]
        i = self.next_call[rank]
        if i >= len(program) or self.stops_at.get(rank) == i:
            return
        item = program[i]
        if isinstance(item, Wait):
            if self.pending[rank]:
                return
            self.next_call[rank] += 1
            self.at(self.now, self.host, rank)
            return
        if len(self.pending[rank]) >= self.ahead:
            return
        self.next_call[rank] += 1
        item.launched = self.now
        self.pending[rank].append(item)
        self.try_to_come(rank)
        self.at(self.now + self.random.uniform(20e-6, 60e-6), self.host, rank)

    def try_to_come(self, rank):
        """Calls that nothing on their own GPU blocks any more enter their operation."""
        busy_streams = set()
        held = False
        for call in self.pending[rank]:
            if not held and call.group.name not in busy_streams and call.came is None:
                call.came = -1.0  # on its way
                self.at(self.now + self.random.uniform(50e-6, 300e-6), self.come, call)
            busy_streams.add(call.group.name)
            held = held or not call.overlaps

    def is_stopped(self, rank):
        return self.now >= self.gpu_stops.get(rank, float("inf"))

    def come(self, call):
        if self.is_stopped(call.rank):
            return
        call.came = self.now
        if not call.peers:
            key = (call.group.name, call.number)
            self.here[key][call.rank] = call
            members = self.here[key]
            alike = len({(c.kind, c.size) for c in members.values()}) == 1
            if len(members) == len(call.group.ranks) and alike:
                self.at(self.now + self.random.uniform(50e-6, 200e-6), self.end_all,
                        list(members.values()))
            return
        for key in call.pairs:
            self.transfers[key][call.rank] = call
            if len(self.transfers[key]) == 2:
                self.at(self.now + 50e-6, self.transferred, key)

    def transferred(self, key):
        calls = list(self.transfers[key].values())
        if any(self.is_stopped(call.rank) for call in calls):
            return
        for call in calls:
            call.pairs.remove(key)
            if not call.pairs:
                self.end(call)

    def end_all(self, calls):
        if any(self.is_stopped(call.rank) for call in calls):
            return
        for call in calls:
            self.end(call)

    def end(self, call):
        call.ended = self.now
        self.pending[call.rank].remove(call)
        self.try_to_come(call.rank)
        self.at(self.now, self.host_wakes, call.rank)

    def host_wakes(self, rank):
        i = self.next_call[rank]
        if i >= len(self.programs[rank]):
            return
        item = self.programs[rank][i]
        waits = isinstance(item, Wait) and not self.pending[rank]
        full = not isinstance(item, Wait) and len(self.pending[rank]) == self.ahead - 1
        if waits or full:
            self.host(rank)

    # The records of each rank.

    def observe(self):
        self.is_hung = any(self.pending)
        for rank, calls in enumerate(self.calls):
            blind = self.blind_from.get(rank, float("inf"))
            for call in calls:
                if call.came is not None and 0 <= call.came < blind and self.timing:
                    call.seen_started = call.came
                if call.ended is not None and call.ended < blind:
                    call.seen_ended = call.ended + self.random.uniform(0, 0.001)
                    if self.timing:
                        call.seen_started = call.came
        # The faulty ranks that have reached their fault, and those that still block another rank.
        self.truth = [rank for rank in self.faulty if self.has_come_to_its_fault(rank)]
        self.blocking = [rank for rank in self.truth if self.holds_up(rank)]

    def has_come_to_its_fault(self, rank):
        if self.kind in ("sleep", "lock"):
            return self.next_call[rank] == self.stops_at[rank]
        if self.kind in ("gpu", "watchdog"):
            return bool(self.pending[rank])
        return self.next_call[rank] > self.changed[rank]

    def holds_up(self, rank):
        """Whether another rank is inside an operation that this one has not launched, or whose
        launch its GPU does not carry out."""
        if self.kind in ("skip", "order"):
            return True
        own = {(c.group.name, c.number) for c in self.calls[rank]
               if c.launched is not None and not c.peers and (c.came or -1) >= 0}
        for key, members in self.here.items():
            group = next(g for g in self.all_groups if g.name == key[0])
            is_open = any(c.ended is None for c in members.values())
            if rank in group.ranks and is_open and key not in own and set(members) - {rank}:
                return True
        return any(rank in way and len(members) == 1 and rank not in members
                   for (_, way, _), members in self.transfers.items())

    def entries(self, rank):
        ids = {group.name: i for i, group in enumerate(self.groups_of(rank))}
        made = []

        def add(call, name, number, p2p, sizes, out, has_state):
            state = "scheduled"
            if has_state and call.seen_ended is not None:
                state = "completed"
            elif has_state and call.seen_started is not None:
                state = "started"
            created = self.nanoseconds(rank, call.launched)
            entry = {
                "record_id": len(made), "pg_id": ids[call.group.name],
                "process_group": (call.group.name, DESCRIPTIONS[call.group.kind]),
                "thread_name": "pt_main_thread", "thread_id": str(140000000000000 + rank),
                "collective_seq_id": number, "p2p_seq_id": p2p, "op_id": len(made) + 1,
                "profiling_name": "nccl:" + name, "time_created_ns": created}
            if self.timing and state == "completed":
                entry["duration_ms"] = (call.ended - call.came) * 1e3
            entry |= {
                "input_sizes": sizes, "input_dtypes": ["BFloat16"] * len(sizes),
                "output_sizes": out, "output_dtypes": ["BFloat16"] * len(out), "state": state,
                "time_discovered_started_ns": self.nanoseconds(rank, call.seen_started)
                if has_state else None,
                "time_discovered_completed_ns": self.nanoseconds(rank, call.seen_ended)
                if has_state else None,
                "retired": state == "completed", "timeout_ms": 600000, "is_p2p": bool(call.peers)}
            made.append(entry)

        for call in self.calls[rank]:
            if call.launched is None:
                break
            size = len(call.group.ranks)
            if not call.peers:
                out = {"_all_gather_base": call.size * size,
                       "_reduce_scatter_base": call.size // size}.get(call.kind, call.size)
                add(call, call.kind, call.number, 0, [[call.size]], [[out]], True)
                continue
            own = call.group.ranks.index(rank)
            for is_send, peer in call.peers:
                other = call.group.ranks.index(peer)
                name = f"send {own}->{other}" if is_send else f"recv {own}<-{other}"
                add(call, name, call.collectives_before, call.number, [[call.size]], [[call.size]],
                    not call.batched)
            if call.batched:
                add(call, "coalesced", call.collectives_before, call.number, [], [], True)
        return made[-self.ring:]

    def nanoseconds(self, rank, time):
        if time is None:
            return None
        skew = (rank * 7919 % 41 - 20) * 1_000_000  # clocks differ by some ms
        return write_nccl.EPOCH_NS + skew + int(time * 1e9)

    def groups_of(self, rank):
        return [group for group in self.all_groups if rank in group.ranks]

    def used_groups(self, rank):
        used = {call.group.name for call in self.calls[rank] if call.launched is not None}
        return [group for group in self.groups_of(rank) if group.name in used]

    def status(self, rank):
        found = {}
        ids = {group.name: i for i, group in enumerate(self.groups_of(rank))}
        for group in self.used_groups(rank):
            calls = [c for c in self.calls[rank] if c.group is group and c.launched is not None]

            def last(name, calls=calls):
                seen = [c.number for c in calls if getattr(c, name) is not None]
                return seen[-1] if seen else -1
            found[str(ids[group.name])] = {
                "last_enqueued_collective": last("launched"),
                "last_started_collective": last("seen_started"),
                "last_completed_collective": last("seen_ended")}
        return found

    def dump(self, rank):
        dump = {"version": "2.10"}
        dump["pg_config"] = {
            group.name: {"name": group.name, "desc": DESCRIPTIONS[group.kind],
                         "ranks": str(group.ranks)} for group in self.used_groups(rank)}
        dump["comm_lib_version"] = "2.28.9"
        dump["pg_status"] = self.status(rank)
        dump["entries"] = self.entries(rank)
        return dump

    def write(self, folder):
        how = self.random.choice(["bare", "groups", "status", "status", "length", "missing"])
        self.how = how if self.kind == "lock" else ""
        for rank in range(WORLD):
            dump = self.dump(rank)
            path = pathlib.Path(folder, f"nccl_trace_rank_{rank}")
            if self.kind == "lock" and rank in self.truth:
                if how == "missing":
                    continue
                if how == "length":
                    path.write_bytes(b"")
                    continue
                dump["entries"] = []
                if how == "bare":
                    dump["pg_config"] = {}
                if how != "status":
                    dump["pg_status"] = {}
            path.write_bytes(as_bytes(dump, self.form))


def as_bytes(dump, form):
    if form == "pickle":
        return pickle.dumps(dump)  # as a Python tool would write it
    if form == "torch":
        pickler = write_nccl.Pickler()
        pickler.put(dump)
        return pickler.finish()
    return write_nccl.as_json(dump)


def diagnose(robustrun, folder):
    done = subprocess.run([robustrun, "diagnose", "--json", "--from", str(folder)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return {"finding": "refused", "culprits": [], "sentence": done.stderr.strip(), "notes": []}
    return json.loads(done.stdout)


def campaign(robustrun, kinds, counts, seeds, first, shown):
    for kind in kinds:
        for count in counts:
            told = collections.Counter()
            for seed in range(first, first + seeds):
                job = Job(kind, seed, count)
                if not job.is_hung or not job.truth:
                    told["no hang"] += 1
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    job.write(folder)
                    verdict = diagnose(robustrun, folder)
                named, truth = set(verdict["culprits"]), set(job.truth)
                blocking = set(job.blocking)
                told["jobs"] += 1
                told["exact"] += named == truth
                told["exact of those that block"] += bool(blocking) and blocking <= named <= truth
                told["hit"] += len(named & truth)
                told["missed"] += len(truth - named)
                told["missed that block"] += len(blocking - named)
                told["wrong"] += len(named - truth)
                told["jobs with a wrong one"] += bool(named - truth)
                told["none named"] += not named
                told["finding " + verdict["finding"]] += 1
                if shown and (named - truth or blocking - named):
                    print(f"  {kind} {seed} {count}{' ' + job.how if job.how else ''}: truth "
                          f"{sorted(truth)} (block: {sorted(blocking)}), named {sorted(named)}, "
                          f"{verdict['finding']}: {verdict['sentence']}")
            recall = told["hit"] / max(1, told["hit"] + told["missed"])
            blocking = told["hit"] / max(1, told["hit"] + told["missed that block"])
            precision = told["hit"] / max(1, told["hit"] + told["wrong"])
            print(f"{kind:9} {count} faulty: {told['jobs']} jobs, exact {told['exact']}, recall "
                  f"{recall:.3f} (of those that block {blocking:.3f}), precision {precision:.3f}; "
                  + ", ".join(f"{key} {value}" for key, value in sorted(told.items())
                              if key.startswith(("finding", "jobs with", "none"))), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="KIND SEED FOLDER")
    parser.add_argument("--faulty", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--campaign", metavar="ROBUSTRUN")
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="jobs that were judged wrongly")
    arguments = parser.parse_args()
    if arguments.campaign:
        print(f"seeds {arguments.first} to {arguments.first + arguments.seeds - 1}")
        campaign(arguments.campaign, arguments.kinds, arguments.faulty, arguments.seeds,
                 arguments.first, arguments.show)
        return
    kind, seed, folder = arguments.what
    job = Job(kind, int(seed), arguments.faulty[0])
    os.makedirs(folder, exist_ok=True)
    job.write(folder)
    print(f"seed {seed}: hung {job.is_hung}, faulty {job.truth}, that block {job.blocking}; tp "
          f"{job.tp} pp {job.pp} dp {job.dp} ep {job.ep}, {job.form}, ring {job.ring}, timing "
          f"{job.timing}, overlap {job.overlap}")


if __name__ == "__main__":
    main()
