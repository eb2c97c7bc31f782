// What agents notice about their machines: reported, remembered as what may explain a failure, and
// acted upon if the policy says so.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/job/impl.h"

namespace robustrun::supervisor {
namespace {

std::string in_words(const NodeHealth& health, const std::string& node) {
  return fmt::format("{}: {}{}{}{}", node, health.subject, health.subject.empty() ? "" : ": ",
                     health.line, health.over ? " (well again)" : "");
}

}  // namespace

// Adds the present moment; moments older than `within` are dropped. Returns how many are left.
std::size_t Job::Impl::count_recent(std::vector<base::Nanos>& moments, base::Nanos within) const {
  std::erase_if(moments, [&](base::Nanos at) { return at + within < now; });
  moments.push_back(now);
  return moments.size();
}

// Reports the finding, unless the machine has to go because of it: then returns its classification.
std::optional<Classification> Job::Impl::take_note(const Event& event) {
  const auto& health = body<NodeHealth>(event);
  NodeState& node = at(event.node);
  if (node.unfit) return std::nullopt;
  std::optional<Classification> looks = classify(health, name(event.node), spec.faults);
  std::vector<std::string> alternatives;
  if (looks && !health.over) {
    // A finding that may be a sequel, or another program's, explains no failure.
    if (!looks->sequel) {
      node.suspicion = looks;
      node.suspected_at = now;
    }
    if (must_go(node, *looks, alternatives)) {
      const Obstacle obstacle = eviction_obstacle({event.node}, true);
      if (!obstacle) return looks;
      alternatives.push_back("evict the machine: " + in_words(obstacle));
    }
  }
  decide(Rule::kNodeHealth, in_words(health, name(event.node)), {}, std::move(alternatives),
         health.over ? std::nullopt : std::move(looks));
  return std::nullopt;
}

bool Job::Impl::must_go(NodeState& node, Classification& looks,
                        std::vector<std::string>& why_not) const {
  if (!spec.policy.is_on()) return false;
  if (looks.action == FirstAction::kEvict) return is_of_the_machine(looks);
  if (looks.action != FirstAction::kTolerate) return false;
  const std::size_t times = count_recent(node.tolerated, spec.policy.tolerated_within);
  const std::string within = base::in_seconds(spec.policy.tolerated_within);
  if (times <= spec.policy.tolerated) {
    why_not.push_back(fmt::format("evict the machine: {} of {} within {} are tolerated", times,
                                  spec.policy.tolerated, within));
    return false;
  }
  node.tolerated.clear();
  looks.action = FirstAction::kEvict;
  looks.evidence += fmt::format(", {} times within {}", times, within);
  return true;
}

// No worker runs that would have to be stopped first.
void Job::Impl::node_health(const Event& event) {
  if (body<NodeHealth>(event).source == NodeHealth::Source::kScheduler) return note_drain(event);
  const auto looks = take_note(event);
  if (!looks) return;
  evict({event.node}, *looks);
  if (state == JobState::kJoining) return consider_group();
  if (state == JobState::kPlacing) return reconsider_group();
  if (state == JobState::kReserving && in_group(event.node)) {
    setback(Rule::kMachineFault, in_words(body<NodeHealth>(event), name(event.node)));
  }
}

void Job::Impl::node_health_working(const Event& event) {
  if (body<NodeHealth>(event).source == NodeHealth::Source::kScheduler) return note_drain(event);
  const auto looks = take_note(event);
  if (!looks) return;
  const bool is_needed = in_group(event.node) && at(event.node).ended < plan.slots(event.node);
  if (!is_needed) return evict({event.node}, *looks);
  Fault fault =
      infrastructure_fault(Rule::kMachineFault, in_words(body<NodeHealth>(event), name(event.node)),
                           context(event.node));
  fault.looks_like = looks;
  fault.nodes = {event.node};
  break_down(std::move(fault));
}

}  // namespace robustrun::supervisor
