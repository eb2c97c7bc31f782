#include "supervisor/core/job/nodes/health.h"

#include <fmt/core.h>

#include <utility>

#include "base/core/words.h"
#include "supervisor/core/fault/fault_class.h"

namespace robustrun::supervisor {
namespace {

std::string in_words(const NodeHealth& health, const std::string& node) {
  const bool names_it = health.subject.empty() || health.line.starts_with(health.subject + " ");
  return fmt::format("{}: {}{}{}", node, names_it ? std::string() : health.subject + ": ",
                     health.line, health.over ? " (well again)" : "");
}

}  // namespace

// Reports the finding, unless the machine has to go because of it: then returns its classification.
std::optional<Classification> Health::take_note(const Event& event) {
  const auto& health = body<NodeHealth>(event);
  NodeState& node = nodes_.at(event.node);
  if (node.unfit) return std::nullopt;
  std::optional<Classification> looks = classify(health, nodes_.name(event.node), spec_.faults);
  std::vector<std::string> alternatives;
  if (looks && !health.over) {
    // A finding that may be a sequel, or another program's, explains no failure.
    if (!looks->sequel) {
      node.suspicion = looks;
      node.suspected_at = orders_.now();
    }
    if (must_go(node, *looks, alternatives)) {
      const Obstacle obstacle = evictions_.obstacle({event.node}, true);
      if (!obstacle) return looks;
      alternatives.push_back("evict the machine: " + in_words(obstacle));
    }
  }
  orders_.decide(Rule::kNodeHealth, in_words(health, nodes_.name(event.node)), {},
                 std::move(alternatives), health.over ? std::nullopt : std::move(looks));
  return std::nullopt;
}

bool Health::must_go(NodeState& node, Classification& looks,
                     std::vector<std::string>& why_not) const {
  if (!spec_.policy.is_on()) return false;
  if (looks.action == FirstAction::kEvict) return is_of_the_machine(looks);
  if (looks.action != FirstAction::kTolerate) return false;
  const std::size_t times =
      count_recent(node.tolerated, spec_.policy.tolerated_within, orders_.now());
  const std::string within = base::in_seconds(spec_.policy.tolerated_within);
  if (times <= spec_.policy.tolerated) {
    why_not.push_back(fmt::format("evict the machine: {} of {} within {} are tolerated", times,
                                  spec_.policy.tolerated, within));
    return false;
  }
  node.tolerated.clear();
  looks.action = FirstAction::kEvict;
  looks.evidence += fmt::format(", {} times within {}", times, within);
  return true;
}

// No worker runs that would have to be stopped first.
void Health::noted(const Event& event) {
  if (body<NodeHealth>(event).source == NodeHealth::Source::kScheduler) return drains_.noted(event);
  const auto looks = take_note(event);
  if (!looks) return;
  evictions_.evict({event.node}, *looks);
  if (orders_.state() == JobState::kReserving && group_.has(event.node)) {
    return moves_.setback(Rule::kMachineFault,
                          in_words(body<NodeHealth>(event), nodes_.name(event.node)));
  }
  moves_.group_changed();
}

void Health::noted_working(const Event& event) {
  if (body<NodeHealth>(event).source == NodeHealth::Source::kScheduler) return drains_.noted(event);
  const auto looks = take_note(event);
  if (!looks) return;
  if (!workers_.are_left_on(event.node)) return evictions_.evict({event.node}, *looks);
  Fault fault = infrastructure_fault(Rule::kMachineFault,
                                     in_words(body<NodeHealth>(event), nodes_.name(event.node)),
                                     moves_.context(event.node));
  fault.looks_like = looks;
  fault.nodes = {event.node};
  moves_.break_down(std::move(fault));
}

}  // namespace robustrun::supervisor
