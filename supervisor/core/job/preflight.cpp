// The check of nodes before the first attempt, and before another one where the policy wants it:
// kChecking lasts from CheckNodes to NodesChecked.
//
// All nodes that have joined take part, spares included. An unfit node is treated like one that was
// lost for good: a spare takes its place, or the run gives up and says why. A spare that comes
// later is checked together with one node of the group, while the run goes on.

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "base/core/words.h"
#include "supervisor/core/job/group.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

using Agent = NodeState::Agent;

// A finding that several nodes have in common is reported once.
struct Common {
  std::string words;
  std::vector<std::string> names;
};

void add_to(std::vector<Common>& groups, const std::string& words, const std::string& name) {
  const auto found = std::ranges::find(groups, words, &Common::words);
  if (found == groups.end()) {
    groups.push_back({words, {name}});
  } else {
    found->names.push_back(name);
  }
}

struct Depth {
  const char* name;
  base::Nanos limit;
};

Depth describe(PreflightDepth depth) {
  if (depth == PreflightDepth::kFull) return {"full", kPreflightFullMax};
  if (depth == PreflightDepth::kGpu) return {"gpu", kPreflightGpuMax};
  return {"fast", kPreflightFastMax};
}

std::string check_in_words(const char* what, PreflightDepth depth, const NodesChecked& result,
                           const std::vector<NodeVerdict>& verdicts, const std::string& took) {
  const auto out_of_it = std::ranges::count(verdicts, Fitness::kUnfit, &NodeVerdict::level);
  std::string text = fmt::format("{} ({}): {} checked in {}", what, describe(depth).name,
                                 base::counted(verdicts.size(), "node"), took);
  if (result.partners + 1 < verdicts.size()) {
    text += fmt::format(", each with {} of the others", result.partners);
  }
  const auto slow = std::ranges::count(verdicts, Fitness::kSlow, &NodeVerdict::level);
  if (out_of_it + slow == 0) return text + "; all are fit";
  if (out_of_it > 0) text += fmt::format("; {} unfit", out_of_it);
  return slow > 0 ? text + fmt::format("; {} slow", slow) : text;
}

template <class Counts>
NodesChecked part_of(const NodesChecked& result, const Counts& counts) {
  NodesChecked part{result.check, result.full, result.took, result.partners, {}};
  part.nodes.reserve(static_cast<std::size_t>(std::ranges::count_if(result.nodes, counts)));
  std::ranges::copy_if(result.nodes, std::back_inserter(part.nodes), counts);
  return part;
}

}  // namespace

// The agent that was asked is still the node's agent.
bool JobQuestions::is_of_present_agent(const NodeCheck& answer) const {
  return answer.node.value < nodes.size() && at(answer.node).generation == answer.generation &&
         at(answer.node).agent == Agent::kJoined;
}

// Before the first attempt: nodes that came while others were checked are checked, too.
bool Job::Impl::wants_check(const GroupChoice& choice) const {
  if (check_due) return true;
  return spec.preflight != PreflightDepth::kOff && !group_formed &&
         std::ranges::any_of(choice.members,
                             [this](base::NodeId node) { return !nodes[node.value].checked; });
}

void Job::Impl::check_nodes() {
  const PreflightDepth depth = check_depth();
  CheckNodes order{++check, depth == PreflightDepth::kFull, {}, {}, depth == PreflightDepth::kGpu};
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].agent != Agent::kJoined || !nodes[i].may_work()) continue;
    order.nodes.push_back({i});
    order.addresses.push_back(nodes[i].address);
  }
  out.push_back(std::move(order));
  enter(JobState::kChecking);
  set_timer(TimerId::kState, now + describe(depth).limit);
}

// Before the first attempt the user's choice, between two attempts the policy's.
PreflightDepth JobQuestions::check_depth() const {
  return check_due ? spec.policy.check : spec.preflight;
}

const char* Job::Impl::check_name() const { return check_due ? "check" : "pre-flight"; }

void Job::Impl::check_evicted(const std::vector<base::NodeId>& suspects) {
  CheckNodes order{++check, true, {}, {}};
  for (const base::NodeId node : suspects) {
    if (at(node).agent != Agent::kJoined || !at(node).on_probation) continue;
    order.nodes.push_back(node);
    order.addresses.push_back(at(node).address);
  }
  if (!order.nodes.empty()) out.push_back(std::move(order));
}

// Judges nodes that were left out and tested again: false if there are none in `result`.
bool Job::Impl::judge_evicted(const NodesChecked& result) {
  const NodesChecked current = part_of(result, [this](const NodeCheck& node) {
    return is_of_present_agent(node) && at(node.node).on_probation;
  });
  if (current.nodes.empty()) return false;
  std::vector<WantedNode> wanted;
  for (const NodeCheck& node : current.nodes) {
    wanted.push_back({name(node.node), at(node.node).slots});
  }
  for (const NodeVerdict& verdict : judge(current, wanted, 0)) {
    NodeState& node = at(verdict.node);
    node.on_probation = false;
    if (verdict.level >= Fitness::kSlow) {
      node.trouble = verdict.findings.front().words;
      node.retest_at = base::Nanos{};
      node.left_drained = false;  // now it is the test that keeps it out
      decide(Rule::kNodeUnfit,
             fmt::format("{} {}: {}", name(verdict.node),
                         node.retests > 0 ? "stays out" : "stays evicted", node.trouble));
      continue;
    }
    readmit(verdict.node);
  }
  if (state == JobState::kJoining) consider_group();
  if (state == JobState::kPlacing) reconsider_group();
  return true;
}

// Checks spares without a result: they came in the middle of a check, or their answer was lost.
void Job::Impl::check_spares() {
  if (!group_formed) return;
  const std::vector<bool> is_member = group_membership();
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const bool is_spare = nodes[i].agent == Agent::kJoined && !is_member[i];
    if (is_spare && !nodes[i].checked) check_spare({i});
  }
}

void Job::Impl::check_spare(base::NodeId node) {
  if (spec.preflight == PreflightDepth::kOff) return;
  const auto partner = std::ranges::find_if(
      group, [this](base::NodeId member) { return at(member).agent == Agent::kJoined; });
  CheckNodes order{++check, false, {}, {}};  // a fast check does not disturb the partner's workers
  if (partner != group.end()) order.nodes.push_back(*partner);
  order.nodes.push_back(node);
  for (const base::NodeId each : order.nodes) order.addresses.push_back(at(each).address);
  out.push_back(std::move(order));
}

// Verdicts on the nodes that are still there, with the agents that were asked.
std::vector<NodeVerdict> Job::Impl::judge_nodes(const NodesChecked& result) {
  NodesChecked current = part_of(result, [this](const NodeCheck& node) {
    return is_of_present_agent(node) && at(node.node).may_work();
  });
  // Of two nodes that do not match, the one that is judged later is left out.
  const std::vector<bool> is_member = group_membership();
  std::ranges::stable_partition(current.nodes,
                                [&](const NodeCheck& node) { return is_member[node.node.value]; });
  std::vector<WantedNode> wanted;
  for (const NodeCheck& node : current.nodes) {
    wanted.push_back({name(node.node), at(node.node).slots});
    at(node.node).checked = true;
    at(node.node).lacks_program = !node.facts.missing.empty() || node.facts.software.missing;
  }
  std::uint64_t world = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(max_nodes(), nodes.size()); ++i) {
    world += nodes[i].slots;
  }
  return judge(current, wanted, world);
}

// A slow node is better than none: slow nodes are left out, the slowest first, only while there are
// more nodes than needed.
void Job::Impl::leave_out_unfit(std::vector<NodeVerdict>& verdicts) {
  const auto unfit = [](const NodeVerdict& verdict) { return verdict.level == Fitness::kUnfit; };
  std::size_t left = nodes_there;
  left -= static_cast<std::size_t>(std::ranges::count_if(verdicts, unfit));
  std::vector<NodeVerdict*> slow;
  for (NodeVerdict& verdict : verdicts) {
    if (verdict.level == Fitness::kSlow) slow.push_back(&verdict);
  }
  std::ranges::stable_sort(slow, std::ranges::greater{}, &NodeVerdict::slowness);
  for (NodeVerdict* const verdict : slow) {
    if (left <= max_nodes()) break;
    verdict->level = Fitness::kUnfit;
    --left;
  }
  for (const NodeVerdict& verdict : verdicts) {
    if (!unfit(verdict)) continue;
    NodeState& node = at(verdict.node);
    set_presence(node, node.agent, true);
    node.trouble = verdict.findings.front().words;
  }
}

void Job::Impl::announce_findings(const std::vector<NodeVerdict>& verdicts) {
  std::vector<Common> unfit, warnings;
  for (const NodeVerdict& verdict : verdicts) {
    const std::string& node = name(verdict.node);
    const bool is_out = verdict.level == Fitness::kUnfit;
    if (is_out) add_to(unfit, verdict.findings.front().words, node);
    for (const Finding& finding : verdict.findings) {
      if (is_out && &finding == &verdict.findings.front()) continue;
      add_to(warnings, finding.words, node);
    }
  }
  const auto say = [this](Rule rule, const char* verb, const std::vector<Common>& groups) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (i == kEvidenceMax) {
        return decide(rule,
                      fmt::format("{}: and {} more findings", check_name(), groups.size() - i));
      }
      const Common& one = groups[i];
      decide(rule,
             fmt::format("{}: {}{}: {}", check_name(), names_in_words(one.names), verb, one.words),
             one.names.size() > 1 ? one.names : std::vector<std::string>{});
    }
  };
  say(Rule::kNodeUnfit, " left out", unfit);
  say(Rule::kPreflightWarning, "", warnings);
}

void Job::Impl::nodes_checked(const Event& event) {
  const auto& result = body<NodesChecked>(event);
  if (judge_evicted(result) || result.check != check) return;
  std::vector<NodeVerdict> verdicts = judge_nodes(result);
  leave_out_unfit(verdicts);
  announce_findings(verdicts);
  decide(Rule::kPreflight, check_in_words(check_name(), check_depth(), result, verdicts,
                                          base::duration_words(result.took)));
  if (spec.check_only) return end_check(std::move(verdicts));
  out.push_back(NodesJudged{result.check, std::move(verdicts)});
  check_due = false;
  // The waits of kJoining go on from where they were.
  enter(JobState::kJoining);
  consider_group();
  check_spares();
}

void Job::Impl::spare_checked(const Event& event) {
  const auto& result = body<NodesChecked>(event);
  if (judge_evicted(result) || spec.preflight == PreflightDepth::kOff) return;
  std::vector<NodeVerdict> verdicts = judge_nodes(result);
  std::erase_if(verdicts, [this](const NodeVerdict& verdict) { return in_group(verdict.node); });
  if (verdicts.empty()) return;
  leave_out_unfit(verdicts);
  announce_findings(verdicts);
  out.push_back(NodesJudged{result.check, std::move(verdicts)});
  if (state == JobState::kPlacing) reconsider_group();
}

void Job::Impl::check_overdue(const Event&) {
  for (NodeState& node : nodes) node.checked = node.checked || node.agent == Agent::kJoined;
  std::string text =
      fmt::format("the {} did not end within {}", check_due ? "check" : "pre-flight check",
                  base::in_seconds(describe(check_depth()).limit));
  if (spec.check_only) return give_up(std::move(text));
  decide(Rule::kPreflightWarning, text + "; the run starts without its result");
  check_due = false;
  enter(JobState::kJoining);
  consider_group();
}

void Job::Impl::end_check(std::vector<NodeVerdict> verdicts) {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const base::NodeId node{i};
    const bool is_there = at(node).agent == Agent::kJoined;
    if (is_there && at(node).checked) continue;
    std::string words = at(node).trouble.empty() ? "it did not come" : at(node).trouble;
    words = is_there ? "it came too late to be checked" : "no agent: " + std::move(words);
    verdicts.push_back({node, Fitness::kUnfit, {{Fitness::kUnfit, std::move(words)}}});
  }
  const bool all_fit = std::ranges::all_of(
      verdicts, [](const NodeVerdict& verdict) { return verdict.level < Fitness::kSlow; });
  out.push_back(NodesJudged{check, std::move(verdicts)});
  end_run({Rule::kPreflight, all_fit ? kExitSuccess : exit_code_for_infrastructure(spec.compat)},
          SIGTERM, base::Nanos{});
}

}  // namespace robustrun::supervisor
