#pragma once
// Workers that wait for one of them, as tracer snapshots show it, and the required result: the
// analyzer names exactly that one, and only its machine may be evicted for it.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "supervisor/core/job/job.h"
#include "tests/sim/scenario_job.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::sim {

namespace core = supervisor;

// The true cause of a hang.
struct Hang {
  base::Attempt attempt;
  base::Rank victim;
  bool is_stopped = false;  // by SIGSTOP; otherwise it is in its own code
  Nanos began{}, until = Nanos::max();
};

struct SeenWorker {
  base::Rank rank;
  base::NodeId node;
};

// All ranks have done some operations of one communicator; all but the victim are in the next.
inline tracer::FleetSnapshot snapshot_of(const std::vector<SeenWorker>& seen, std::uint32_t world,
                                         const std::optional<Hang>& hang, Nanos now) {
  constexpr std::uint64_t kDone = 40;
  const tracer::Signature all_reduce{tracer::OpKind::kAllReduce, tracer::DataType::kFloat32, 4096,
                                     -1};
  tracer::FleetSnapshot fleet;
  fleet.world_size = world;
  for (const SeenWorker& worker : seen) {
    tracer::RankSnapshot& rank = fleet.ranks.emplace_back();
    rank.rank = worker.rank;
    rank.node = "n" + std::to_string(worker.node.value);
    rank.life = tracer::Life::kRunning;
    tracer::Membership& member = rank.comms.emplace_back();
    member.comm = 1;
    member.name = "world";
    member.size = world;
    member.rank = worker.rank.value;
    member.entered = member.started = member.done = kDone;
    member.idle = seconds(1);
    if (!hang) continue;
    member.idle = now - hang->began;
    if (worker.rank == hang->victim) {
      if (hang->is_stopped) rank.life = tracer::Life::kStopped;
      continue;
    }
    member.started = ++member.entered;
    member.recent.push_back({member.entered, all_reduce});
    tracer::Operation& operation = member.pending.emplace_back();
    operation.ordinal = member.entered;
    operation.signature = all_reduce;
    operation.age = operation.unchanged = member.idle;
  }
  return fleet;
}

// No rank waits for long, but `victim` comes late to every operation.
inline void slow_down(tracer::FleetSnapshot& fleet, base::Rank victim) {
  using std::chrono::milliseconds;
  const tracer::Signature all_reduce{tracer::OpKind::kAllReduce, tracer::DataType::kFloat32, 4096,
                                     -1};
  for (tracer::RankSnapshot& rank : fleet.ranks) {
    const bool is_late = rank.rank == victim;
    for (std::uint64_t n = 1; n <= 10; ++n) {
      rank.comms.front().recent.push_back({n, all_reduce});
      tracer::Timing timing;
      timing.ordinal = n;
      timing.kernel = is_late ? milliseconds(2) : milliseconds(62);
      timing.gap = is_late ? milliseconds(65) : milliseconds(5);
      rank.comms.front().timings.push_back(timing);
    }
  }
}

// Between a conviction and the next start.
class BlameWatch {
 public:
  // `culprit`: the machine of the rank that really blocks the others. Another machine with known
  // findings may be evicted instead.
  void convicted(base::NodeId culprit) {
    const bool is_clear = noticed_.empty() || noticed_ == std::set<base::NodeId>{culprit};
    if (is_clear) culprit_ = culprit;
  }
  // Other failures meanwhile may be to blame, too.
  void on_event(const core::Event& event) {
    if (std::holds_alternative<core::NodeHealth>(event.body)) noticed_.insert(event.node);
    const auto* exited = std::get_if<core::WorkerExited>(&event.body);
    const bool is_a_failure = exited != nullptr && !exited->stopped_by_us;
    if (is_a_failure || std::holds_alternative<core::AgentLost>(event.body) ||
        std::holds_alternative<core::NodeHealth>(event.body) ||
        std::holds_alternative<core::WorkerStartFailed>(event.body)) {
      culprit_.reset();
    }
  }
  // False: another machine is evicted for it.
  [[nodiscard]] bool is_right(const core::Action& action) {
    if (std::holds_alternative<core::StartWorkers>(action)) culprit_.reset();
    const auto* decision = std::get_if<core::Decision>(&action);
    if (decision == nullptr || decision->rule != core::Rule::kNodeEvicted || !culprit_) return true;
    ++evictions_;
    return decision->nodes == std::vector<base::NodeId>{*culprit_};
  }
  [[nodiscard]] std::uint32_t evictions() const { return evictions_; }

 private:
  std::set<base::NodeId> noticed_;  // by their agents, at any time
  std::optional<base::NodeId> culprit_;
  std::uint32_t evictions_ = 0;  // checked ones
};

}  // namespace robustrun::sim
