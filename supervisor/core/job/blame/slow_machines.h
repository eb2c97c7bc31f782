#pragma once
// A machine that slows the others down: it is voted on, weighed, and replaced if that is worth a
// restart. From the first verdict to the restart:
//
//   verdict → a round every `every` → named in most of them? → worth its price, a spare there? →
//   drain_within passes → workers are asked to save, and stopped → eviction → restart, not counted
//
// A look that finds the job as fast as before ends the vote. The next vote begins with the next
// verdict that is reported: with other culprits, or with the same ones after the job had recovered.
// A machine that stays is reported once in an attempt.

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
  // `what`: a verdict that is about to be reported. What is done now, in words; empty: nothing.
  std::string begin_vote(const Diagnosed& what);
  void hear_round(const Diagnosed& what);
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
  // Machines that a verdict names. None when it names all of them, which singles out nothing.
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
