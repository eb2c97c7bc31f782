"""Do bytes arrive as they were sent? The part of the alignment test that checks links between
ranks.

First every rank exchanges blocks with every other rank of its node, then every node with its two
neighbours in the ring of nodes. Both ends know the expected bytes, so the receiver can judge alone.
"""

from .model import digest

BLOCK_BYTES = 1 << 20


def block(torch, sender, receiver):
    """What `sender` sends to `receiver`: all byte values, in a different order for every pair."""
    value = torch.arange(BLOCK_BYTES, dtype=torch.int64)
    value = (value * 48271 + sender * 16807 + receiver * 69621 + 1) % 2147483647
    return ((value >> 11) % 256).to(torch.uint8)


def rounds(nodes):
    """[[(sender, receiver), …], …]: every rank sends and receives at most once in each round.

    `nodes`: [[ranks of a node], …]. The result is the same on all ranks.
    """
    result = []
    for shift in range(1, max(len(ranks) for ranks in nodes)):
        result.append([(rank, ranks[(place + shift) % len(ranks)])
                       for ranks in nodes if shift < len(ranks)
                       for place, rank in enumerate(ranks)])
    if len(nodes) > 1:
        for step in (1, -1) if len(nodes) > 2 else (1,):
            result.append([(rank, there[place])
                           for number, ranks in enumerate(nodes)
                           for there in [nodes[(number + step) % len(nodes)]]
                           for place, rank in enumerate(ranks) if place < len(there)])
    return result


def exchange(torch, dist, group, me, nodes, device, damage=False):
    """Exchanges the blocks. Returns ([[sender, receiver], …] of the damaged blocks that rank `me`
    received, number of blocks received). `damage`: flip a bit in the blocks sent, as a drill."""
    damaged, received = [], 0
    for pairs in rounds(nodes):
        work, arrived, kept = [], {}, []
        for sender, receiver in pairs:
            if receiver == me:
                arrived[sender] = torch.zeros(BLOCK_BYTES, dtype=torch.uint8, device=device)
                work.append(dist.P2POp(dist.irecv, arrived[sender], sender, group))
            if sender == me:
                sent = block(torch, me, receiver)
                if damage:
                    sent[BLOCK_BYTES // 3] ^= 1 << 5
                kept.append(sent.to(device))
                work.append(dist.P2POp(dist.isend, kept[-1], receiver, group))
        for request in dist.batch_isend_irecv(work) if work else ():
            request.wait()
        for sender, data in arrived.items():
            received += 1
            if digest(data) != digest(block(torch, sender, me)):
                damaged.append([sender, me])
    return damaged, received
