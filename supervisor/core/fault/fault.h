#pragma once
// One thing that went wrong, and all that went wrong in one attempt. Pure.
//
// A Fault is an event put into a class (whose fault is it, is it counted) and into words. All
// faults from the first one until no worker is left make one Outage: its root is the fault with
// the earliest time (the error file's own, else the arrival), except that rank 0
// saying "address already in use" explains every other failure, and the loss of a machine the
// failures of workers that had it as a peer.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/core/types/events.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

enum class FaultClass : std::uint8_t {
  kUser,            // counted against max_restarts
  kInfrastructure,  // not counted; too many in a row without progress end the run
  kPortConflict,    // infrastructure, with a limit of its own
  kPermanent,       // will fail again in the same way: never retried
};

inline bool is_counted(FaultClass fault_class) { return fault_class == FaultClass::kUser; }

struct Fault {
  FaultClass fault_class = FaultClass::kUser;
  Rule rule = Rule::kWorkerFailed;
  std::int32_t exit_code = 1;      // the run's, should it end through this fault
  std::int64_t time_s = 0;         // Unix time
  std::string signature;           // failure_signature.h; empty unless kUser
  std::string words;               // "rank 1 on node0: SIGKILL"
  std::optional<Classification> looks_like;
  std::vector<base::NodeId> nodes;  // to which it was traced
  // Of a hang in the script: its line there, and how many have ended an attempt at it.
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

// What turning an event into a fault needs to know of the job.
struct FaultContext {
  base::NodeId node;
  std::string node_name;
  bool compat = false;
  bool port_may_conflict = false;        // a fresh port, no progress yet
  std::int64_t attempt_started_s = 0;    // Unix time
  std::int64_t now_s = 0;
  FaultPhase phase = FaultPhase::kStarting;
  const std::vector<FaultRow>* rows = nullptr;  // to classify it by; nullptr: not wanted
  bool trusts_looks = false;  // what it looks like may decide whose fault it is
};

// So sure that the script does not pay for it: not when the machine is evicted, nor where it may
// pass. On a broken machine that nothing can replace a restart is no better than any other.
bool is_of_the_machine(const Classification& what);

// With exit code 93, which has no meaning under torchrun (`compat`).
bool asks_not_to_requeue(const WorkerExited& exited, bool compat);

Fault worker_fault(const WorkerExited& exited, const FaultContext& context);
Fault start_fault(const WorkerStartFailed& failed, const FaultContext& context);
// Not the script's doing: a lost agent, a deadline, a worker that vanished.
Fault infrastructure_fault(Rule rule, std::string words, const FaultContext& context);

// The worker ended badly by itself when its script had returned, and not ended_well(): the training
// is done, but what its threads and exit handlers still did (an asynchronous save, a tracker's
// upload) may be lost. Training again would not bring that back.
bool is_lost_at_end(const WorkerExited& exited);

// "SIGKILL (by the kernel's OOM killer)", "SIGABRT after its script had returned".
std::string how_it_ended(const WorkerExited& exited);

// Lines for a decision: the first kEvidenceMax, and how many more there were.
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
  // Returns true when it is the new root. `explains_root`: what the root failed of follows from it.
  bool add(Fault fault, bool explains_root = false);
  // A job may lose all its workers at once: only the first of them are looked at closely.
  [[nodiscard]] bool may_classify() const { return evidence.first.size() < kEvidenceMax; }
  // What the first of them came of was found out: nothing that is added later comes before it.
  void explain(Rule rule, std::string words, std::string signature);
  // A machine goes: the group is stopped to go on without it, all workers alive.
  [[nodiscard]] bool is_handover() const {
    return root.rule == Rule::kSlowEvicted || root.rule == Rule::kNodeLeft;
  }
  // Somebody wanted the stop, or a machine comes or goes.
  [[nodiscard]] bool nothing_failed() const {
    return is_handover() || root.rule == Rule::kGroupGrew || root.rule == Rule::kUpdating;
  }
  // What workers are told by the stop: before a machine goes all may save.
  [[nodiscard]] StopReason stop_reason(bool restart) const {
    if (is_handover()) return StopReason::kPreempt;
    return restart ? StopReason::kRestart : StopReason::kStop;
  }
  // What it looks like, and whose machines are to blame, turned out to be something else.
  void trace_to(Classification what, std::vector<base::NodeId> nodes);
  // What the root looks like; if that follows from another's failure, the first that does not.
  std::optional<Classification> looks_like;
  std::vector<base::NodeId> nodes;  // of the fault that looks like that
  std::optional<Classification> said;  // of it, so far
  bool lacks_operation = false;  // of Rule::kEndedEarly: in which one the others waited
  // Until then an explanation may come; none: it has come, or none is expected.
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

// What is done when nothing of the attempt is left.
struct OutageVerdict {
  bool restart = false;
  Rule rule = Rule::kRestart;
  int exit_code = 0;
  std::string text;
  bool is_spent = true;  // the budget pays for the restart
};

}  // namespace robustrun::supervisor
