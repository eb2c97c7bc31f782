#include "supervisor/core/job/blame/broken_machine.h"

#include <fmt/core.h>

#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

bool BrokenMachine::is_surely_broken(const Outage& outage) const {
  if (!spec_.policy.is_on() || !outage.looks_like || outage.nodes.size() != 1) return false;
  return outage.looks_like->action == FirstAction::kEvict &&
         is_of_the_machine(*outage.looks_like) && !nodes_.at(outage.nodes.front()).unfit;
}

bool BrokenMachine::rather_waits(const Outage& outage) const {
  if (!is_surely_broken(outage) || spec_.group.wait_for_nodes <= base::Nanos{}) return false;
  return nodes_.at(outage.nodes.front()).broken.size() >= kBrokenTimesMax ||
         !restarts_.budget().allows(outage.root.fault_class);
}

std::string BrokenMachine::in_words(const Outage& outage, bool is_over) const {
  if (!is_surely_broken(outage) || !evictions_.obstacle(outage.nodes, true)) return {};
  const bool may_wait = spec_.group.wait_for_nodes > base::Nanos{};
  const char* const what_next =
      !may_wait
          ? "start the run with spares (--spares), a group that may shrink (--nnodes MIN:MAX) "
            "or time to wait for a node (--wait-for-nodes)"
      : is_over
          ? "start the run with spares (--spares) or a group that may shrink (--nnodes MIN:MAX)"
          : "if it fails again it is evicted, and the run waits for a node (--wait-for-nodes)";
  return fmt::format("; {} is broken ({}), and there is no spare: {}",
                     nodes_.name(outage.nodes.front()), outage.looks_like->name, what_next);
}

}  // namespace robustrun::supervisor
