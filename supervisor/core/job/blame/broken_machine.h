#pragma once
// A surely broken machine for which there is no spare: the run can go on with it only while the
// fault stays away.
//
// Workers are started on it once more, after the check that the ladder has. It is evicted at its
// second sure failure within Policy::blamed_within, or when no restart on it is left, provided that
// the run may wait for another machine (GroupPolicy::wait_for_nodes). Otherwise each restart, and
// the end of the run, tell the user what to do.

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

  // The outage was traced to one machine, which still takes part, and surely calls for its
  // eviction.
  [[nodiscard]] bool is_surely_broken(const Outage& outage) const;
  // Whether the run waits for another machine rather than go on with this one.
  [[nodiscard]] bool rather_waits(const Outage& outage) const;
  // "; n3 is broken (…), and there is no spare: …"; empty where that is not so.
  [[nodiscard]] std::string in_words(const Outage& outage, bool is_over) const;

 private:
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Restarts& restarts_;
  const Evictions& evictions_;
};

}  // namespace robustrun::supervisor
