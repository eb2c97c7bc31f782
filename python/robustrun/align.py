"""python -m robustrun.align: tests that all ranks compute the same bits and bytes arrive unchanged.

    robustrun --nproc-per-node 4 --max-restarts 0 -m robustrun.align      # this machine
    robustrun --hosts n[1-8] --max-restarts 0 -m robustrun.align          # a cluster
    torchrun --nproc-per-node 4 -m robustrun.align       # with this package's folder in PYTHONPATH

Every rank trains the same small model from the same numbers (_align/model.py) and hashes its
results. Rank 0 compares them: a rank that differs from itself or from the majority is outvoted
(_align/vote.py). docs/alignment.md lists the conditions for equal bits.

Exit codes: 0 no difference; 10 this rank is outvoted (robustrun itself: at least one rank is); 11
ranks differ without a majority; 1 the test could not run; 2 wrong options.
"""

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from datetime import timedelta

from ._align.vote import first_difference, judge

EXIT_OUTVOTED = 10
EXIT_UNDECIDED = 11
FACTS_BYTES = 64 << 10
STEPS = 3
# For tests and drills: "rank=3", "node=n7", with ",what=exchange" or ",round=2" (of computing).
FLIP = "ROBUSTRUN_ALIGN_FLIP"

# Read by the libraries at their first use, so they are set before torch is imported.
_SETTINGS = {
    "portable": {"MKL_CBWR": "COMPATIBLE", "ATEN_CPU_CAPABILITY": "default"},
    "native": {"MKL_CBWR": "AUTO"},
}
_CUBLAS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


class CannotTest(Exception):
    pass


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m robustrun.align",
        description="Test that all ranks compute the same bits and that bytes arrive unchanged.",
    )
    parser.add_argument("--check", default="compute,exchange", metavar="LIST",
                        help="compute, exchange, or both (default)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto",
                        help="auto: each rank's GPU where there is one")
    parser.add_argument("--cpu", choices=("portable", "native"), default="portable",
                        help="portable: without the newest instructions, the same bits on all x86 "
                        "processors; native: with them, compared among processors of one model")
    parser.add_argument("--rounds", type=int, default=2, metavar="N",
                        help="compute N times and compare the rounds of each rank, too (default 2)")
    parser.add_argument("--limit", type=float, default=180, metavar="S",
                        help="seconds after which the test counts as failed (default 180)")
    parser.add_argument("--json", metavar="FILE", help="rank 0 writes the verdict here")
    options = parser.parse_args(arguments)
    options.check = set(options.check.split(","))
    if not options.check or options.check - {"compute", "exchange"}:
        parser.error("--check takes compute, exchange, or both separated by a comma")
    if options.rounds < 1 or not options.limit > 0:
        parser.error("--rounds must be at least 1, and --limit more than 0")
    return options


def settle(options):
    """Sets the variables that the libraries read. Restarts the process if torch may have read
    them."""
    wanted = {**_SETTINGS[options.cpu], **_CUBLAS}
    if all(os.environ.get(name) == value for name, value in wanted.items()):
        return
    os.environ.update(wanted)
    if options.cpu == "native":
        os.environ.pop("ATEN_CPU_CAPABILITY", None)
    if "torch" in sys.modules:
        home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
        os.environ["PYTHONPATH"] = ":".join(paths + [home])
        os.execv(sys.executable, [sys.executable, "-u", "-m", "robustrun.align"] + sys.argv[1:])


def main(arguments=None):
    options = parse(sys.argv[1:] if arguments is None else arguments)
    settle(options)
    import faulthandler

    faulthandler.dump_traceback_later(options.limit, exit=True)
    try:
        import torch
        import torch.distributed as dist
    except ImportError as error:
        print("cannot test alignment: %s" % error, file=sys.stderr)
        return 1
    try:
        code = Test(torch, dist, options).run()
    except (CannotTest, RuntimeError) as error:
        print("cannot test alignment: %s" % error, file=sys.stderr)
        leave_error("CannotTest: the alignment test could not run: %s" % error)
        return 1
    faulthandler.cancel_dump_traceback_later()
    return code


class Test:
    def __init__(self, torch, dist, options):
        self.torch, self.dist, self.options = torch, dist, options
        self.rank = int(os.environ.get("RANK", 0))
        self.world = int(os.environ.get("WORLD_SIZE", 1))
        self.host = platform.node()
        self.node = os.environ.get("ROBUSTRUN_NODE") or self.host
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        self.device, self.model_name = self._choose_device()
        self.exact = self.device == "cpu" and options.cpu == "portable"
        if self.device == "cpu":
            torch.backends.mkldnn.enabled = not self.exact

    def run(self):
        began = time.monotonic()
        if self.world > 1:
            self.dist.init_process_group(
                "gloo", timeout=timedelta(seconds=self.options.limit))
        try:
            everyone, verdict = self._test()
            if self.rank == 0:
                self._tell(everyone, verdict, time.monotonic() - began)
            if self.world > 1:
                self.dist.barrier()  # the first rank to end may end the others: report first
        finally:
            if self.world > 1:
                self.dist.destroy_process_group()
        return self._leave(verdict)

    def _test(self):
        facts = {"rank": self.rank, "node": self.node, "host": self.host, "kind": self._kind(),
                 "group": os.environ.get("GROUP_RANK", "0"),
                 "digests": [], "unsteady": None, "damaged": [], "received": 0}
        if "compute" in self.options.check:
            facts["digests"], facts["unsteady"] = self._compute()
        everyone = self._share(facts)
        if "exchange" in self.options.check and self.world > 1:
            facts["damaged"], facts["received"] = self._exchange(everyone)
            everyone = self._share(facts)
        return everyone, judge(everyone)

    def _choose_device(self):
        cuda = self.torch.cuda
        if self.options.device == "cpu" or (
                self.options.device == "auto" and not cuda.is_available()):
            return "cpu", processor_model()
        if not cuda.is_available():
            raise CannotTest("torch sees no GPU")
        number = int(os.environ.get("LOCAL_RANK", 0)) % cuda.device_count()
        cuda.set_device(number)
        return "cuda:%d" % number, cuda.get_device_name(number)

    def _precisions(self):
        if self.exact:
            return ["float32", "float64"]
        if self.device == "cpu" or self.torch.cuda.is_bf16_supported():
            return ["float32", "bfloat16"]
        return ["float32", "float16"]

    def _kind(self):
        """Ranks of the same kind must compute the same bits."""
        what = "portable" if self.exact else self.model_name
        return "%s, %s, torch %s, %s" % (
            self.device.partition(":")[0], what, self.torch.__version__, platform.machine())

    def _compute(self):
        first, unsteady = None, None
        for number in range(1, self.options.rounds + 1):
            results = [list(pair) for pair in self._one_round(number)]
            first = first or results
            if results != first and unsteady is None:
                unsteady = first_difference(first, results)
            _tell_progress(number)
        return first, unsteady

    def _one_round(self, number):
        from ._align.model import LARGE, SMALL, Model

        flips = self._flips("compute", number)
        for index, precision in enumerate(self._precisions()):
            model = Model(self.torch, self.device, precision, self.exact,
                          SMALL if self.device == "cpu" else LARGE)

            def after_update(model, step, drill=flips and index == 0):
                if drill and step == 2:
                    model.flip_bit()

            for result in model.train(STEPS, after_update):
                yield result

    def _exchange(self, everyone):
        from ._align.exchange import exchange

        nodes = {}
        for facts in everyone:
            nodes.setdefault((facts["group"], facts["node"]), []).append(facts["rank"])
        group = None
        if self.device != "cpu":
            group = self.dist.new_group(
                backend="nccl", timeout=timedelta(seconds=self.options.limit))
        return exchange(self.torch, self.dist, group, self.rank, list(nodes.values()),
                        self.device, self._flips("exchange", 1))

    def _flips(self, what, number):
        words = dict(word.partition("=")[::2] for word in os.environ.get(FLIP, "").split(","))
        return (("rank" in words or "node" in words)
                and words.get("rank", str(self.rank)) == str(self.rank)
                and words.get("node", self.node) == self.node
                and words.get("what", "compute") == what
                and words.get("round", str(number)) == str(number))

    def _share(self, facts):
        """The facts of all ranks, in order. Facts that arrive damaged end the test."""
        if self.world == 1:
            return [facts]
        body = json.dumps(facts).encode()
        if len(body) > FACTS_BYTES - 36:
            raise CannotTest("%d bytes of results are too many" % len(body))
        page = hashlib.sha256(body).digest() + len(body).to_bytes(4, "little") + body
        mine = self.torch.frombuffer(bytearray(page.ljust(FACTS_BYTES, b"\0")),
                                     dtype=self.torch.uint8)
        pages = [self.torch.zeros_like(mine) for _ in range(self.world)]
        self.dist.all_gather(pages, mine)
        return [self._read(bytes(page.tolist()), rank) for rank, page in enumerate(pages)]

    def _read(self, page, rank):
        body = page[36 : 36 + int.from_bytes(page[32:36], "little")]
        if hashlib.sha256(body).digest() != page[:32]:
            raise CannotTest("results of rank %d arrived damaged at rank %d" % (rank, self.rank))
        return json.loads(body)

    def _tell(self, everyone, verdict, seconds):
        nodes = len({(facts["group"], facts["node"]) for facts in everyone})
        kinds = sorted({facts["kind"] for facts in everyone})
        done = {"ranks": self.world, "nodes": nodes, "kinds": kinds,
                "results": len(everyone[0]["digests"]), "rounds": self.options.rounds,
                "blocks": sum(facts["received"] for facts in everyone),
                "seconds": round(seconds, 3)}
        total = hashlib.sha256(json.dumps(everyone[0]["digests"]).encode()).hexdigest()
        print("alignment test: %d rank(s) on %d node(s); %d results, %d round(s); %d blocks sent; "
              "%.1f s" % (self.world, nodes, done["results"], done["rounds"], done["blocks"],
                          seconds))
        print("compared among: " + "; ".join(kinds))
        for line in in_words(verdict, everyone):
            print(line)
        print("%s (rank 0: %s)" % (verdict["result"], total[:16]), flush=True)
        if self.options.json:
            unfinished = self.options.json + ".unfinished"
            with open(unfinished, "w") as file:
                json.dump({**verdict, "tested": done, "digest": total}, file, indent=1)
                file.write("\n")
            os.replace(unfinished, self.options.json)

    def _leave(self, verdict):
        """The exit code: an error, which the agent reads, on ranks at fault; 0 on all others."""
        for accused in verdict["outvoted"]:
            if accused["rank"] == self.rank:
                leave_error("SilentCorruption: outvoted by the bit-wise alignment test: rank %d "
                            "on %s %s" % (self.rank, self.node, accused["why"]))
                return EXIT_OUTVOTED
        for group in verdict["undecided"]:
            if self.rank in group["ranks"] and not verdict["outvoted"]:
                leave_error("SilentCorruption: no majority in the bit-wise alignment test: ranks "
                            "%s: %s" % (ranks_text(group["ranks"]), group["why"]))
                return EXIT_UNDECIDED
        return 0


def in_words(verdict, everyone):
    for accused in verdict["outvoted"]:
        where = accused["node"]
        if accused["host"] != where:
            where += " (%s)" % accused["host"]
        yield "outvoted: rank %d on %s: %s" % (accused["rank"], where, accused["why"])
    nodes = {facts["rank"]: facts["node"] for facts in everyone}
    for group in verdict["undecided"]:
        there = sorted({nodes[rank] for rank in group["ranks"]})
        yield "undecided: ranks %s on %s: %s" % (
            ranks_text(group["ranks"]), ", ".join(there), group["why"])
    if verdict["alone"]:
        yield "compared only with itself, the only rank of its kind: rank(s) %s" % ranks_text(
            verdict["alone"])


def ranks_text(ranks):
    return ",".join(map(str, ranks[:32])) + (",…" if len(ranks) > 32 else "")


def processor_model():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def leave_error(message):
    """Writes `message` to stderr and, in the format of torch's error handler, to the error file."""
    print(message, file=sys.stderr, flush=True)
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if path:
        extra = {"py_callstack": "", "timestamp": str(int(time.time()))}
        try:
            with open(path, "w") as file:
                json.dump({"message": {"message": message, "extraInfo": extra}}, file)
        except OSError:
            pass  # stderr has it


def _tell_progress(number):
    from ._api import calls

    calls.step(number)


if __name__ == "__main__":
    sys.exit(main())
