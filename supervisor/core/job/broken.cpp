// A machine that is surely broken where no spare is: the run can do with it only as long as the
// fault passes by itself.
//
// It is started on again once, after the check that the ladder has. The second sure failure of it
// within Policy::blamed_within, or one after which no restart on it is left, evicts it, if the run
// may wait for another one (GroupPolicy::wait_for_nodes). Where it may not, each restart and the
// end say what the user can do.

#include <fmt/core.h>

#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

// One machine, which still takes part, and nothing that may pass.
bool JobQuestions::is_surely_broken() const {
  if (!spec.policy.is_on() || !outage->looks_like || outage->nodes.size() != 1) return false;
  return outage->looks_like->action == FirstAction::kEvict &&
         is_of_the_machine(*outage->looks_like) && !at(outage->nodes.front()).unfit;
}

// For another machine than go on with this one.
bool JobQuestions::rather_waits() const {
  if (!is_surely_broken() || spec.group.wait_for_nodes <= base::Nanos{}) return false;
  return at(outage->nodes.front()).broken.size() >= kBrokenTimesMax ||
         !budget.allows(outage->root.fault_class);
}

// "; n3 is surely broken …, and no spare is there: …"; empty where that is not so.
std::string JobQuestions::broken_in_words(bool is_over) const {
  if (!is_surely_broken() || eviction_obstacle(outage->nodes, true).empty()) return {};
  const bool may_wait = spec.group.wait_for_nodes > base::Nanos{};
  const char* const what_next =
      !may_wait
          ? "start the run with spares (--spares), a group that may shrink (--nnodes MIN:MAX) "
            "or time to wait for a node (--wait-for-nodes)"
      : is_over
          ? "start the run with spares (--spares) or a group that may shrink (--nnodes MIN:MAX)"
          : "when it fails again it is evicted, and a node is waited for (--wait-for-nodes)";
  return fmt::format("; {} is surely broken ({}), and no spare is there: {}",
                     name(outage->nodes.front()), outage->looks_like->name, what_next);
}

}  // namespace robustrun::supervisor
