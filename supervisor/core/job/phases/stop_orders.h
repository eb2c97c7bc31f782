#pragma once
// The orders that stop workers, and their grace period.

#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class StopOrders {
 public:
  StopOrders(Orders& orders, const JobSpec& spec, const Nodes& nodes, const Workers& workers)
      : orders_(orders), spec_(spec), nodes_(nodes), workers_(workers) {}

  // The end of the grace period.
  void kill_at(base::Nanos at) { kill_at_ = at; }
  // The same, but never later than before; true: sooner.
  bool hasten(base::Nanos at);
  // Workers that save by themselves are not signalled.
  void save_first(bool save_first) { save_first_ = save_first; }
  void send(int signal, StopReason reason);
  void arm();  // the deadline of the stop under way

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
  base::Nanos kill_at_{};
  bool save_first_ = false;
};

}  // namespace robustrun::supervisor
