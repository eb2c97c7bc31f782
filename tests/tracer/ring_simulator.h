#pragma once
// NCCL's data path on virtual ranks: what proxies and GPUs of a ring or tree all-reduce have done
// when a planted fault has stopped everything, as the flows that a progress record would hold.
//
// A GPU's worker takes its steps in order; a step needs all its receives to have arrived and room
// in all its sends (8 slots, NCCL_STEPS). A sender needs a buffer that the receiver has posted.
// Everything advances in ticks of fixed order, so that one plan gives one outcome.

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/tracer/ring_shape.h"

namespace robustrun::tracer {

class RingSimulator {
 public:
  static constexpr std::uint32_t kSlots = 8;
  static constexpr std::uint64_t kStepBytes = 65'536;

  explicit RingSimulator(const Plan& plan) : plan_(plan) {
    RingShape shape(plan);
    pipes_ = std::move(shape.pipes);
    workers_ = std::move(shape.workers);
  }

  // Runs until everything is done, or nothing moves.
  void run() {
    constexpr int kLongestPause = 200;  // ticks; longer than any step on a slow link
    for (int idle = 0; !is_done() && idle < kLongestPause;) idle = tick() ? 0 : idle + 1;
  }
  [[nodiscard]] bool is_done() const {
    return std::ranges::all_of(pipes_, [](const Pipe& p) { return p.recv.done == p.recv.steps; });
  }

  // The fleet in that state, with all ranks inside operation 7 of communicator 1.
  [[nodiscard]] Fleet fleet(std::uint32_t per_node = 2) const {
    Fleet fleet(plan_.ranks, per_node);
    fleet.world();
    fleet.enter_all_but(1, {}, 12);
    for (std::uint32_t r = 0; r < plan_.ranks; ++r) {
      fleet.rank(r).proxy_still = seconds(11);
      Operation& operation = fleet.in(1, r).pending.back();
      operation.channels = operation.channels_started = plan_.channels;
    }
    for (const Pipe& pipe : pipes_) {
      if (pipe.send.done < pipe.send.steps) fleet.in(1, pipe.from).flows.push_back(pipe.send);
      if (pipe.recv.done < pipe.recv.steps) fleet.in(1, pipe.to).flows.push_back(pipe.recv);
      fleet.in(1, pipe.from)
          .edges.push_back({.peer = static_cast<std::int32_t>(pipe.to),
                            .bytes = pipe.send.bytes,
                            .net_wait = pipe.send.net_wait});
    }
    if (plan_.fault == Planted::kNicDown) {
      fleet.rank(plan_.rank).evidence.network = {"mlx5_0/1: DOWN"};
    }
    return fleet;
  }

 private:
  bool tick() {
    bool has_moved = false;
    for (Worker& worker : workers_) has_moved |= work(worker);
    for (Pipe& pipe : pipes_) has_moved |= move(pipe);
    ++now_;
    return has_moved;
  }

  bool work(Worker& worker) {
    if (worker.next == worker.steps.size()) return false;
    const bool hangs = plan_.fault == Planted::kGpuHang && worker.rank == plan_.rank;
    if (hangs && worker.next >= plan_.after) return false;
    const Step& step = worker.steps[worker.next];
    for (const std::size_t p : step.recvs) {
      if (pipes_[p].recv.transmitted == pipes_[p].recv.done) return false;
    }
    for (const std::size_t p : step.sends) {
      if (pipes_[p].send.posted == pipes_[p].send.ready) return false;
    }
    for (const std::size_t p : step.recvs) ++pipes_[p].recv.done;
    for (const std::size_t p : step.sends) ++pipes_[p].send.ready;
    ++worker.next;
    return true;
  }

  [[nodiscard]] bool is_proxy_stuck(std::uint32_t rank, const Flow& flow) const {
    return plan_.fault == Planted::kProxyStuck && rank == plan_.rank && flow.done >= plan_.after;
  }
  [[nodiscard]] std::uint64_t latency(const Pipe& pipe) const {
    const bool is_link = pipe.from == plan_.rank && pipe.to == plan_.peer;
    const bool is_nic = pipe.from == plan_.rank || pipe.to == plan_.rank;
    const bool is_late = pipe.send.transmitted >= plan_.after;
    if (plan_.fault == Planted::kLinkSlow && is_link) return 50;
    if (plan_.fault == Planted::kLinkStuck && is_link && is_late) return UINT64_MAX;
    if (plan_.fault == Planted::kNicDown && is_nic && is_late) return UINT64_MAX;
    return 1;
  }

  bool move(Pipe& pipe) {
    const auto before = std::tuple(pipe.send.posted, pipe.send.transmitted, pipe.send.done,
                                   pipe.recv.posted, pipe.recv.ready, pipe.arrived);
    Flow& send = pipe.send;
    Flow& recv = pipe.recv;
    if (!is_proxy_stuck(pipe.to, recv)) {
      recv.posted = std::min(recv.steps, recv.done + kSlots);
      recv.ready = recv.transmitted = std::min(pipe.arrived, recv.posted);
    }
    if (!is_proxy_stuck(pipe.from, send)) {
      send.posted = std::min(send.steps, send.done + kSlots);
      while (send.transmitted < send.ready && send.transmitted < recv.posted) {
        const std::uint64_t wait = latency(pipe);
        const std::uint64_t from = pipe.due.empty() ? now_ : std::max(now_, pipe.due.back());
        pipe.due.push_back(wait == UINT64_MAX ? UINT64_MAX : from + wait);
        send.net_wait +=
            base::Nanos(1000) * static_cast<std::int64_t>(std::min<std::uint64_t>(wait, 1000));
        send.bytes += kStepBytes;
        ++send.transmitted;
      }
      send.peer_refuses = send.ready > send.transmitted && send.transmitted >= recv.posted;
      send.done = pipe.arrived;
    }
    for (; !pipe.due.empty() && pipe.due.front() <= now_; pipe.due.pop_front()) ++pipe.arrived;
    return before != std::tuple(send.posted, send.transmitted, send.done, recv.posted, recv.ready,
                                pipe.arrived);
  }

  Plan plan_;
  std::vector<Pipe> pipes_;
  std::vector<Worker> workers_;
  std::uint64_t now_ = 0;
};

}  // namespace robustrun::tracer
