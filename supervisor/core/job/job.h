#pragma once
// The job state machine: events in, actions out. Pure: no I/O, no clock, no threads, no
// randomness but the seed in RunStarted.
//
//   kIdle → kJoining → kReserving → kStarting → kRunning → kStopping → (kBackoff →) kJoining …
//                                                              └────→ kFinishing → kFinished
//
// kJoining: agents say hello, until it is clear which nodes form the group; then perhaps kChecking,
// kReplaying and kPlacing. kReserving: the first of them finds a free MASTER_PORT (skipped when one
// is given). kStarting: not every worker has reported. kStopping: an attempt failed; its workers
// are being stopped on every node, until WorkersGone of all. kBackoff: waits before a restart.
// kFinishing: as kStopping, but the run ends afterwards, with agents dismissed. Every state but
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
  kChecking,  // the check of nodes before the first attempt
  kPlacing,  // it is being worked out which node gets which place
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

  // The first event must be RunStarted, with at least one worker. Never fails: what makes no
  // sense, comes late or comes twice is ignored. Timers: a SetTimer replaces an earlier one of the
  // same id, and one that fires too late does no harm.
  std::vector<Action> handle(const Event& event);
  // The same, in place of what `actions` holds, whose memory is used again.
  void handle(const Event& event, std::vector<Action>& actions);

  [[nodiscard]] JobState state() const;
  [[nodiscard]] base::Attempt attempt() const;
  // Of the supervisor that counts: 1, and one more with every SupervisorResumed.
  [[nodiscard]] std::uint32_t incarnation() const;
  // Of what it runs; empty before RunStarted.
  [[nodiscard]] const Versions& versions() const;
  // Place of a rank (it keeps it over restarts of the same group); nullptr for an unknown rank.
  [[nodiscard]] const Assignment* assignment(base::Rank rank) const;
  // Whether workers of that attempt on that node, which say who ordered them (0: they do not), were
  // ordered by somebody else: a supervisor that lived on beside this one, which has followed it.
  // Whoever has them may have none of ours.
  [[nodiscard]] bool is_foreign(base::NodeId node, base::Attempt attempt,
                                std::uint32_t ordered_by) const;
  // For tests: what `event` is to the present state; nullopt: it does not count, or is ignored. And
  // whether anything is done about a stimulus in a state.
  [[nodiscard]] std::optional<Stimulus> acts_on(const Event& event) const;
  [[nodiscard]] static bool acts_on(JobState state, Stimulus stimulus);
  // Hash of the whole state: equal after a replay of the same journal.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace robustrun::supervisor
