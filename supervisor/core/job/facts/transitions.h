#pragma once
// How the parts of a job move it on without knowing each other's phases. The machine in job.cpp
// implements this by handing each call to the phase that is meant.

#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/fault/fault.h"
#include "supervisor/core/types/actions.h"

namespace robustrun::supervisor {

// Why the run ends, once that is decided.
struct Ending {
  Rule rule = Rule::kStart;
  std::int32_t exit_code = 0;
  template <class V>
  void fields(V& v) {
    v(1, "rule", rule);
    v(2, "exit_code", exit_code);
  }
};

// What is asked, or known, about a fault beyond what is reported at once.
struct FaultNotes {
  std::optional<LookBack> look_back{};  // what the workers did last may explain it
  std::vector<std::string> evidence{};
  bool lacks_operation = false;  // of Rule::kEndedEarly: the others' collective is not known yet
};

class Transitions {
 public:
  Transitions() = default;
  Transitions(const Transitions&) = delete;
  Transitions& operator=(const Transitions&) = delete;
  virtual ~Transitions() = default;

  // → kJoining, where all waits begin anew; or on at once.
  virtual void join_agents() = 0;
  // → kJoining, whose waits go on from where they were.
  virtual void resume_joining() = 0;
  // Nodes came or went: kJoining and kPlacing look at the group again.
  virtual void group_changed() = 0;
  // The group stands: → kReserving, or on at once.
  virtual void begin_attempt() = 0;
  // → kStopping: the attempt ends. `context`: for faults of this node.
  virtual void break_down(Fault fault, FaultNotes notes = {}) = 0;
  [[nodiscard]] virtual FaultContext context(base::NodeId node) const = 0;
  // An infrastructure fault while no worker runs: → kBackoff, → kJoining without a wait, or the
  // end.
  virtual void setback(Rule rule, std::string text) = 0;
  // The next attempt has a better chance: the back-off is cut short, and kBackoff waits only for
  // answers that are still due.
  virtual void end_backoff() = 0;
  // All workers have finished, or only linger: → kFinishing. `note`: added to the decision's text.
  virtual void succeed(const std::string& note, std::vector<std::string> evidence) = 0;
  // The run ends: → kFinishing, or → kFinished where no worker can run. `exit_code`: none: the
  // infrastructure's.
  virtual void give_up(std::string text, std::vector<std::string> evidence = {},
                       std::optional<int> exit_code = {}) = 0;
  virtual void end_run(Ending how, int signal, base::Nanos grace) = 0;
};

}  // namespace robustrun::supervisor
