"""The traffic of a training with pipelines and data parallelism over gloo, without computations:
for figures/pods.py.

    pipeline_job.py FILE INTERFACE DP PP STEPS MICROBATCHES CHUNK_BYTES GRADIENT_BYTES

Ranks as Megatron orders them (tp = 1): DP neighbours first. A step sends MICROBATCHES chunks down
each pipeline and as many back up, then reduces the gradient in each data-parallel group. Rank 0
writes the seconds of each step but the first to FILE.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist

FLOAT_BYTES = 4


class Step:
    def __init__(self, dp, pp, microbatches, chunk_bytes, gradient_bytes):
        rank, stage = dist.get_rank(), dist.get_rank() // dp
        for first in range(0, dp * pp, dp):
            members = list(range(first, first + dp))
            group = dist.new_group(members)
            if rank in members:
                self.replicas = group
        self.before = rank - dp if stage > 0 else None
        self.after = rank + dp if stage < pp - 1 else None
        floats = chunk_bytes // FLOAT_BYTES
        self.down = [torch.ones(floats) for _ in range(microbatches)]
        self.up = [torch.ones(floats) for _ in range(microbatches)]
        self.gradient = torch.ones(gradient_bytes // FLOAT_BYTES)

    def pipeline(self):
        """Forwards every chunk as soon as it arrives; the last stage sends them back."""
        arriving = [None if self.before is None else dist.irecv(chunk, self.before, tag=2 * i)
                    for i, chunk in enumerate(self.down)]
        returning = [None if self.after is None else dist.irecv(chunk, self.after, tag=2 * i + 1)
                     for i, chunk in enumerate(self.up)]
        sent = []
        for i, chunk in enumerate(self.down):
            if arriving[i]:
                arriving[i].wait()
            if self.after is not None:
                sent.append(dist.isend(chunk, self.after, tag=2 * i))
            elif self.before is not None:
                sent.append(dist.isend(self.up[i], self.before, tag=2 * i + 1))
        for i, chunk in enumerate(self.up):
            if returning[i]:
                returning[i].wait()
                if self.before is not None:
                    sent.append(dist.isend(chunk, self.before, tag=2 * i + 1))
        for one in sent:
            one.wait()

    def run(self):
        self.pipeline()
        dist.all_reduce(self.gradient, group=self.replicas)
        dist.barrier()


def main():
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = sys.argv[2]
    dist.init_process_group("gloo")
    dp, pp, steps, *sizes = map(int, sys.argv[3:])
    step, seconds = Step(dp, pp, *sizes), []
    for _ in range(steps + 1):
        start = time.monotonic()
        step.run()
        seconds.append(time.monotonic() - start)
    if dist.get_rank() == 0:
        with open(sys.argv[1] + ".part", "w") as file:
            json.dump(seconds[1:], file)
        os.rename(sys.argv[1] + ".part", sys.argv[1])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
