#pragma once
// Finds hangs. When a worker waits for long, or steps are missing, all workers are looked at. The
// analyzer names the rank that blocks the others, and the core gets the verdicts that matter
// (watch/hang_watch.h). Ranks that are slow from their first step on are found in the same way
// (watch/pace_looks.h).
//
// Owned by the driver, on its loop.

#include <cstdint>
#include <functional>

#include "base/core/clock.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/core/types/events.h"
#include "supervisor/driver/worker_looks.h"
#include "supervisor/watch/bandwidth_watch.h"
#include "supervisor/watch/collective_count.h"
#include "supervisor/watch/hang_watch.h"
#include "supervisor/watch/pace_looks.h"

namespace robustrun::supervisor {

class Hangs {
 public:
  struct Plan {
    HangPolicy policy;
    base::Nanos still{};  // hang_still (core/types/policy.h)
    bool traces = false;  // workers' collectives are recorded
  };
  struct Hands {
    std::function<base::Attempt()> attempt;  // the current one
    std::function<bool()> is_running;  // its workers run
    std::function<std::uint64_t()> steps;  // of the furthest rank; 0: no rank has reported steps
    std::function<void()> on_news;  // before the first on_diagnosed() of a look for hangs
    std::function<void(Diagnosed)> on_diagnosed;
  };
  // The references outlive this object. `looks` must give no answer after the end of this object.
  Hangs(const base::Clock& clock, const NodeTable& nodes, WorkerLooks& looks, const Plan& plan,
        Hands hands);

  void begin_attempt(base::Attempt attempt, std::uint32_t world_size);
  // To be called several times a second: begins a look at the workers when one is due.
  void watch();
  // Does one round of the vote about which machine slows the job down. A look without a result is a
  // round that names no machine.
  void look_at_pace(const LookAtPace& action);
  void on_report(base::NodeId node, const wire::CollectiveProgress& report);
  void on_report(base::NodeId node, const wire::Overdue& report);
  void on_report(base::NodeId node, const wire::BandwidthReport& report);
  [[nodiscard]] const BandwidthWatch& bandwidth() const { return bandwidth_; }
  // A worker of the current attempt has ended well.
  void note_ended() { watch_.note_ended(clock_.now()); }

 private:
  void watch_for_slow_ranks();

  const base::Clock& clock_;
  const NodeTable& nodes_;
  WorkerLooks& looks_;
  const bool traces_;
  const Hands hands_;
  HangWatch watch_;
  PaceLooks pace_looks_;
  BandwidthWatch bandwidth_;
  CollectiveCount collectives_;
};

}  // namespace robustrun::supervisor
