// Return of machines that were left out. While the run waits for nodes, each machine of a host list
// that was left out is tested again (a full check) after a growing delay; if its agent is gone, it
// is launched first. A machine that passes takes part again, and so does one that was evicted
// together with others and passes its test as a spare; both at most kReturnsMax times in a run, as
// a fault that no test finds must not keep the run busy for ever.
//
// In an open group a repaired machine joins by itself.

#include <fmt/core.h>

#include <algorithm>

#include "supervisor/core/job/impl.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

bool JobQuestions::may_return(base::NodeId node) const {
  const bool can_be_launched = !spec.group.open && !spec.nodes[node.value].volunteer;
  return can_be_launched && at(node).unfit && at(node).returns < kReturnsMax;
}

base::Nanos JobQuestions::next_retest() const {
  base::Nanos first = kNever;
  // Called at each of thousands of hellos: mostly no node is left out.
  if (spec.group.open || nodes_there + nodes_coming == nodes.size()) return first;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const bool is_planned = may_return({i}) && nodes[i].retest_at > base::Nanos{};
    if (is_planned) first = std::min(first, nodes[i].retest_at);
  }
  return first;
}

// "; n3 is tested again meanwhile"
std::string JobQuestions::retests_in_words() const {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (may_return({i})) names.push_back(name({i}));
  }
  if (names.empty()) return {};
  return fmt::format("; {} {} tested again meanwhile", names_in_words(names),
                     names.size() == 1 ? "is" : "are");
}

void Job::Impl::retest_unfit() {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    NodeState& node = nodes[i];
    if (!may_return({i}) || node.agent == Agent::kLaunched) continue;
    const base::Nanos delay = retry_delay(node.retests + 1);
    if (node.retest_at == base::Nanos{}) {
      node.retest_at = now + (node.on_probation ? kPreflightFullMax : delay);
    }
    if (now < node.retest_at) continue;
    ++node.retests;
    node.retest_at = now + delay;
    if (node.agent == Agent::kLost) {
      launch({i});
      arm_nodes_timer();
      continue;
    }
    node.retest_at += kPreflightFullMax;  // unless it answers before
    node.on_probation = true;
    check_evicted({base::NodeId{i}});
  }
}

void Job::Impl::readmit(base::NodeId node) {
  NodeState& returned = at(node);
  set_presence(returned, returned.agent, false);
  ++returned.losses;  // other nodes come first, should a place become free
  ++returned.returns;
  RR_ASSERT(returned.returns <= kReturnsMax);
  const std::string how =
      returned.retests == 0
          ? std::string("is a spare")
          : fmt::format("takes part again because the run waits for nodes (left out before: {})",
                        returned.trouble);
  std::string text = fmt::format("{} passed a full check and {}; return {} of at most {}",
                                 name(node), how, returned.returns, kReturnsMax);
  returned.retests = 0;
  returned.retest_at = base::Nanos{};
  returned.left_drained = false;
  returned.suspicion.reset();
  out.push_back(Decision{Rule::kNodeReturned, attempt, std::move(text), {}, {}, {}, {node}});
}

}  // namespace robustrun::supervisor
