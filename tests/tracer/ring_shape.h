#pragma once
// Which rank sends to which in a ring or tree all-reduce, and in what order each GPU's workers do
// it.

#include <cstdint>
#include <deque>
#include <vector>

#include "tests/tracer/fleet.h"

namespace robustrun::tracer {

enum class Planted : std::uint8_t { kNone, kGpuHang, kLinkStuck, kLinkSlow, kProxyStuck, kNicDown };

struct Plan {
  std::uint32_t ranks = 4;
  std::uint32_t channels = 1;
  std::uint32_t chunks = 64;  // of a tree; a ring has 2 (ranks - 1) steps, times `rounds`
  std::uint32_t rounds = 8;
  bool is_tree = false;
  Planted fault = Planted::kNone;
  std::uint32_t rank = 0;   // the faulty rank; for a link, its sender
  std::uint32_t peer = 0;   // for a link, its receiver
  std::uint32_t after = 12;  // steps that still pass
};

struct Pipe {  // one direction between two ranks on one channel
  std::uint32_t from = 0, to = 0;
  Flow send, recv;
  std::uint32_t arrived = 0;
  std::deque<std::uint64_t> due;  // ticks at which data in transit arrives
};
struct Step {
  std::vector<std::size_t> recvs, sends;  // pipes
};
struct Worker {
  std::uint32_t rank = 0;
  std::vector<Step> steps;
  std::size_t next = 0;
};

class RingShape {
 public:
  std::vector<Pipe> pipes;
  std::vector<Worker> workers;

  explicit RingShape(const Plan& plan) : plan_(plan) {
    for (std::uint32_t c = 0; c < plan.channels; ++c) plan.is_tree ? add_tree(c) : add_ring(c);
  }

 private:
  std::size_t add_pipe(std::uint32_t from, std::uint32_t to, std::uint32_t channel,
                       std::uint32_t steps) {
    Pipe pipe{.from = from, .to = to, .send = {}, .recv = {}, .arrived = 0, .due = {}};
    for (Flow* flow : {&pipe.send, &pipe.recv}) {
      flow->ordinal = 7;
      flow->channel = channel;
      flow->steps = steps;
      flow->unchanged = seconds(11);
    }
    pipe.send.is_send = true;
    pipe.send.peer = static_cast<std::int32_t>(to);
    pipe.recv.peer = static_cast<std::int32_t>(from);
    pipes.push_back(pipe);
    return pipes.size() - 1;
  }

  void add_ring(std::uint32_t channel) {
    const std::uint32_t n = plan_.ranks;
    const std::uint32_t steps = 2 * (n - 1) * plan_.rounds;
    std::vector<std::size_t> to_next;
    for (std::uint32_t r = 0; r < n; ++r)
      to_next.push_back(add_pipe(r, (r + 1) % n, channel, steps));
    for (std::uint32_t r = 0; r < n; ++r) {
      Worker worker{.rank = r, .steps = {{{}, {to_next[r]}}}, .next = 0};
      for (std::uint32_t s = 1; s < steps; ++s) {
        worker.steps.push_back({{to_next[(r + n - 1) % n]}, {to_next[r]}});
      }
      worker.steps.push_back({{to_next[(r + n - 1) % n]}, {}});
      workers.push_back(std::move(worker));
    }
  }

  // Binary: sums go up, the result comes down. Rooted at the first rank, on odd channels at the
  // last one, as NCCL's double trees are.
  void add_tree(std::uint32_t channel) {
    const auto rank = [&](std::uint32_t place) {
      return channel % 2 == 0 ? place : plan_.ranks - 1 - place;
    };
    std::vector<std::size_t> up(plan_.ranks), down(plan_.ranks);  // between a place and its parent
    for (std::uint32_t p = 1; p < plan_.ranks; ++p) {
      up[p] = add_pipe(rank(p), rank((p - 1) / 2), channel, plan_.chunks);
      down[p] = add_pipe(rank((p - 1) / 2), rank(p), channel, plan_.chunks);
    }
    for (std::uint32_t p = 0; p < plan_.ranks; ++p) {
      Step gather, scatter;
      for (std::uint32_t child = 2 * p + 1; child <= 2 * p + 2 && child < plan_.ranks; ++child) {
        gather.recvs.push_back(up[child]);
        scatter.sends.push_back(down[child]);
      }
      if (p == 0) {
        gather.sends = scatter.sends;
        workers.push_back({rank(p), std::vector<Step>(plan_.chunks, gather), 0});
        continue;
      }
      gather.sends.push_back(up[p]);
      scatter.recvs.push_back(down[p]);
      workers.push_back({rank(p), std::vector<Step>(plan_.chunks, gather), 0});
      workers.push_back({rank(p), std::vector<Step>(plan_.chunks, scatter), 0});
    }
  }

  Plan plan_;
};

}  // namespace robustrun::tracer
