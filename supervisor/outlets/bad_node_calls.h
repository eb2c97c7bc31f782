#pragma once
// What --on-bad-node runs for an evicted node: the user's command, or scontrol. Pure.

#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/status/bad_node.h"
#include "supervisor/outlet_plan.h"
#include "supervisor/outlets/incident_hook.h"

namespace robustrun::supervisor {

class BadNodeCalls {
 public:
  explicit BadNodeCalls(const BadNodePlan& plan) : plan_(plan) {}
  // nullopt: nothing is to be run; `why_not` then has the reason as a sentence.
  std::optional<IncidentHook::Call> call_for(const BadNode& bad, std::string& why_not);

 private:
  const BadNodePlan& plan_;
  // With kComment, what the comment says so far, as in "n3: uncorrectable ECC error".
  std::vector<std::string> told_;
};

}  // namespace robustrun::supervisor
