#pragma once
// How often a run may still restart its workers, and after what wait: the budget and the back-off,
// with what the job knows about failed starts.

#include <string>

#include "supervisor/core/fault/backoff.h"
#include "supervisor/core/fault/budget.h"
#include "supervisor/core/fault/fault.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/run.h"

namespace robustrun::supervisor {

// Whether the workers could not be started because of the infrastructure.
[[nodiscard]] bool is_failed_start(const Fault& fault);

class Restarts {
 public:
  Restarts(Orders& orders, const Run& run) : orders_(orders), run_(run) {}

  // To be called once Run::spec is set.
  void begin_run();
  [[nodiscard]] const Budget& budget() const { return budget_; }
  // The wait before a restart after a fault with the rule `rule`.
  [[nodiscard]] base::Nanos delay(Rule rule) const;

  // Whether another attempt may follow if one more start has failed.
  [[nodiscard]] bool may_start_again() const;
  // Why the run ends after too many failed starts. `last`: the newest failure, in words.
  [[nodiscard]] std::string failed_starts_in_words(const std::string& last) const;
  void note_failed_start() { budget_.note_failed_start(orders_.now()); }
  void note_started() { budget_.note_started(); }

  // Counts a restart: see Budget::spend.
  void spend(FaultClass fault_class, const std::string& signature) {
    budget_.spend(fault_class, signature);
    backoff_.note_restart();
  }
  // True when this refilled a budget that was in use.
  bool note_progress(base::Nanos amount) {
    backoff_.note_progress();
    return budget_.note_progress(amount);
  }

  template <class V>
  void fields(V& v) {
    v(6, "budget", budget_);
    v(85, "backoff", backoff_);
  }

 private:
  Orders& orders_;
  const Run& run_;
  Budget budget_;
  Backoff backoff_;
};

}  // namespace robustrun::supervisor
