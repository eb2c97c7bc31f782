#pragma once
// Which node gets which place, where the network's topology decides: kPlacing lasts from
// SolvePlacement to PlacementSolved.
//
// choose_group() decides how many nodes there will be and which of them keep their places; the
// answer fills the other places and, with --rerank, moves nodes. A node that comes or goes
// meanwhile changes the question. When an answer cannot be used, or does not come in time, the
// group begins as choose_group() has it.

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

  // No placement where there is nothing to choose, or where users chose (--node-rank).
  [[nodiscard]] bool wants(const GroupChoice& choice) const;
  void begin(const GroupChoice& choice);  // → kPlacing
  // Whether the open question is still the one for this choice.
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
  // Why the group cannot be formed as `to` has it; empty: it can.
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
