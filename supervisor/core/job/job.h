#pragma once
// The job state machine: events in, actions out. Pure: no I/O, no clock, no threads, no
// randomness but the seed in RunStarted.
//
//   kIdle → kJoining → kReserving → kStarting → kRunning → kStopping → (kBackoff →) kJoining …
//   … → kFinishing → kFinished; at once → kFinished where no worker is left
//
// kJoining: agents say hello, until it is clear which nodes form the group; then perhaps kChecking,
// kReplaying and kPlacing. kReserving: the first node finds a free MASTER_PORT (skipped when one is
// given). kStarting: not every worker has reported. kStopping: an attempt ends; its workers are
// being stopped, until every node has reported WorkersGone. kBackoff: waits before a restart.
// kFinishing: like kStopping, but the run ends afterwards and agents are dismissed. Every state but
// kIdle, kRunning and kFinished has a deadline (JobSpec::deadlines, limits.h), and every event is
// handled or ignored on purpose in every state (a test walks the product).
//
// Deterministic: the same events give the same actions and the same digest() on every machine.
// The simulator (tests/sim) drives exactly this class.

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
  kChecking,  // the check of nodes before the first attempt, or before a later one by the policy
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

  // Takes an event, returns the actions that follow. The first event must be RunStarted, with at
  // least one worker. Never fails: events that make no sense, come late or come twice are ignored.
  // Timers: a SetTimer replaces an earlier one of the same id, and a timer that fires too late does
  // no harm.
  std::vector<Action> handle(const Event& event);
  // The same; replaces the content of `actions` and reuses its memory.
  void handle(const Event& event, std::vector<Action>& actions);

  [[nodiscard]] JobState state() const;
  [[nodiscard]] base::Attempt attempt() const;
  // Restarts that have counted against max_restarts since that budget was last full.
  [[nodiscard]] std::uint32_t restarts_used() const;
  // Incarnation of the current supervisor: 1, and at least one more with every SupervisorResumed.
  [[nodiscard]] std::uint32_t incarnation() const;
  // Versions of the run; empty before RunStarted.
  [[nodiscard]] const Versions& versions() const;
  // The rank's place (kept over restarts of the same group); nullptr for an unknown rank.
  [[nodiscard]] const Assignment* assignment(base::Rank rank) const;
  // Whether workers of `attempt` on `node` were ordered by another supervisor, or not by this one
  // as far as it knows: a predecessor may still have lived when this one took over. A node with
  // such workers must not get ours. `ordered_by`: the incarnation that the workers report; 0: they
  // report none.
  [[nodiscard]] bool is_foreign(base::NodeId node, base::Attempt attempt,
                                std::uint32_t ordered_by) const;
  // For tests: the stimulus that `event` is in the current state; nullopt: it does not count, or is
  // ignored. And whether a stimulus is handled in a state.
  [[nodiscard]] std::optional<Stimulus> acts_on(const Event& event) const;
  [[nodiscard]] static bool acts_on(JobState state, Stimulus stimulus);
  // What the scheduler plans for the node, as reported last; empty: nothing.
  [[nodiscard]] const std::string& drained(base::NodeId node) const;
  // Whether the node has joined, and may be in the group.
  [[nodiscard]] bool works(base::NodeId node) const;
  // Why an order to evict the node would not be followed now, in words; empty: it would.
  [[nodiscard]] std::string why_not_evict(base::NodeId node) const;
  // Hash of the whole state: the same after a replay of the same journal.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace robustrun::supervisor
