#pragma once
// Chooses the step of the policy's ladder that follows an outage.

#include "supervisor/core/fault/escalation.h"
#include "supervisor/core/fault/fault.h"
#include "supervisor/core/job/blame/broken_machine.h"
#include "supervisor/core/job/blame/updates.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/nodes/evictions.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Remedies {
 public:
  Remedies(Orders& orders, const JobSpec& spec, Nodes& nodes, const Group& group,
           const Evictions& evictions, const BrokenMachine& broken, const Updates& updates)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        evictions_(evictions),
        broken_(broken),
        updates_(updates) {}

  // If the cause of the outage is not clear: of the findings about machines of the group that are
  // recent (Policy::suspected_for) and explain the failure with at least the same confidence, takes
  // the newest, and blames its machine.
  void attribute(Outage& outage) const;
  // Counts the outage against its machines, and chooses the step.
  StepChoice next_step(const Outage& outage);
  void note_taken(Step step) { escalation_.take(step); }
  void note_progress(base::Nanos amount) { escalation_.note_progress(spec_.policy, amount); }

  template <class V>
  void fields(V& v) {
    v(38, "escalation", escalation_);
  }

 private:
  [[nodiscard]] Obstacles obstacles(const Outage& outage) const;
  bool is_blamed_too_often(const Outage& outage);

  Orders& orders_;
  const JobSpec& spec_;
  Nodes& nodes_;
  const Group& group_;
  const Evictions& evictions_;
  const BrokenMachine& broken_;
  const Updates& updates_;
  Escalation escalation_;
};

}  // namespace robustrun::supervisor
