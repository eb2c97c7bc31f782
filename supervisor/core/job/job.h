#pragma once
// The job state machine: takes events, returns actions. Pure: no I/O, no clock, no threads, no
// randomness but the seed in RunStarted.
//
//   kIdle → kJoining → kReserving → kStarting → kRunning → kStopping → (kBackoff →) kJoining …
//   … → kFinishing → kFinished; directly → kFinished if no worker is left
//
// * kJoining: agents say hello, until it is clear which nodes form the group. kChecking, kReplaying
//   and kPlacing may follow.
// * kReserving: the first node finds a free MASTER_PORT. Skipped if the user gave one.
// * kStarting: workers were ordered, and not all of them have reported.
// * kRunning: all workers run.
// * kStopping: an attempt ends. Its workers are stopped, until no node has any left.
// * kBackoff: the wait before a restart.
// * kFinishing: like kStopping, but the run ends afterwards, and agents are dismissed.
//
// Every state but kIdle, kRunning and kFinished has a deadline (JobSpec::deadlines, limits.h).
// Every event is handled, or ignored on purpose, in every state (a test tries all pairs).
//
// Deterministic: the same events give the same actions and the same digest() on every machine. The
// simulator (tests/sim) drives exactly this class.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/job/stimulus.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/core/types/events.h"

namespace robustrun::supervisor {

enum class JobState : std::uint8_t {
  kIdle,
  kJoining,
  kReserving,
  kStarting,
  kRunning,
  kStopping,
  kBackoff,
  kFinishing,
  kFinished,
  kChecking,  // a check of nodes, before the first attempt or, by the policy, before a later one
  kPlacing,  // the places of the nodes are being computed
  kReplaying,  // groups of nodes run a program that shows which of them is faulty
};
inline constexpr std::size_t kJobStates = 12;

const char* to_string(JobState state);

class Job {
 public:
  Job();
  ~Job();
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;

  // Takes an event, and returns the actions that follow. The first event must be RunStarted, with
  // at least one worker. Never fails: impossible, late and repeated events are ignored. A SetTimer
  // replaces an earlier timer of the same id; if the earlier timer fires all the same, this is
  // ignored.
  std::vector<Action> handle(const Event& event);
  // The same, but replaces the content of `actions`, and reuses its memory.
  void handle(const Event& event, std::vector<Action>& actions);

  [[nodiscard]] JobState state() const;
  [[nodiscard]] base::Attempt attempt() const;
  // Restarts that were counted against max_restarts since the budget was last full.
  [[nodiscard]] std::uint32_t restarts_used() const;
  // Incarnation of the current supervisor: 1, and at least one more with every SupervisorResumed.
  [[nodiscard]] std::uint32_t incarnation() const;
  // Versions of the run; empty before RunStarted.
  [[nodiscard]] const Versions& versions() const;
  // The rank's place in the group, which restarts of the same group keep; nullptr: unknown rank.
  [[nodiscard]] const Assignment* assignment(base::Rank rank) const;
  // Whether workers of `attempt` on `node` belong to another supervisor: a predecessor may have
  // lived on after a takeover. True for workers that report another incarnation than the one that
  // ordered `attempt`, and for workers of the present or a later attempt that this supervisor has
  // not ordered there. Such a node must not get workers of ours. False when the run is ending.
  // `ordered_by`: the incarnation that the workers report; 0: they report none.
  [[nodiscard]] bool is_foreign(base::NodeId node, base::Attempt attempt,
                                std::uint32_t ordered_by) const;
  // For tests: the stimulus as which `event` is handled now. nullopt: it is outdated, or the
  // present state ignores it.
  [[nodiscard]] std::optional<Stimulus> acts_on(const Event& event) const;
  // Whether `stimulus` is handled in `state`.
  [[nodiscard]] static bool acts_on(JobState state, Stimulus stimulus);
  // What the scheduler plans for the node, as reported last; empty: nothing.
  [[nodiscard]] const std::string& drained(base::NodeId node) const;
  // Whether the node's agent has reported that the scheduler will take the node away soon.
  [[nodiscard]] bool is_ending(base::NodeId node) const;
  // Whether the node's agent has joined, and the node may be in the group.
  [[nodiscard]] bool works(base::NodeId node) const;
  // Why an order to evict the node would not be followed now, in words. Empty: it would be.
  [[nodiscard]] std::string why_not_evict(base::NodeId node) const;
  // Hash of the whole state: the same after a replay of the same journal.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace robustrun::supervisor
