#include "supervisor/core/job/phases/checking.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <utility>

#include "base/core/words.h"
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
  if (out_of_it + slow == 0) return text + (verdicts.size() == 1 ? "; it is fit" : "; all are fit");
  if (out_of_it > 0) text += fmt::format("; {} unfit", out_of_it);
  return slow > 0 ? text + fmt::format("; {} slow", slow) : text;
}

}  // namespace

bool Checking::is_due(const GroupChoice& choice) const {
  if (is_due_) return true;
  return spec_.preflight != PreflightDepth::kOff && !group_.is_formed() &&
         std::ranges::any_of(choice.members,
                             [this](base::NodeId node) { return !nodes_[node.value].checked; });
}

void Checking::want(const std::string& why) {
  is_due_ = true;
  orders_.decide(
      Rule::kStopTimeCheck,
      fmt::format("the cause is not clear ({}): checking all nodes before the next start", why));
}

void Checking::begin() {
  std::vector<base::NodeId> there;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].is_there()) there.push_back({i});
  }
  orders_.give(checks_.order(std::move(there), depth()));
  orders_.enter(JobState::kChecking);
  orders_.set_timer(TimerId::kState, orders_.now() + describe(depth()).limit);
}

// Before the first attempt the user's choice, between two attempts the policy's.
PreflightDepth Checking::depth() const { return is_due_ ? spec_.policy.check : spec_.preflight; }

const char* Checking::check_name() const { return is_due_ ? "check" : "pre-flight"; }

void Checking::check_spares() {
  if (!group_.is_formed()) return;
  const std::vector<bool> is_member = group_.membership(nodes_.size());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const bool is_spare = nodes_[i].agent == Agent::kJoined && !is_member[i];
    if (is_spare && !nodes_[i].checked) check_spare({i});
  }
}

void Checking::check_spare(base::NodeId node) {
  if (spec_.preflight == PreflightDepth::kOff) return;
  // An order now would replace the one under way; checked() looks for spares at its end.
  if (orders_.state() == JobState::kChecking) return;
  const auto partner = std::ranges::find_if(
      group_, [this](base::NodeId member) { return nodes_.at(member).agent == Agent::kJoined; });
  std::vector<base::NodeId> tested;
  if (partner != group_.end()) tested.push_back(*partner);
  tested.push_back(node);
  // A fast check does not disturb the partner's workers.
  orders_.give(checks_.order(std::move(tested), PreflightDepth::kFast));
}

// Verdicts on the nodes that are still there, with the agents that were asked.
std::vector<NodeVerdict> Checking::judge_nodes(const NodesChecked& result) {
  NodesChecked current = checks_.current_part(
      result, [this](base::NodeId node) { return nodes_.at(node).may_work(); });
  // Of two nodes that do not match, the one that is judged later is left out.
  const std::vector<bool> is_member = group_.membership(nodes_.size());
  std::ranges::stable_partition(current.nodes,
                                [&](const NodeCheck& node) { return is_member[node.node.value]; });
  std::vector<WantedNode> wanted;
  for (const NodeCheck& node : current.nodes) {
    wanted.push_back({nodes_.name(node.node), nodes_.at(node.node).slots});
    nodes_.at(node.node).checked = true;
    nodes_.at(node.node).lacks_program = !node.facts.missing.empty() || node.facts.software.missing;
  }
  std::uint64_t world = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(nodes_.max_wanted(), nodes_.size()); ++i) {
    world += nodes_[i].slots;
  }
  return judge(current, wanted, world);
}

// A slow node is better than none: slow nodes are left out, the slowest first, only while there are
// more nodes than needed.
void Checking::leave_out_unfit(std::vector<NodeVerdict>& verdicts) {
  const auto unfit = [](const NodeVerdict& verdict) { return verdict.level == Fitness::kUnfit; };
  std::size_t left = nodes_.there();
  left -= static_cast<std::size_t>(std::ranges::count_if(verdicts, unfit));
  std::vector<NodeVerdict*> slow;
  for (NodeVerdict& verdict : verdicts) {
    if (verdict.level == Fitness::kSlow) slow.push_back(&verdict);
  }
  std::ranges::stable_sort(slow, std::ranges::greater{}, &NodeVerdict::slowness);
  for (NodeVerdict* const verdict : slow) {
    if (left <= nodes_.max_wanted()) break;
    verdict->level = Fitness::kUnfit;
    --left;
  }
  for (const NodeVerdict& verdict : verdicts) {
    if (!unfit(verdict)) continue;
    NodeState& node = nodes_.at(verdict.node);
    nodes_.set_presence(node, node.agent, true);
    node.trouble = verdict.findings.front().words;
  }
}

void Checking::announce_findings(const std::vector<NodeVerdict>& verdicts) {
  std::vector<Common> unfit, warnings;
  for (const NodeVerdict& verdict : verdicts) {
    const std::string& node = nodes_.name(verdict.node);
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
        return orders_.decide(
            rule, fmt::format("{}: and {} more findings", check_name(), groups.size() - i));
      }
      const Common& one = groups[i];
      orders_.decide(
          rule,
          fmt::format("{}: {}{}: {}", check_name(), names_in_words(one.names), verb, one.words),
          one.names.size() > 1 ? one.names : std::vector<std::string>{});
    }
  };
  say(Rule::kNodeUnfit, " left out", unfit);
  say(Rule::kPreflightWarning, "", warnings);
}

void Checking::checked(const Event& event) {
  const auto& result = body<NodesChecked>(event);
  if (probation_.judge(result) || result.check != checks_.newest()) return;
  std::vector<NodeVerdict> verdicts = judge_nodes(result);
  leave_out_unfit(verdicts);
  announce_findings(verdicts);
  orders_.decide(Rule::kPreflight, check_in_words(check_name(), depth(), result, verdicts,
                                                  base::duration_words(result.took)));
  if (spec_.check_only) return end_check(std::move(verdicts));
  orders_.give(NodesJudged{result.check, std::move(verdicts)});
  is_due_ = false;
  moves_.resume_joining();
  check_spares();
}

void Checking::spare_checked(const Event& event) {
  const auto& result = body<NodesChecked>(event);
  if (probation_.judge(result) || spec_.preflight == PreflightDepth::kOff) return;
  std::vector<NodeVerdict> verdicts = judge_nodes(result);
  std::erase_if(verdicts, [this](const NodeVerdict& verdict) { return group_.has(verdict.node); });
  if (verdicts.empty()) return;
  leave_out_unfit(verdicts);
  announce_findings(verdicts);
  orders_.give(NodesJudged{result.check, std::move(verdicts)});
  if (orders_.state() == JobState::kPlacing) moves_.group_changed();
}

void Checking::overdue(const Event&) {
  for (NodeState& node : nodes_) node.checked = node.checked || node.agent == Agent::kJoined;
  std::string text =
      fmt::format("the {} did not end within {}", is_due_ ? "check" : "pre-flight check",
                  base::in_seconds(describe(depth()).limit));
  if (spec_.check_only) return moves_.give_up(std::move(text));
  orders_.decide(Rule::kPreflightWarning, text + "; the run starts without its result");
  is_due_ = false;
  moves_.resume_joining();
}

void Checking::end_check(std::vector<NodeVerdict> verdicts) {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const base::NodeId node{i};
    const bool is_there = nodes_.at(node).agent == Agent::kJoined;
    if (is_there && nodes_.at(node).checked) continue;
    std::string words =
        nodes_.at(node).trouble.empty() ? "it did not come" : nodes_.at(node).trouble;
    words = is_there ? "it came too late to be checked" : "no agent: " + std::move(words);
    verdicts.push_back({node, Fitness::kUnfit, {{Fitness::kUnfit, std::move(words)}}});
  }
  const bool all_fit = std::ranges::all_of(
      verdicts, [](const NodeVerdict& verdict) { return verdict.level < Fitness::kSlow; });
  orders_.give(NodesJudged{checks_.newest(), std::move(verdicts)});
  moves_.end_run(
      {Rule::kPreflight, all_fit ? kExitSuccess : exit_code_for_infrastructure(spec_.compat)},
      SIGTERM, base::Nanos{});
}

}  // namespace robustrun::supervisor
