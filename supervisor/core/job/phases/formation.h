#pragma once
// Which nodes run the next attempt, and in which places: the choice, and the group that follows
// from it.

#include <string>
#include <vector>

#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/group_choice.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/nodes/drains.h"
#include "supervisor/core/types/job_spec.h"
#include "supervisor/core/types/placement.h"

namespace robustrun::supervisor {

class Formation {
 public:
  Formation(Orders& orders, const JobSpec& spec, const Nodes& nodes, Group& group,
            const Drains& drains, Transitions& moves)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        drains_(drains),
        moves_(moves) {}

  // The choice among the nodes as they are now.
  [[nodiscard]] GroupChoice choice() const;
  // Forms the group and begins the attempt; gives up if the nodes offer no worker, too many, or not
  // JobSpec::expect_world. `why`: the placement that gave the members their places; null: they were
  // not placed.
  void form(const GroupChoice& choice, const PlacementSolved* why = nullptr);
  // form() in the order of the choice or, before the first attempt of an open group, in the order
  // of sort_volunteers().
  void form_in_order(GroupChoice choice);
  // Sorts by the node ranks that users asked for (--node-rank), then by name.
  void sort_volunteers(std::vector<base::NodeId>& members) const;

 private:
  [[nodiscard]] std::vector<std::string> offers(const RankPlan& planned) const;
  void explain_change(const GroupChoice& choice);
  void announce();

  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  Group& group_;
  const Drains& drains_;
  Transitions& moves_;
};

}  // namespace robustrun::supervisor
