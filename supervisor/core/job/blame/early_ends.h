#pragma once
// A worker that ends with exit code 0 while others still train makes the others fail, or wait for
// ever. Then it is the cause, and not the rank that lost its peer.

#include <string>
#include <vector>

#include "supervisor/core/fault/early_end.h"
#include "supervisor/core/fault/fault.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class EarlyEnds {
 public:
  EarlyEnds(Orders& orders, const JobSpec& spec, const Group& group)
      : orders_(orders), spec_(spec), group_(group) {}

  void begin_attempt() { ended_well_.clear(); }
  void note(const WorkerExited& exited);  // it ended well
  // Makes `fault` the early end that explains it; false: none does. For a worker that failed
  // because it missed one that ended early, and for workers that wait for ever for such a one.
  bool explain(Fault& fault, const WorkerExited& exited) const;
  bool explain(Fault& fault, const tracer::Verdict& verdict) const;
  // Adds to an outage by an early end what the others were doing. `verdict`: made from what all
  // workers had called last when one failed.
  void name_operation(Outage& outage, const tracer::Verdict& verdict);

  template <class V>
  void fields(V& v) {
    v(75, "ended_well", ended_well_);
  }

 private:
  void blame(const std::vector<EarlyEnd>& ended, std::string words, Fault& fault) const;

  Orders& orders_;
  const JobSpec& spec_;
  const Group& group_;
  std::vector<EarlyEnd> ended_well_;  // the first kEndedWellKept of this attempt
};

}  // namespace robustrun::supervisor
