#pragma once
// Faults: one thing that went wrong (Fault), and all that went wrong in one attempt (Outage). Pure.
//
// A Fault has the words for what happened, whose fault it is, and whether it is counted against
// max_restarts. All faults from the first one until no worker is left make one Outage. Its root is
// the fault that counts as the cause: the one with the earliest time (that of the error file,
// otherwise the time of arrival). There are three exceptions:
// * A port conflict of rank 0 explains every other failure.
// * The loss of a machine explains the failures of workers that had it as a peer.
// * A worker that ended early is the root only until a failure comes that does not follow from
//   another.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/fault/script_error.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/core/types/events.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

enum class FaultClass : std::uint8_t {
  kUser,  // counted against max_restarts
  kInfrastructure,  // not counted; too many in a row without progress end the run
  kPortConflict,  // not counted; after kPortConflictsMax of them the next are kUser
  kPermanent,  // fails again in the same way: only another version of the run is tried
};

inline bool is_counted(FaultClass fault_class) { return fault_class == FaultClass::kUser; }

struct Fault {
  FaultClass fault_class = FaultClass::kUser;
  Rule rule = Rule::kWorkerFailed;
  std::int32_t exit_code = 1;  // the run's exit code, if this fault ends it
  std::int64_t time_s = 0;  // Unix time
  // The signature (failure_signature.h), or words for robustrun's own finding. Empty: no other
  // failure counts as the same.
  std::string signature;
  std::string words;  // "rank 1 on node0: SIGKILL"
  std::optional<Classification> looks_like;
  std::vector<base::NodeId> nodes;  // machines of the fault; for a failed worker: its own
  // For a hang in the script: its place, and how many hangs there have ended an attempt
  // (hang_places.h).
  std::string script_line{};
  std::uint32_t hangs_there = 0;
  template <class V>
  void fields(V& v) {
    v(1, "fault_class", fault_class);
    v(2, "rule", rule);
    v(3, "exit_code", exit_code);
    v(4, "time_s", time_s);
    v(5, "signature", signature);
    v(6, "words", words);
    v(7, "looks_like", looks_like);
    v(8, "nodes", nodes);
    v(9, "script_line", script_line);
    v(10, "hangs_there", hangs_there);
  }
};

// What must be known about the job to turn an event into a Fault.
struct FaultContext {
  base::NodeId node;
  std::string node_name;
  bool compat = false;
  bool port_may_conflict = false;  // FaultClass::kPortConflict is possible
  std::int64_t attempt_started_s = 0;  // Unix time
  std::int64_t now_s = 0;  // Unix time
  FaultPhase phase = FaultPhase::kStarting;
  const std::vector<FaultRow>* rows = nullptr;  // rows of the fault table; nullptr: do not classify
  bool trusts_looks = false;  // the classification may decide whose fault it is
};

// Whether the fault is surely the machine's. A restart is then free if the machine is evicted, or
// if the fault may pass (FirstAction::kTolerate). A restart on a broken machine without a
// replacement is counted as usual.
bool is_of_the_machine(const Classification& what);

// True when the worker exited with code 93, except with `compat`: the code means nothing to
// torchrun.
bool asks_not_to_requeue(const WorkerExited& exited, bool compat);

Fault worker_fault(const WorkerExited& exited, const FaultContext& context);
Fault start_fault(const WorkerStartFailed& failed, const FaultContext& context);
// A fault that no worker's exit shows: a lost agent, a missed deadline, a hang, a worker that
// vanished. With --compat=torchrun its class is kUser, unless `rule` is kGroupGrew.
Fault infrastructure_fault(Rule rule, std::string words, const FaultContext& context);

// Whether the worker failed by itself after its script had returned. The training is done, but the
// work of threads and exit handlers (an asynchronous save, an upload) may be lost, and training
// again would not bring it back. False if ended_well(): then nothing is lost.
bool is_lost_at_end(const WorkerExited& exited);

// The exception that ended the worker, from its stderr; nullopt: stderr shows none, or the worker
// ended in another way.
std::optional<ScriptError> ending_exception(const WorkerExited& exited);

// "SIGKILL (by the kernel's OOM killer)", "SIGABRT after its script had returned".
std::string how_it_ended(const WorkerExited& exited);
// "rank 1 on node0: SIGKILL", "rank 1 on node0 could not be started: …"
std::string failure_in_words(const WorkerExited& exited, const std::string& node_name);
std::string failure_in_words(const WorkerStartFailed& failed, const std::string& node_name);

// Lines of evidence for a decision: at most kEvidenceMax, and the number of lines left out.
struct Evidence {
  std::vector<std::string> first;
  std::uint32_t more = 0;

  void add(std::string line);
  void add_first(std::string line);
  [[nodiscard]] std::vector<std::string> lines() const;
  template <class V>
  void fields(V& v) {
    v(1, "first", first);
    v(2, "more", more);
  }
};

struct Outage {
  Fault root;
  Evidence evidence;

  explicit Outage(Fault first)
      : root(std::move(first)), looks_like(root.looks_like), nodes(root.nodes) {
    evidence.add(root.words);
  }
  Outage() = default;
  // Returns true when `fault` is the new root. `explains_root`: `fault` caused the present root.
  bool add(Fault fault, bool explains_root = false);
  // A job may lose all its workers at once: only the first failures are classified.
  [[nodiscard]] bool may_classify() const { return evidence.first.size() < kEvidenceMax; }
  // The cause of the root was found out later. The root gets this rule, these words and this
  // signature, becomes a user fault, and counts as earlier than all other faults.
  void explain(Rule rule, std::string words, std::string signature);
  // A machine leaves: the workers are stopped to go on without it.
  [[nodiscard]] bool is_handover() const {
    return root.rule == Rule::kSlowEvicted || root.rule == Rule::kNodeLeft;
  }
  // The workers are restarted for another version, or because a machine comes or goes.
  [[nodiscard]] bool nothing_failed() const {
    return is_handover() || root.rule == Rule::kGroupGrew || root.rule == Rule::kUpdating;
  }
  // The reason that the stop order gives to workers. When a machine leaves it is kPreempt, so that
  // all workers may save. `restart`: whether a restart follows.
  [[nodiscard]] StopReason stop_reason(bool restart) const {
    if (is_handover()) return StopReason::kPreempt;
    return restart ? StopReason::kRestart : StopReason::kStop;
  }
  // Replaces the classification and the machines to blame.
  void trace_to(Classification what, std::vector<base::NodeId> nodes);
  // Classification of the root. If the root is a sequel (Classification::sequel): classification of
  // the first fault that is not a sequel, if there is one.
  std::optional<Classification> looks_like;
  std::vector<base::NodeId> nodes;  // machines of the fault that was classified
  std::optional<Classification> said;  // the classification reported last
  bool lacks_operation = false;  // of kEndedEarly: the others' collective is not known yet
  // Until when an answer to LookBack may come; none: it has come, or there was no question.
  std::optional<base::Nanos> explained_by;
  template <class V>
  void fields(V& v) {
    v(1, "root", root);
    v(2, "evidence", evidence);
    v(3, "explained_by", explained_by);
    v(4, "looks_like", looks_like);
    v(5, "said", said);
    v(6, "nodes", nodes);
    v(7, "lacks_operation", lacks_operation);
  }
};

// What follows when nothing of the attempt is left: a restart, or the end of the run.
struct OutageVerdict {
  Answer answer = Answer::kNone;  // kNone: the run ends
  Rule rule = Rule::kRestart;
  int exit_code = 0;
  std::string text;

  [[nodiscard]] bool restart() const { return answer != Answer::kNone; }
  // Whether the budget limits this restart, or the run ends.
  [[nodiscard]] bool is_spent() const {
    return answer != Answer::kPlannedRestart && answer != Answer::kVersionRestart;
  }
};

}  // namespace robustrun::supervisor
