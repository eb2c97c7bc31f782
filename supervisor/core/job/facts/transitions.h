#pragma once
// Moves of a job from one phase to another. Parts call these moves without including the phases.
// Job::Impl (job.cpp) hands each call to the phase that carries it out.

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

// What break_down() takes besides the fault.
struct FaultNotes {
  std::optional<LookBack> look_back{};  // ask the workers what they called last
  std::vector<std::string> evidence{};  // further lines, for the decision at the end of the attempt
  bool lacks_operation = false;  // of Rule::kEndedEarly: the others' collective is not known yet
};

class Transitions {
 public:
  Transitions() = default;
  Transitions(const Transitions&) = delete;
  Transitions& operator=(const Transitions&) = delete;
  virtual ~Transitions() = default;

  // → kJoining; all its waits begin anew. The job moves on at once if there is nothing to wait for.
  virtual void join_agents() = 0;
  // → kJoining; its waits go on.
  virtual void resume_joining() = 0;
  // Nodes came or went: kJoining and kPlacing look at the group again.
  virtual void group_changed() = 0;
  // The group is formed: → kReserving; → kStarting if the port is given; → kBackoff if copies must
  // be saved first.
  virtual void begin_attempt() = 0;
  // → kStopping: the attempt ends because of `fault`.
  virtual void break_down(Fault fault, FaultNotes notes = {}) = 0;
  // The context of a fault on `node`.
  [[nodiscard]] virtual FaultContext context(base::NodeId node) const = 0;
  // An infrastructure fault while no worker runs: → kBackoff; → kJoining if there is nothing to
  // wait for; or the run ends.
  virtual void setback(Rule rule, std::string text) = 0;
  // In kBackoff: the back-off ends now, as the next attempt has a better chance. Answers that are
  // still due are awaited.
  virtual void end_backoff() = 0;
  // The scripts of all workers have returned; some processes may be left: → kFinishing. `note`:
  // added to the decision's text.
  virtual void succeed(const std::string& note, std::vector<std::string> evidence) = 0;
  // Gives the run up (Rule::kInfrastructureGivenUp): → kFinishing, or → kFinished if no worker can
  // run. Without `exit_code` the code for infrastructure faults counts.
  virtual void give_up(std::string text, std::vector<std::string> evidence = {},
                       std::optional<int> exit_code = {}) = 0;
  // Ends the run as `how` says. Workers that run get `signal`, and are killed after `grace`.
  virtual void end_run(Ending how, int signal, base::Nanos grace) = 0;
};

}  // namespace robustrun::supervisor
