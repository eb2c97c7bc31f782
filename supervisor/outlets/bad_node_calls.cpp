#include "supervisor/outlets/bad_node_calls.h"

#include <fmt/core.h>

#include "base/core/text.h"
#include "supervisor/core/types/json_writer.h"

namespace robustrun::supervisor {
namespace {

// "uncorrectable ECC error" of "n3 is evicted: uncorrectable ECC error"
std::string reason_of(const BadNode& bad) {
  const auto colon = bad.why.find(": ");
  return base::printable(colon == std::string::npos ? bad.why : bad.why.substr(colon + 2))
      .substr(0, kBadNodeReasonBytesMax);
}

}  // namespace

std::optional<IncidentHook::Call> BadNodeCalls::call_for(const BadNode& bad, std::string& why_not) {
  const std::string names = base::join(bad.nodes, ", ");
  const std::string reason = reason_of(bad);
  switch (plan_.action) {
    case BadNodePlan::Action::kNone: return std::nullopt;
    case BadNodePlan::Action::kCommand:
      return IncidentHook::Call{JsonWriter::object(bad) + "\n", {}, {}, {}};
    case BadNodePlan::Action::kDrain:
      if (bad.nodes.size() > 1) {
        why_not = names + " are not drained: only one of them may be to blame";
        return std::nullopt;
      }
      return IncidentHook::Call{{},
                                {"NodeName=" + names, "State=DRAIN",
                                 fmt::format("Reason=robustrun {}: {}", bad.run, reason)},
                                names + " is drained in Slurm",
                                fmt::format("{} is not drained in Slurm (only its operators may "
                                            "do that): tell them: {}",
                                            names, reason)};
    case BadNodePlan::Action::kComment:
      if (told_.size() >= kBadNodesInComment) {
        why_not = names + " is not named in the comment of the Slurm job: it is full";
        return std::nullopt;
      }
      told_.push_back(names + ": " + reason);
      return IncidentHook::Call{
          {},
          {"JobId=" + plan_.job, "Comment=robustrun: bad node " + base::join(told_, "; bad node ")},
          names + " is named in the comment of the Slurm job",
          names + " is not named in the comment of the Slurm job"};
  }
  return std::nullopt;
}

}  // namespace robustrun::supervisor
