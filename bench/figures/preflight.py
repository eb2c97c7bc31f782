"""The check before the start: 64 agents, from the last one connected until the group may start.

With --preflight=fast and with off, in turns; the difference is the cost of the check. Every agent
is a process of its own, calls the 63 others, and starts two helpers: one for the versions of Python
and torch, one for the GPUs. All of them share this machine's processors, so there is also a figure
without the interpreter.
"""

import statistics

from fleet import FOREVER, Fleet
from harness import Figure, Quick, Scratch, in_turns

AGENTS = 64
SECONDS_MAX = 2
ROUNDS = 10
QUICK = Quick(25, "5 rounds instead of 10", rounds=5)
WAIT = "import time\ntime.sleep(100000)\n"


def until_reserved(depth, with_python):
    """Seconds from the last agent's hello to the answer to the first order, and the decisions of
    preflight."""
    with Scratch() as folder:
        script = folder / "wait.py"
        script.write_text(WAIT)
        program = [script] if with_python else ["--no-python", *FOREVER]
        with Fleet(folder, AGENTS, f"--preflight={depth}", program=program) as fleet:
            (reserved,) = fleet.wait(lambda _: fleet.journal.of("PortReserved"), "PortReserved")
            joined = fleet.journal.of("AgentJoined")
            assert len({record.node for record in joined}) == AGENTS, "not all agents were there"
            said = [record.text for record in fleet.journal.of("Decision")
                    if record.rule == "Preflight"]
        return (reserved.at - joined[-1].at) / 1e9, said


def compare(with_python, rounds):
    checked, plain = in_turns(rounds, lambda: until_reserved("fast", with_python),
                              lambda: until_reserved("off", with_python))
    for _, said in checked:
        assert len(said) == 1 and f"{AGENTS} nodes checked" in said[0], said
        assert "unfit" not in said[0], said
    assert not any(said for _, said in plain)
    return [seconds for seconds, _ in checked], [seconds for seconds, _ in plain]


def measure(quick):
    figures = []
    for name, with_python in (("with Python", True), ("no interpreter", False)):
        checked, plain = compare(with_python, QUICK.rounds if quick else ROUNDS)
        more = statistics.median(a - b for a, b in zip(checked, plain, strict=True))
        figures.append(Figure(f"{AGENTS} agents, connected until start, {name}", "s", checked,
                              plain, f"below {SECONDS_MAX} s more", more < SECONDS_MAX,
                              f"{more:.3g} s more than with --preflight=off (the peer here)"))
    return figures
