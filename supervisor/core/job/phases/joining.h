#pragma once
// Waiting for the nodes of the next attempt: kJoining lasts until it is clear which nodes these
// are.
//
// * If max_nodes are there, the attempt begins. But as long as a former member with at most one
//   loss is on the way (before the first placement: any node), the run waits, for spare_patience at
//   most.
// * If at least min_nodes are there, a closed group begins once no node is on the way. An open one
//   begins after spare_patience (before the first attempt: after last_call).
// * If there are fewer, the run waits for nodes, or gives up.
//
// The names are those of GroupPolicy. cli/nodes/nodes.cpp sets min_nodes; in srun
// cli/nodes/slurm_nodes.cpp sets it, to all nodes unless --nnodes gives a range.

#include <optional>
#include <string>

#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/nodes/agents.h"
#include "supervisor/core/job/nodes/probation.h"
#include "supervisor/core/job/phases/checking.h"
#include "supervisor/core/job/phases/formation.h"
#include "supervisor/core/job/phases/placing.h"
#include "supervisor/core/job/phases/replaying.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Joining {
 public:
  Joining(Orders& orders, const JobSpec& spec, const Nodes& nodes, const Group& group,
          Agents& agents, Probation& probation, Formation& formation, Checking& checking,
          Replaying& replaying, Placing& placing, Transitions& moves)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        agents_(agents),
        probation_(probation),
        formation_(formation),
        checking_(checking),
        replaying_(replaying),
        placing_(placing),
        moves_(moves) {}

  void begin();  // → kJoining: the waits begin
  void resume();  // → kJoining: the waits go on
  // In kJoining: begins the attempt, waits, or gives up.
  void consider();
  // In kPlacing, when nodes came or went: → kJoining, unless the question stays the same.
  void reconsider();
  void overdue(const Event& event);
  // What the run lacks when only `there` nodes are there.
  [[nodiscard]] std::string missing_in_words(std::size_t there) const;

  template <class V>
  void fields(V& v) {
    v(28, "waiting_since", waiting_since_);
    v(29, "complete_since", complete_since_);
    v(30, "enough_since", enough_since_);
    v(31, "wait_announced", wait_announced_);
  }

 private:
  [[nodiscard]] bool may_begin(const GroupChoice& choice) const;
  [[nodiscard]] base::Nanos wait_over(bool any_coming) const;
  void wait_for_more(const GroupChoice& choice);
  [[nodiscard]] int exit_code_for_too_few(std::size_t there) const;
  void arm_timer(std::size_t there, bool any_coming);

  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Group& group_;
  Agents& agents_;
  Probation& probation_;
  Formation& formation_;
  Checking& checking_;
  Replaying& replaying_;
  Placing& placing_;
  Transitions& moves_;
  // When the wait began; since when max_wanted() nodes are there; since when min_wanted() are.
  base::Nanos waiting_since_{};
  std::optional<base::Nanos> complete_since_, enough_since_;
  bool wait_announced_ = false;
};

}  // namespace robustrun::supervisor
