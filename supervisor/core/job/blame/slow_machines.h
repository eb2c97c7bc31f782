#pragma once
// Machines that slow the others down: which machine it is, and whether a restart without it is
// worth its price. The steps from the first verdict to the restart (times: SlowPolicy):
//
// 1. A verdict names a machine. This is the first round of a vote. After each `every` another look
//    at all workers makes the next round.
// 2. A machine is to be replaced if more than half of the rounds named it, a restart without it is
//    worth its price, and there is a spare.
// 3. After `drain_within` the workers are asked to save, and are stopped. The machine is evicted,
//    and the workers restart. This restart is not counted.
//
// If a look finds the job as fast as before, no machine is replaced. The next reported verdict
// begins a new vote. If another vote keeps the same machines in this attempt, that is not reported
// again.

#include <string>
#include <vector>

#include "supervisor/core/job/facts/attempt_progress.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/run.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/nodes/evictions.h"
#include "supervisor/core/job/saves/copies.h"
#include "supervisor/core/types/slow_vote.h"

namespace robustrun::supervisor {

class SlowMachines {
 public:
  SlowMachines(Orders& orders, const Run& run, const Nodes& nodes, const Group& group,
               const Workers& workers, const AttemptProgress& progress, const Copies& copies,
               const Evictions& evictions, Transitions& moves)
      : orders_(orders),
        run_(run),
        nodes_(nodes),
        group_(group),
        workers_(workers),
        progress_(progress),
        copies_(copies),
        evictions_(evictions),
        moves_(moves) {}

  void begin_attempt() { vote_ = {}; }
  // `what`: a verdict that is about to be reported. Returns what follows, in words; empty: no vote
  // begins.
  std::string begin_vote(const Diagnosed& what);
  void hear_round(const Diagnosed& what);
  // A slowness that was reported is over. `what`: its verdict, in words.
  void pass(const std::string& what);
  void timer(const Event& event);

  // What restarts cost: see RestartPrices.
  void note_failure() { prices_.note_failure(orders_.now()); }
  void note_first_step(base::Nanos reached) { prices_.note_first_step(reached, orders_.now()); }
  void note_caught_up(base::Nanos reached) { prices_.note_caught_up(reached, orders_.now()); }

  template <class V>
  void fields(V& v) {
    v(53, "vote", vote_);
    v(54, "prices", prices_);
  }

 private:
  // The machines that a verdict names. None if these are all machines of the group.
  [[nodiscard]] std::vector<base::NodeId> named_by(const tracer::Verdict& verdict) const;
  [[nodiscard]] std::string names_of(const std::vector<base::NodeId>& nodes) const;
  [[nodiscard]] std::string accusation() const;
  [[nodiscard]] std::vector<std::string> tally() const;
  [[nodiscard]] Obstacle replacement_obstacle() const;
  void end_vote();
  bool waits_for_copies();
  void replace();

  Orders& orders_;
  const Run& run_;
  const Nodes& nodes_;
  const Group& group_;
  const Workers& workers_;
  const AttemptProgress& progress_;
  const Copies& copies_;
  const Evictions& evictions_;
  Transitions& moves_;
  SlowVote vote_;
  RestartPrices prices_;
};

}  // namespace robustrun::supervisor
