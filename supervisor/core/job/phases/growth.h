#pragma once
// Enlarges a group that is smaller than it may be: the workers restart with a node that has joined.
// This is not done for a node that was lost too often, nor once ranks have finished.

#include <cstdint>

#include "supervisor/core/job/blame/restarts.h"
#include "supervisor/core/job/facts/attempt_progress.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/phases/formation.h"

namespace robustrun::supervisor {

class Growth {
 public:
  Growth(Orders& orders, const Nodes& nodes, const Group& group, const Workers& workers,
         const AttemptProgress& progress, const Restarts& restarts, const Formation& formation,
         Transitions& moves)
      : orders_(orders),
        nodes_(nodes),
        group_(group),
        workers_(workers),
        progress_(progress),
        restarts_(restarts),
        formation_(formation),
        moves_(moves) {}

  // In kRunning: restarts the workers if the group can grow now.
  void consider();
  // The earliest time for another restart for a larger group.
  [[nodiscard]] base::Nanos may_grow_at() const;
  void note_outage(Rule rule) { growths_ = rule == Rule::kGroupGrew ? growths_ + 1 : 0; }
  void note_progress() { growths_ = 0; }

  template <class V>
  void fields(V& v) {
    v(84, "growths", growths_);
  }

 private:
  Orders& orders_;
  const Nodes& nodes_;
  const Group& group_;
  const Workers& workers_;
  const AttemptProgress& progress_;
  const Restarts& restarts_;
  const Formation& formation_;
  Transitions& moves_;
  std::uint32_t growths_ = 0;  // restarts for a larger group, in a row and without progress
};

}  // namespace robustrun::supervisor
