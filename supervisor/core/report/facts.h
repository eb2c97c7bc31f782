#pragma once
// A journal sorted by attempt: the basis of reports, of notes on machines (status/node_note.h) and
// of child_failed.h. Pure.
//
// Facts hold pointers into the entries they were made from. A journal is outside input: entries may
// be missing or out of order, and sums and differences of times saturate instead of overflowing.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

// A worker that failed before we told it to stop, or could not be started.
struct Failure {
  base::Rank rank;
  base::NodeId node;
  base::Nanos seen_at{};  // supervisor's clock
  base::Nanos handled_at{};
  const WorkerExited* exited = nullptr;  // either this is set, or not_started
  const WorkerStartFailed* not_started = nullptr;
};

struct AttemptFacts {
  // In the core's order (fault.h): rank 0 first if MASTER_PORT was taken, then by failure_second(),
  // then by seen_at.
  std::vector<Failure> failures;
  bool port_conflict = false;
  std::optional<base::Nanos> gone;  // no worker was left on any node
  std::optional<base::Nanos> reserved;  // MASTER_PORT was found
  std::optional<base::Nanos> started;  // the last worker was started
  std::set<base::Rank> warm;  // ranks that were standby workers
  std::map<std::string, std::set<base::Rank>> cold;  // ranks that were not, by reason
  std::optional<base::Nanos> user_code, first_step, caught_up;  // reached by the last rank
  std::vector<const Progress*> progress;  // in order
};

struct Facts {
  const RunStarted* run = nullptr;
  base::Nanos first_at{};  // the run's start
  base::Nanos last_at{};  // the run's end, or the last entry
  const Finish* finish = nullptr;
  const Decision* ending = nullptr;  // the decision that ends the run
  std::map<std::uint32_t, AttemptFacts> attempts;
  std::vector<base::Nanos> backoffs_over;
  std::vector<std::pair<base::Nanos, const FaultInjected*>> injected;  // in order
  std::vector<std::pair<base::Nanos, const SupervisorResumed*>> takeovers;  // in order
  std::vector<std::pair<base::Nanos, const Diagnosed*>> diagnoses;  // in order
  std::vector<std::pair<base::Nanos, const MetricAlarm*>> alarms;  // in order
  std::vector<std::pair<base::Nanos, const CheckpointNoted*>> checkpoints;  // in order
  std::vector<std::pair<base::Nanos, const CheckpointMoved*>> moved;  // in order
  std::vector<const HeldCopiesSaved*> copies_saved;  // in order
  std::vector<const Decision*> copies_lost;  // in order
  std::vector<const Decision*> set_aside;  // about checkpoints, in order
  std::vector<std::string> node_names;  // by NodeId
  std::vector<const GroupFormed*> groups;  // in order
};

Facts gather(const std::vector<JournalEntry>& entries);

base::Nanos elapsed(base::Nanos from, base::Nanos to);  // 0 when `to` is earlier
base::Nanos later(base::Nanos from, base::Nanos by);  // from + by

// The node's name; "node 3" if the journal does not tell.
std::string node_name(const Facts& facts, base::NodeId node);
// The rank's number within its node, by the newest group in which the node had that rank; without
// such a group, as the run's specification numbers the ranks.
std::uint32_t local_rank(const Facts& facts, base::Rank rank, base::NodeId node);
// Unix time of `at`, a moment of the supervisor's clock.
base::Nanos wall_time(const Facts& facts, base::Nanos at);

// "SIGKILL (by the kernel's OOM killer)", "could not be started: …".
std::string how_it_ended(const Failure& failure);
// The line about this failure in the evidence of the core's decisions.
std::string evidence_of(const Facts& facts, const Failure& failure);

// The failures that ended the run, in the order of AttemptFacts; empty if no worker's failure ended
// it.
const std::vector<Failure>& fatal_failures(const Facts& facts);
// Unix time of a failure in seconds: from the worker's error file if plausible; otherwise when the
// worker was seen dead.
std::int64_t failure_second(const Facts& facts, const Failure& failure);
// The first fatal failure of a worker that ran at all; nullptr: no such failure.
const Failure* root_cause(const Facts& facts);

}  // namespace robustrun::supervisor
