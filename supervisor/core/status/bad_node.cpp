#include "supervisor/core/status/bad_node.h"

#include <fmt/core.h>

#include <utility>
#include <variant>

namespace robustrun::supervisor {

std::optional<BadNode> BadNodeFold::take(const JournalEntry& entry) {
  if (const auto* event = std::get_if<Event>(&entry.what)) {
    take(*event);
    return std::nullopt;
  }
  const auto* decision = std::get_if<Decision>(&entry.what);
  if (decision == nullptr) return std::nullopt;
  if (attempt_ != decision->attempt) {
    attempt_ = decision->attempt;
    cause_.clear();
    evidence_.clear();
    looks_like_.reset();
  }
  if (role_of(decision->rule) == RuleRole::kCause) {
    cause_ = decision->text;
    evidence_ = decision->evidence;
  }
  if (decision->looks_like) looks_like_ = decision->looks_like;
  if (decision->rule != Rule::kNodeEvicted || decision->nodes.empty()) return std::nullopt;
  BadNode bad;
  bad.run = run_;
  bad.program = program_;
  bad.why = decision->text;
  bad.at = wall_time_ + (entry.at - first_at_);
  bad.attempt = decision->attempt.value;
  bad.cause = cause_;
  bad.evidence = evidence_;
  bad.looks_like = looks_like_;
  for (const base::NodeId node : decision->nodes) {
    bad.nodes.push_back(node.value < names_.size() ? names_[node.value]
                                                   : fmt::format("node {}", node.value));
    const auto found = findings_.find(node);
    if (found == findings_.end()) continue;
    bad.findings.insert(bad.findings.end(), found->second.begin(), found->second.end());
  }
  return bad;
}

void BadNodeFold::take(const Event& event) {
  if (const auto* started = std::get_if<RunStarted>(&event.body)) {
    run_ = started->spec.run_id;
    program_ = started->spec.program;
    first_at_ = event.at;
    wall_time_ = started->wall_time;
    names_.clear();
    for (const NodeSpec& node : started->spec.nodes) names_.push_back(node.name);
  } else if (const auto* offered = std::get_if<NodeOffered>(&event.body)) {
    names_.push_back(offered->spec.name);
  } else if (const auto* health = std::get_if<NodeHealth>(&event.body)) {
    if (health->over || event.node.value >= names_.size()) return;
    std::vector<std::string>& kept = findings_[event.node];
    if (kept.size() == kBadNodeFindingsMax) kept.erase(kept.begin());
    kept.push_back(health->subject.empty() ? health->line : health->subject + ": " + health->line);
  }
}

}  // namespace robustrun::supervisor
