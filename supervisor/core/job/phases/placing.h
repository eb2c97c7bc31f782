#pragma once
// Which node gets which place, if the network's topology decides: kPlacing lasts from
// SolvePlacement to PlacementSolved.
//
// choose_group() decides how many nodes there will be and which of them keep their places. The
// answer fills the other places and, if --rerank allows it, moves nodes. A node that comes or goes
// meanwhile may change the question. If an answer cannot be used, or does not come in time, the
// group begins with the places of choose_group().

#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/group_choice.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/nodes/drains.h"
#include "supervisor/core/job/phases/checking.h"
#include "supervisor/core/job/phases/formation.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Placing {
 public:
  Placing(Orders& orders, const JobSpec& spec, const Nodes& nodes, const Group& group,
          const Drains& drains, Formation& formation, Checking& checking)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        drains_(drains),
        formation_(formation),
        checking_(checking) {}

  // Whether the topology is to decide. Not if users chose node ranks (--node-rank), nor if all
  // nodes are still there and --rerank does not let them move.
  [[nodiscard]] bool wants(const GroupChoice& choice) const;
  void begin(const GroupChoice& choice);  // → kPlacing
  // Whether the newest question is still the right one for this choice.
  [[nodiscard]] bool is_asked(const GroupChoice& choice) const;
  void solved(const Event& event);
  void overdue(const Event& event);

  template <class V>
  void fields(V& v) {
    v(36, "placement_asked", asked_);
  }

 private:
  [[nodiscard]] SolvePlacement question(const GroupChoice& choice) const;
  [[nodiscard]] std::vector<base::NodeId> candidates(const GroupChoice& choice) const;
  // Why the answer `to` cannot be used; empty: it can.
  [[nodiscard]] std::string objection(const PlacementSolved& to, const GroupChoice& choice) const;
  void do_without(GroupChoice choice, const std::string& why);

  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Group& group_;
  const Drains& drains_;
  Formation& formation_;
  Checking& checking_;
  std::uint64_t asked_ = 0;  // digest of the newest SolvePlacement; 0: none
};

}  // namespace robustrun::supervisor
