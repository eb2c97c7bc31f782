#pragma once
// The check of nodes before the first attempt and, if the policy asks for it, before a later one.
// kChecking lasts from CheckNodes to NodesChecked.
//
// All nodes that have joined take part, spares included. An unfit node is left out: a spare takes
// its place, or the group shrinks, or the run waits for nodes. While it waits, the node may pass a
// test (nodes/probation.h). If no node comes, the run ends and reports why. A spare that comes
// later is checked together with one node of the group, while the run goes on.

#include <string>
#include <vector>

#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/group_choice.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/nodes/check_orders.h"
#include "supervisor/core/job/nodes/probation.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Checking {
 public:
  Checking(Orders& orders, const JobSpec& spec, Nodes& nodes, const Group& group,
           CheckOrders& checks, Probation& probation, Transitions& moves)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        checks_(checks),
        probation_(probation),
        moves_(moves) {}

  // Whether the nodes must be checked now: want() was called or, before the first attempt, a chosen
  // node has not been checked.
  [[nodiscard]] bool is_due(const GroupChoice& choice) const;
  // Makes a check of all nodes due before the next attempt, as the cause of the outage is not
  // clear. `why`: what the outage looks like.
  void want(const std::string& why);
  void begin();  // → kChecking
  void checked(const Event& event);
  void overdue(const Event& event);

  // Checks a spare that came after the first attempt began. One that comes during a check is left
  // to check_spares().
  void check_spare(base::NodeId node);
  // Checks the spares that have not been checked: they came during a check, or its result was lost.
  void check_spares();
  void spare_checked(const Event& event);

  template <class V>
  void fields(V& v) {
    v(39, "check_due", is_due_);
  }

 private:
  [[nodiscard]] PreflightDepth depth() const;
  [[nodiscard]] const char* check_name() const;
  [[nodiscard]] std::vector<NodeVerdict> judge_nodes(const NodesChecked& result);
  void leave_out_unfit(std::vector<NodeVerdict>& verdicts);
  void announce_findings(const std::vector<NodeVerdict>& verdicts);
  void end_check(std::vector<NodeVerdict> verdicts);  // of a run that only checks

  Orders& orders_;
  const JobSpec& spec_;
  Nodes& nodes_;
  const Group& group_;
  CheckOrders& checks_;
  Probation& probation_;
  Transitions& moves_;
  bool is_due_ = false;  // a check of all nodes, before the next attempt
};

}  // namespace robustrun::supervisor
