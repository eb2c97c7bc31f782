#pragma once
// The orders that stop workers, their grace period, and which workers had to be killed after it.

#include <vector>

#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class StopOrders {
 public:
  StopOrders(Orders& orders, const JobSpec& spec, const Nodes& nodes, const Workers& workers)
      : orders_(orders), spec_(spec), nodes_(nodes), workers_(workers) {}

  // A stop begins. Its grace period ends at `at`.
  void kill_at(base::Nanos at);
  // Ends the grace period at `at` if that is sooner than before. True: it is sooner.
  bool hasten(base::Nanos at);
  // What is left of the grace period.
  [[nodiscard]] base::Nanos left() const;
  // True: workers that save by themselves before a stop get no signal.
  void save_first(bool save_first) { save_first_ = save_first; }
  [[nodiscard]] bool saves_first() const { return save_first_; }
  void send(int signal, StopReason reason);
  void arm();  // sets the deadline of the stop under way
  void note_exit(const WorkerExited& exited);
  // Reports the workers that were killed after the grace period. To be called once per stop, when
  // all workers are gone. Reports nothing for a stop without a grace period.
  void tell_killed();

  template <class V>
  void fields(V& v) {
    v(22, "kill_at", kill_at_);
    v(71, "save_first", save_first_);
  }

 private:
  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Workers& workers_;
  base::Nanos began_{};
  base::Nanos kill_at_{};
  bool save_first_ = false;
  bool kills_at_once_ = false;
  std::vector<base::Rank> killed_;  // after the grace period, ascending
};

}  // namespace robustrun::supervisor
