#pragma once
// A machine that is surely broken while there is no spare. The run can go on with it only as long
// as the fault does not come back.
//
// Workers are started on the machine once more, after the check that is a step of the ladder. If
// the run may wait for another machine (GroupPolicy::wait_for_nodes), the broken one is evicted at
// its second sure failure within Policy::blamed_within, or when no restart is left. If the run may
// not wait, each restart, and the end of the run, tells the user what to do.

#include <string>

#include "supervisor/core/fault/fault.h"
#include "supervisor/core/job/blame/restarts.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/nodes/evictions.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class BrokenMachine {
 public:
  BrokenMachine(const JobSpec& spec, const Nodes& nodes, const Restarts& restarts,
                const Evictions& evictions)
      : spec_(spec), nodes_(nodes), restarts_(restarts), evictions_(evictions) {}

  // Whether the outage is surely the fault of one machine that still takes part, and calls for its
  // eviction.
  [[nodiscard]] bool is_surely_broken(const Outage& outage) const;
  // Whether the run waits for another machine instead of going on with this one.
  [[nodiscard]] bool rather_waits(const Outage& outage) const;
  // "; n3 is broken (…), and there is no spare: …". `is_over`: the run ends. Empty: the machine is
  // not surely broken, or can be evicted.
  [[nodiscard]] std::string in_words(const Outage& outage, bool is_over) const;

 private:
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Restarts& restarts_;
  const Evictions& evictions_;
};

}  // namespace robustrun::supervisor
