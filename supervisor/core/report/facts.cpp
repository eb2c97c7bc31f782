#include "supervisor/core/report/facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "supervisor/core/fault/fault.h"

namespace robustrun::supervisor {
namespace {

// The driver translates seen_at to the supervisor's clock by an estimate of the difference. A value
// that is further away than any delay of a living agent is wrong.
constexpr base::Nanos kSeenAtDelayMax = std::chrono::minutes(1);

base::Nanos supervisor_time(base::Nanos seen_at, base::Nanos handled_at) {
  const bool same_clock = seen_at.count() > 0 && seen_at <= handled_at &&
                          elapsed(seen_at, handled_at) <= kSeenAtDelayMax;
  return same_clock ? seen_at : handled_at;
}

void keep_latest(std::optional<base::Nanos>& kept, base::Nanos at) {
  kept = kept ? std::max(*kept, at) : at;
}

struct Gatherer {
  Facts& facts;
  const Event& event;

  void operator()(const RunStarted& body) {
    if (facts.run != nullptr) return;
    facts.run = &body;
    facts.first_at = event.at;
    for (const NodeSpec& node : body.spec.nodes) facts.node_names.push_back(node.name);
  }
  void operator()(const AgentJoined&) {}
  void operator()(const AgentLost&) {}
  void operator()(const PortReserved& body) { keep_latest(of(body.attempt).reserved, event.at); }
  void operator()(const WorkerStarted& body) {
    keep_latest(of(body.attempt).started, event.at);
    if (body.warm) of(body.attempt).warm.insert(body.rank);
    if (!body.cold.empty()) of(body.attempt).cold[body.cold].insert(body.rank);
  }
  void operator()(const WorkerStartFailed& body) {
    of(body.attempt)
        .failures.push_back({body.rank, event.node, event.at, event.at, nullptr, &body});
  }
  void operator()(const WorkerExited& body) {
    AttemptFacts& attempt = of(body.attempt);
    if (body.stopped_by_us || body.ended_well()) return;
    attempt.failures.push_back(
        {body.rank, event.node, supervisor_time(body.seen_at, event.at), event.at, &body, nullptr});
  }
  void operator()(const WorkersGone& body) { keep_latest(of(body.attempt).gone, event.at); }
  void operator()(const Progress& body) {
    AttemptFacts& attempt = of(body.attempt);
    attempt.progress.push_back(&body);
    switch (body.mark) {
      case Progress::Mark::kUserCode: attempt.user_code = body.reached_at; break;
      case Progress::Mark::kFirstStep: attempt.first_step = body.reached_at; break;
      case Progress::Mark::kCaughtUp: attempt.caught_up = body.reached_at; break;
      case Progress::Mark::kSummary: break;
    }
  }
  void operator()(const StepGoalReached&) {}
  void operator()(const NodeOffered& body) { facts.node_names.push_back(body.spec.name); }
  void operator()(const FaultInjected& body) { facts.injected.emplace_back(event.at, &body); }
  void operator()(const SupervisorResumed& body) { facts.takeovers.emplace_back(event.at, &body); }
  void operator()(const NodeEnding&) {}
  void operator()(const NodesChecked&) {}  // decisions tell the result
  void operator()(const PlacementSolved&) {}  // as above
  void operator()(const Diagnosed& body) {
    const bool is_round = body.stage == Diagnosed::Stage::kRound;  // decisions tell the result
    if (!is_round) facts.diagnoses.emplace_back(event.at, &body);
  }
  void operator()(const NodeHealth&) {}  // as above
  void operator()(const NodesReplayed&) {}  // as above
  void operator()(const UpdateRequested&) {}  // as above
  void operator()(const CheckpointNoted& body) { facts.checkpoints.emplace_back(event.at, &body); }
  void operator()(const CheckpointDemoted&) {}  // as above
  void operator()(const BackupSolved&) {}  // as above
  void operator()(const CopiesKept&) {}  // as above
  void operator()(const StartStages&) {}  // see stages.h
  void operator()(const SavingOver&) {}
  void operator()(const CheckpointMoved& body) { facts.moved.emplace_back(event.at, &body); }
  void operator()(const HeldCopiesSaved& body) { facts.copies_saved.push_back(&body); }
  void operator()(const MetricAlarm& body) { facts.alarms.emplace_back(event.at, &body); }
  void operator()(const SignalReceived&) {}
  void operator()(const TimerFired& body) {
    if (body.id == TimerId::kBackoff) facts.backoffs_over.push_back(event.at);
  }

  AttemptFacts& of(base::Attempt attempt) { return facts.attempts[attempt.value]; }
};

// The first decision that ends a run counts: a later one (a signal while the workers of a failed
// run are being stopped) does not change it.
void note_ending(Facts& facts, const Decision& decision) {
  const RuleRole role = role_of(decision.rule);
  if (decision.rule == Rule::kRestart) {
    facts.ending = nullptr;
  } else if (facts.ending == nullptr && (role == RuleRole::kEnd || role == RuleRole::kVerdict)) {
    facts.ending = &decision;
  }
}

}  // namespace

Facts gather(const std::vector<JournalEntry>& entries) {
  Facts facts;
  if (!entries.empty()) facts.first_at = entries.front().at;
  for (const JournalEntry& entry : entries) {
    facts.last_at = std::max(facts.last_at, entry.at);
    if (const auto* event = std::get_if<Event>(&entry.what)) {
      std::visit(Gatherer{facts, *event}, event->body);
    } else if (const auto* finish = std::get_if<Finish>(&entry.what)) {
      facts.finish = finish;
      facts.last_at = entry.at;
      break;  // reports of agents that leave are no part of the run
    } else if (const auto* group = std::get_if<GroupFormed>(&entry.what)) {
      facts.groups.push_back(group);
    } else if (const auto* decision = std::get_if<Decision>(&entry.what)) {
      note_ending(facts, *decision);
      const bool is_of_checkpoint =
          decision->rule == Rule::kCheckpointPoisoned || decision->rule == Rule::kCheckpointKept;
      if (is_of_checkpoint) facts.set_aside.push_back(decision);
      if (decision->rule == Rule::kCopiesLost) facts.copies_lost.push_back(decision);
      if (decision->rule == Rule::kPortConflict) {
        facts.attempts[decision->attempt.value].port_conflict = true;
      }
    }
  }
  for (auto& [number, attempt] : facts.attempts) {
    std::ranges::stable_sort(attempt.failures, {}, [&](const Failure& failure) {
      const bool explains_all = attempt.port_conflict && failure.rank == base::Rank{0};
      return std::tuple(!explains_all, failure_second(facts, failure), failure.seen_at,
                        failure.rank);
    });
  }
  return facts;
}

base::Nanos elapsed(base::Nanos from, base::Nanos to) {
  if (to <= from) return base::Nanos{};
  const auto difference =
      static_cast<std::uint64_t>(to.count()) - static_cast<std::uint64_t>(from.count());
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return base::Nanos(
      difference > static_cast<std::uint64_t>(kMax) ? kMax : static_cast<std::int64_t>(difference));
}

base::Nanos later(base::Nanos from, base::Nanos by) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(from.count(), by.count(), &sum)) return base::Nanos::max();
  return base::Nanos(sum);
}

std::string node_name(const Facts& facts, base::NodeId node) {
  if (node.value < facts.node_names.size()) return facts.node_names[node.value];
  return fmt::format("node {}", node.value);
}

std::uint32_t local_rank(const Facts& facts, base::Rank rank, base::NodeId node) {
  for (auto group = facts.groups.rbegin(); group != facts.groups.rend(); ++group) {
    for (const GroupMember& member : (*group)->members) {
      if (member.node != node || rank.value < member.first_rank) continue;
      if (rank.value - member.first_rank < member.slots) return rank.value - member.first_rank;
    }
  }
  if (facts.run == nullptr) return rank.value;
  std::uint32_t first = 0;
  const auto& nodes = facts.run->spec.nodes;
  for (std::size_t i = 0; i < nodes.size() && i < node.value; ++i) first += nodes[i].slots;
  return rank.value >= first ? rank.value - first : rank.value;
}

base::Nanos wall_time(const Facts& facts, base::Nanos at) {
  const base::Nanos since_start = elapsed(facts.first_at, at);
  return facts.run == nullptr ? since_start : later(facts.run->wall_time, since_start);
}

std::string how_it_ended(const Failure& failure) {
  if (failure.exited == nullptr) {
    return "could not be started: " + failure.not_started->what;
  }
  return how_it_ended(*failure.exited);
}

std::string evidence_of(const Facts& facts, const Failure& failure) {
  const std::string node = node_name(facts, failure.node);
  return failure.exited != nullptr ? failure_in_words(*failure.exited, node)
                                   : failure_in_words(*failure.not_started, node);
}

const std::vector<Failure>& fatal_failures(const Facts& facts) {
  static const std::vector<Failure> kNone;
  const bool failed = facts.ending != nullptr
                          ? role_of(facts.ending->rule) == RuleRole::kVerdict
                          : facts.finish != nullptr && facts.finish->exit_code != 0;
  if (!failed || facts.attempts.empty()) return kNone;
  return facts.attempts.rbegin()->second.failures;
}

std::int64_t failure_second(const Facts& facts, const Failure& failure) {
  const auto unix_second = [&](base::Nanos at) {
    return std::chrono::floor<std::chrono::seconds>(wall_time(facts, at)).count();
  };
  if (failure.exited != nullptr) {
    const std::int64_t own = failure.exited->error_timestamp_s;
    const bool possible =
        own >= unix_second(facts.first_at) && own <= unix_second(failure.handled_at);
    if (own != 0 && possible) return own;
  }
  return unix_second(failure.seen_at);
}

const Failure* root_cause(const Facts& facts) {
  const auto& failures = fatal_failures(facts);
  const auto root = std::ranges::find_if(
      failures, [](const Failure& failure) { return failure.exited != nullptr; });
  return root == failures.end() ? nullptr : &*root;
}

}  // namespace robustrun::supervisor
