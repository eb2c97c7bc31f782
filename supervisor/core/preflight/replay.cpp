#include "supervisor/core/preflight/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/result.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kMachinesToPair = 4;  // fewer form groups of one

}  // namespace

Obstacle ReplayCourse::obstacle(std::size_t machines, std::uint32_t unit, bool own_program) {
  if (machines < 2) return {Obstacle::Kind::kNothingToCompare};
  if (!own_program && machines < kMachinesToPair) return {};
  return replay_obstacle(static_cast<std::uint32_t>(machines), std::max(1U, unit));
}

void ReplayCourse::begin(std::vector<base::NodeId> machines, std::uint32_t unit, bool own_program) {
  RR_ASSERT(!obstacle(machines.size(), unit, own_program));
  *this = ReplayCourse();
  machines_ = std::move(machines);
  is_vote_ = !own_program && machines_.size() < kMachinesToPair;
  const auto count = static_cast<std::uint32_t>(machines_.size());
  const ReplayShape shape =
      is_vote_ ? ReplayShape{count, 1} : *replay_shape(count, std::max(1U, unit));
  m_ = shape.m;
  n_ = shape.n;
  first_.assign(n_, Outcome::kUntested);
  second_ = first_;
  enter_phase(false);
}

void ReplayCourse::enter_phase(bool second) {
  is_second_ = second;
  wave_.clear();
  lacking_.clear();
  const std::vector<ReplayGroup> all = groups(second);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].members.size() == m_) wave_.push_back(i);
    if (!all[i].members.empty() && all[i].members.size() < m_) lacking_.push_back(i);
  }
}

std::vector<ReplayGroup> ReplayCourse::groups(bool second) const {
  const auto count = static_cast<std::uint32_t>(machines_.size());
  if (is_vote_) {
    ReplayGroup all;
    for (Machine x = 0; x < count; ++x) all.members.push_back(x);
    return {std::move(all)};
  }
  return replay_groups({m_, n_}, count, second ? ReplayPhase::kVertical : ReplayPhase::kHorizontal);
}

ReplayGroup ReplayCourse::group(std::uint32_t number) const {
  std::vector<ReplayGroup> all = groups(is_second_);
  if (all[number].members.size() == m_) return std::move(all[number]);
  std::vector<std::uint8_t> passed;
  for (const Outcome outcome : outcomes()) passed.push_back(outcome == Outcome::kPassed ? 1 : 0);
  // Without enough helpers the group stays empty and is not run.
  if (!fill_group(all, number, passed, {m_, n_})) return {};
  return std::move(all[number]);
}

std::vector<base::NodeId> ReplayCourse::nodes_of(const std::vector<Machine>& machines) const {
  std::vector<base::NodeId> nodes;
  for (const Machine machine : machines) nodes.push_back(machines_[machine]);
  return nodes;
}

std::vector<std::vector<base::NodeId>> ReplayCourse::wave() const {
  std::vector<std::vector<base::NodeId>> all;
  for (const std::uint32_t number : wave_) {
    const ReplayGroup one = group(number);
    std::vector<Machine> machines = one.members;
    machines.insert(machines.end(), one.helpers.begin(), one.helpers.end());
    all.push_back(nodes_of(machines));
  }
  return all;
}

bool ReplayCourse::take(std::span<const GroupReplayed> groups) {
  std::vector<Outcome>& kept = is_second_ ? second_ : first_;
  for (std::size_t i = 0; i < wave_.size() && i < groups.size(); ++i) {
    const GroupReplayed& one = groups[i];
    kept[wave_[i]] = one.outcome;
    if (one.outcome != Outcome::kPassed && evidence_.size() < kEvidenceMax) {
      evidence_.push_back(fmt::format("group {}{}: {}", is_second_ ? 'V' : 'H', wave_[i], one.why));
    }
    if (one.outcome != Outcome::kFailed) continue;
    for (const base::NodeId node : one.named) {
      const bool takes_part = std::ranges::find(machines_, node) != machines_.end();
      if (takes_part && std::ranges::find(named_, node) == named_.end()) named_.push_back(node);
    }
  }
  return next_wave();
}

bool ReplayCourse::next_wave() {
  wave_.clear();
  if (!named_.empty() || is_vote_) return false;
  while (!lacking_.empty()) {
    const std::uint32_t next = lacking_.front();
    lacking_.erase(lacking_.begin());
    if (group(next).members.empty()) continue;
    wave_ = {next};
    return true;
  }
  if (is_second_ || failed(false).empty() || all_failed(false)) return false;
  enter_phase(true);
  RR_ASSERT(!wave_.empty());  // fewer machines are missing than a phase has groups
  return true;
}

std::vector<std::size_t> ReplayCourse::failed(bool second) const {
  std::vector<std::size_t> numbers;
  const std::vector<Outcome>& all = second ? second_ : first_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == Outcome::kFailed) numbers.push_back(i);
  }
  return numbers;
}

// What fails everywhere is the program, or what all machines share.
bool ReplayCourse::all_failed(bool second) const {
  const std::vector<Outcome>& all = second ? second_ : first_;
  return std::ranges::none_of(all, [](Outcome one) { return one == Outcome::kPassed; });
}

ReplayFinding ReplayCourse::finding(const std::vector<std::string>& names) const {
  const auto words = [&](const std::vector<base::NodeId>& nodes) {
    std::vector<std::string> list;
    for (const base::NodeId node : nodes) list.push_back(names[node.value]);
    return names_in_words(list);
  };
  ReplayFinding found{{}, {}, evidence_};
  const bool no_test =
      std::ranges::all_of(first_, [](Outcome outcome) { return outcome == Outcome::kUntested; });
  if (!named_.empty()) {
    found.culprits = named_;
    found.text = fmt::format("{} compute{} other bits than the others", words(named_),
                             named_.size() == 1 ? "s" : "");
  } else if (no_test) {
    found.text = "no group could be tested";
  } else if (failed(false).empty()) {
    found.text = "no group failed: the fault does not show in it, or comes and goes";
  } else if (is_vote_) {
    found.text = "the nodes differ, and which one is wrong is not clear";
  } else if (all_failed(false) || (is_second_ && all_failed(true))) {
    found.text = "it fails everywhere: no machine can be told from the others";
  } else {
    const ReplayVerdict verdict =
        intersect(groups(false), groups(true), failed(false), failed(true));
    using Kind = ReplayVerdict::Kind;
    if (verdict.kind == Kind::kOne || verdict.kind == Kind::kSeveral) {
      found.culprits = nodes_of(verdict.suspects);
      found.text = fmt::format("{} {} in the groups that failed in both phases",
                               words(found.culprits), found.culprits.size() == 1 ? "is" : "are");
    } else {
      found.text = fmt::format(
          "the groups that failed share no machine, or one phase alone did: "
          "it comes and goes among {}",
          words(nodes_of(verdict.suspects)));
    }
  }
  return found;
}

}  // namespace robustrun::supervisor
