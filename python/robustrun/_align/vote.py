"""Which rank is wrong? The verdict of the alignment test, from the facts of all ranks.

Pure, without torch.

A rank's facts (align.py makes them; they cross the network as JSON):
    rank, node, host    the rank's number and place
    kind                what must be equal for bits to be comparable: device, torch, settings
    digests             [[name, hash], …] of the first round, in the order of computation
    unsteady            null, or the name of the first result that differed in a later round
    damaged             [[sender, receiver], …]: blocks that did not arrive as they were sent

1. A rank that disagrees with itself is named and has no vote.
2. The ranks of each kind vote: more than half of them are right, all others are outvoted. Without
   a majority the test knows that something is wrong, but not where.
3. Damaged blocks are the fault of the one node that all damaged links have in common. If there are
   two such nodes, or none, the test is undecided.
"""

from collections import Counter, defaultdict

ALIGNED, OUTVOTED, UNDECIDED = "aligned", "outvoted", "undecided"


def judge(all_facts):
    """{"result", "outvoted": [{rank, node, host, why}], "undecided": [{ranks, why}],
    "alone": [ranks without another rank of their kind]}"""
    by_rank = {facts["rank"]: facts for facts in all_facts}
    accused, undecided, alone = {}, [], []
    for facts in all_facts:
        if facts["unsteady"]:
            accused[facts["rank"]] = "differs from itself in %s" % facts["unsteady"]
    kinds = defaultdict(list)
    for facts in all_facts:
        if facts["rank"] not in accused and facts["digests"]:
            kinds[facts["kind"]].append(facts)
    for voters in kinds.values():
        if len(voters) == 1 and len(all_facts) > 1:
            alone.append(voters[0]["rank"])
        _vote(voters, accused, undecided)
    _follow_damage(all_facts, by_rank, accused, undecided)
    outvoted = [
        {"rank": rank, "node": by_rank[rank]["node"], "host": by_rank[rank]["host"], "why": why}
        for rank, why in sorted(accused.items())
    ]
    result = OUTVOTED if outvoted else UNDECIDED if undecided else ALIGNED
    return {"result": result, "outvoted": outvoted, "undecided": undecided, "alone": sorted(alone)}


def _vote(voters, accused, undecided):
    ballots = Counter(_ballot(facts) for facts in voters)
    winner, votes = ballots.most_common(1)[0]
    if len(ballots) == 1:
        return
    if 2 * votes <= len(voters):
        undecided.append({
            "ranks": sorted(facts["rank"] for facts in voters),
            "why": "they differ in %s, and no result has a majority"
                   % first_difference(*list(ballots)[:2]),
        })
        return
    for facts in voters:
        if _ballot(facts) != winner:
            accused[facts["rank"]] = "differs from %d of %d ranks in %s" % (
                votes, len(voters), first_difference(winner, _ballot(facts)))


def _ballot(facts):
    return tuple((name, digest) for name, digest in facts["digests"])


def first_difference(one, other):
    """The first result that differs: everything computed after a wrong result is wrong, too."""
    for place, (name, digest) in enumerate(one):
        if place >= len(other) or other[place][1] != digest:
            return name
    return "the number of results"


def _follow_damage(all_facts, by_rank, accused, undecided):
    ways = sorted({tuple(way) for facts in all_facts for way in facts["damaged"]})
    if not ways:
        return
    ends = [{by_rank[rank]["node"] for rank in way} for way in ways]
    common = set.intersection(*ends)
    touched = sorted({rank for way in ways for rank in way})
    shown = ", ".join("%d to %d" % way for way in ways[:8]) + (", …" if len(ways) > 8 else "")
    if len(common) != 1:
        undecided.append({"ranks": touched, "why": "bytes were damaged on the way: " + shown})
        return
    (node,) = common
    here = [rank for rank in touched if by_rank[rank]["node"] == node]
    # A rank that all damaged links share is at fault; else all ranks concerned on the node.
    shared = set.intersection(*({rank for rank in way if rank in here} for way in ways))
    for rank in shared if len(shared) == 1 else here:
        accused.setdefault(rank, "bytes were damaged on the way: " + shown)
