#pragma once
// Early ends: a worker that ends with exit code 0 while others still train makes the others fail,
// or wait for ever. Then that worker is to blame, not the rank that misses it.

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
  void note(const WorkerExited& exited);  // a worker that ended well
  // If workers that ended early explain `fault`, makes their early end its cause. False: they do
  // not. `fault` is the failure of the worker `exited`, or the hang that `verdict` describes.
  bool explain(Fault& fault, const WorkerExited& exited) const;
  bool explain(Fault& fault, const tracer::Verdict& verdict) const;
  // If an early end caused the outage, adds the operation in which the others waited. `verdict`:
  // from what all workers had called last when one failed.
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
