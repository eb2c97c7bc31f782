#pragma once
// One failure in the report of a run: what ended, why, and what the recovery took. Plain data.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/fault_table.h"

namespace robustrun::supervisor {

// The parts of a recovery, in order. Each begins where the one before ends.
enum class RecoveryPhase : std::uint8_t {
  kDetect,            // from the worker's end, as the shim saw it, until the core handled it
  kStopOthers,        // until no worker is left on any node
  kBackoff,
  kPrepare,           // until agents and port are there
  kStartProcesses,    // until the last worker is started
  kInterpreterStart,  // until the script's first line runs on every rank
  kFirstStep,         // until the first step, including the script's own imports
  kCatchUp,           // until the last step before the failure is reached again
};
// "detect", "stop the others", "back-off", "prepare", "start processes", "interpreter start",
// "first step", "catch up"
[[nodiscard]] const char* to_string(RecoveryPhase phase);

// A phase that took place.
struct Phase {
  RecoveryPhase name = RecoveryPhase::kDetect;
  base::Nanos duration{};
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "duration", duration);
  }
};

struct Incident {
  std::uint32_t attempt = 0;
  base::Nanos at{};                        // since the run's start
  // First failing rank; nullopt: no worker failed, or the loss of an agent was the cause.
  std::optional<std::uint32_t> rank;
  std::string node;
  std::string ended;  // "SIGKILL (by the kernel's OOM killer)"
  std::string error_message;
  std::vector<std::string> stderr_tail;
  std::vector<std::string> also_failed;  // "rank 3: exit code 1, 12 ms later"
  std::string decision;  // what was done, and why
  std::vector<std::string> evidence;
  std::vector<std::string> alternatives;  // what was not done, and why (Decision)
  std::vector<Phase> phases;  // of the recovery; empty: none took place
  base::Nanos recovery{};  // all phases but "catch up"
  // Numbers of training steps, from the script or its optimizer.
  std::optional<std::int64_t> step_before;  // last step known before the incident
  std::optional<std::int64_t> step_after;  // first step after the restart
  std::optional<std::int64_t> steps_lost;  // how many were done again
  // The last injected fault of this attempt that hit this rank, or this node before the incident;
  // empty: none.
  std::string injected;
  std::optional<Classification> looks_like;  // nullopt: unknown, or `injected` explains the failure
  std::uint32_t warm = 0;  // workers of the next attempt that were standby workers
  // The step of the last checkpoint that was committed before the incident, and how many steps were
  // done between the two.
  std::optional<std::uint64_t> committed_step;
  std::optional<std::int64_t> steps_since_commit;
  std::optional<std::uint64_t> loaded_step;  // by the next attempt that loaded a checkpoint
  std::string loaded_from;  // "disk", "memory", …
  std::string cause;  // of the failure, if a worker that ended early is to blame
  bool is_growth = false;  // nothing failed: the group grew, and `cause` says by which node
  std::string not_resumed;  // "the script did not resume: step 0 after 120"; empty: it did
  std::string exception;  // "ZeroDivisionError: division by zero", of the first failing rank
  std::string place;  // of the user's code that raised it: "load_batch (data.py:12)"
  std::string verdict;  // what was decided: "restart 1 of 3: starting 2 workers on 1 node again"
  std::vector<std::string> cold;  // "rank 1: its standby worker was still importing"
  std::vector<std::string> moved;  // half-written checkpoints, before the next attempt, in words
  // For render.h, not in the JSON: evidence about other things than the failed workers above.
  std::vector<std::string> further_evidence;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "at", at);
    v(3, "rank", rank);
    v(4, "node", node);
    v(5, "ended", ended);
    v(6, "error_message", error_message);
    v(7, "stderr_tail", stderr_tail);
    v(8, "also_failed", also_failed);
    v(9, "decision", decision);
    v(10, "evidence", evidence);
    v(11, "phases", phases);
    v(12, "recovery", recovery);
    v(13, "step_before", step_before);
    v(14, "step_after", step_after);
    v(15, "steps_lost", steps_lost);
    v(16, "alternatives", alternatives);
    v(17, "injected", injected);
    v(18, "looks_like", looks_like);
    v(19, "warm", warm);
    v(20, "committed_step", committed_step);
    v(21, "steps_since_commit", steps_since_commit);
    v(22, "loaded_step", loaded_step);
    v(23, "loaded_from", loaded_from);
    v(24, "cause", cause);
    v(25, "not_resumed", not_resumed);
    v(26, "cold", cold);
    v(27, "exception", exception);
    v(28, "place", place);
    v(29, "verdict", verdict);
    v(30, "moved", moved);
    v(31, "is_growth", is_growth);
  }
};

}  // namespace robustrun::supervisor
