// A machine that is surely broken where no spare is: the run can do with it only as long as the
// fault passes by itself.
//
// Workers are started on it once more, after the check that the ladder has. It is evicted at its
// second sure failure within Policy::blamed_within, or when no restart on it is left, provided that
// the run may wait for another machine (GroupPolicy::wait_for_nodes). Otherwise each restart, and
// the end of the run, tell the user what to do.

#include <fmt/core.h>

#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

// The outage was traced to one machine, which still takes part, and the fault will not pass.
bool JobQuestions::is_surely_broken() const {
  if (!spec.policy.is_on() || !outage->looks_like || outage->nodes.size() != 1) return false;
  return outage->looks_like->action == FirstAction::kEvict &&
         is_of_the_machine(*outage->looks_like) && !at(outage->nodes.front()).unfit;
}

// Whether the run waits for another machine rather than go on with this one.
bool JobQuestions::rather_waits() const {
  if (!is_surely_broken() || spec.group.wait_for_nodes <= base::Nanos{}) return false;
  return at(outage->nodes.front()).broken.size() >= kBrokenTimesMax ||
         !budget.allows(outage->root.fault_class);
}

// "; n3 is broken (…), and there is no spare: …"; empty where that is not so.
std::string JobQuestions::broken_in_words(bool is_over) const {
  if (!is_surely_broken() || !eviction_obstacle(outage->nodes, true)) return {};
  const bool may_wait = spec.group.wait_for_nodes > base::Nanos{};
  const char* const what_next =
      !may_wait
          ? "start the run with spares (--spares), a group that may shrink (--nnodes MIN:MAX) "
            "or time to wait for a node (--wait-for-nodes)"
      : is_over
          ? "start the run with spares (--spares) or a group that may shrink (--nnodes MIN:MAX)"
          : "if it fails again it is evicted, and the run waits for a node (--wait-for-nodes)";
  return fmt::format("; {} is broken ({}), and there is no spare: {}", name(outage->nodes.front()),
                     outage->looks_like->name, what_next);
}

}  // namespace robustrun::supervisor
