#include "supervisor/core/job/phases/joining.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "base/core/words.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::supervisor {

void Joining::begin() {
  orders_.enter(JobState::kJoining);
  waiting_since_ = orders_.now();
  complete_since_.reset();
  enough_since_.reset();
  wait_announced_ = false;
  consider();
}

void Joining::resume() {
  orders_.enter(JobState::kJoining);
  consider();
}

void Joining::overdue(const Event&) {
  agents_.look_after();
  consider();
}

void Joining::consider() {
  const auto in_vain = [this](bool any_coming) {
    const bool may_wait = group_.is_formed() && spec_.group.wait_for_nodes > base::Nanos{};
    return !any_coming || (may_wait && orders_.now() >= wait_over(any_coming));
  };
  // Of thousands of hellos only the last few matter, so all nodes are examined only for these.
  if (nodes_.there() < nodes_.min_wanted() && nodes_.coming() > 0 && !in_vain(true)) {
    complete_since_.reset();
    enough_since_.reset();
    return arm_timer(nodes_.there(), true);
  }
  const GroupChoice choice = formation_.choice();
  const std::size_t there = choice.members.size();
  if (there < nodes_.max_wanted()) complete_since_.reset();
  if (there < nodes_.min_wanted()) enough_since_.reset();
  if (there == nodes_.max_wanted() && !complete_since_) complete_since_ = orders_.now();
  if (there >= nodes_.min_wanted() && !enough_since_) enough_since_ = orders_.now();
  if (may_begin(choice)) {
    agents_.report_failed_starts();
    if (checking_.is_due(choice)) return checking_.begin();
    if (replaying_.is_due() && replaying_.begin(choice)) return;
    return placing_.wants(choice) ? placing_.begin(choice) : formation_.form_in_order(choice);
  }
  const bool volunteers_may_come = spec_.group.open && !group_.is_formed() &&
                                   orders_.now() < waiting_since_ + spec_.group.wait_for_nodes;
  if (there < nodes_.min_wanted() && in_vain(choice.any_coming) && !volunteers_may_come) {
    return wait_for_more(choice);
  }
  arm_timer(there, choice.any_coming);
}

void Joining::reconsider() {
  const GroupChoice choice = formation_.choice();
  if (!may_begin(choice) || !placing_.is_asked(choice)) resume();
}

// Nodes that are on the way are waited for once, at least until their hello is overdue.
base::Nanos Joining::wait_over(bool any_coming) const {
  const base::Nanos limit = spec_.group.wait_for_nodes;
  return waiting_since_ + (any_coming ? std::max(limit, spec_.deadlines.agent_hello) : limit);
}

bool Joining::may_begin(const GroupChoice& choice) const {
  const std::size_t there = choice.members.size();
  if (there == nodes_.max_wanted()) {
    // The first placement chooses among all nodes.
    const bool all_count = spec_.placement != PlacementUse::kOff && !group_.is_formed();
    const bool is_missed = all_count ? choice.any_coming : choice.rightful_coming;
    return !is_missed || orders_.now() >= *complete_since_ + spec_.group.spare_patience;
  }
  if (there < nodes_.min_wanted()) return false;
  if (!spec_.group.open) return !choice.any_coming;
  return orders_.now() >=
         *enough_since_ + (group_.is_formed() ? spec_.group.spare_patience : spec_.group.last_call);
}

// There are too few nodes, and none is on the way.
void Joining::wait_for_more(const GroupChoice& choice) {
  const Evidence lost = agents_.troubles();
  const std::string text = missing_in_words(choice.members.size());
  const base::Nanos limit = spec_.group.wait_for_nodes;
  if (!group_.is_formed() || orders_.now() >= wait_over(choice.any_coming)) {
    return moves_.give_up(text, lost.lines(), exit_code_for_too_few(choice.members.size()));
  }
  if (!wait_announced_) {
    wait_announced_ = true;
    orders_.decide(Rule::kWaitForNodes,
                   fmt::format("{}; waiting for more, at most {}{}", text, base::in_seconds(limit),
                               probation_.retests_in_words()),
                   lost.lines(), {"end the run: shorten --wait-for-nodes"});
  }
  probation_.retest();
  arm_timer(choice.members.size(), choice.any_coming);
}

// Where only the program is missing, or no node can use an option, other nodes would not help.
int Joining::exit_code_for_too_few(std::size_t there) const {
  if (nodes_.size() > 0 && std::ranges::all_of(nodes_, &NodeState::bad_input)) return kExitUsage;
  const auto without = static_cast<std::size_t>(std::ranges::count_if(
      nodes_, [](const NodeState& node) { return node.unfit && node.lacks_program; }));
  return without > 0 && there + without >= nodes_.min_wanted()
             ? exit_code_for_start_failure(ENOENT, spec_.compat)
             : exit_code_for_infrastructure(spec_.compat);
}

std::string Joining::missing_in_words(std::size_t there) const {
  const Evidence lost = agents_.troubles();
  if (nodes_.size() == 1 && !spec_.group.open && !nodes_[0].unfit) {
    return fmt::format("the agent of {} cannot be started: {}", nodes_.name({0}),
                       nodes_.at({0}).trouble);
  }
  const std::string why = lost.first.empty() ? std::string() : ": " + lost.first.front();
  if (spec_.check_only) {
    return fmt::format("none of the {} can be checked{}", base::counted(nodes_.size(), "node"),
                       why);
  }
  return fmt::format("only {} of the {} needed{}", there,
                     base::counted(nodes_.min_wanted(), "node"), why);
}

void Joining::arm_timer(std::size_t there, bool any_coming) {
  // The next look is due when hellos under way are overdue, a retest is due, or the wait is over,
  // whichever comes first.
  base::Nanos at = orders_.now() + spec_.deadlines.agent_hello;
  if (there < nodes_.min_wanted()) {
    for (const base::Nanos other : {wait_over(any_coming), probation_.next_retest()}) {
      if (other > orders_.now()) at = std::min(at, other);
    }
  }
  if (there == nodes_.max_wanted()) {
    at = std::min(at, *complete_since_ + spec_.group.spare_patience);
  } else if (spec_.group.open && enough_since_) {
    at = std::min(at, *enough_since_ + (group_.is_formed() ? spec_.group.spare_patience
                                                           : spec_.group.last_call));
  }
  orders_.set_timer(TimerId::kState, std::max(at, orders_.now()));
}

}  // namespace robustrun::supervisor
