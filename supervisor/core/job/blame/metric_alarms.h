#pragma once
// Alarms about the job's own numbers (types/metric_alarm.h). Each alarm is reported. It also stops
// the workers if the policy says so, but it never ends the run: if no restart is left, the workers
// go on.

#include <cstdint>

#include "supervisor/core/job/blame/restarts.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/run.h"
#include "supervisor/core/job/facts/transitions.h"

namespace robustrun::supervisor {

class MetricAlarms {
 public:
  MetricAlarms(Orders& orders, const Run& run, const Restarts& restarts, Transitions& moves)
      : orders_(orders), run_(run), restarts_(restarts), moves_(moves) {}

  void heard(const Event& event);

  template <class V>
  void fields(V& v) {
    v(63, "alarms_acted_on", acted_on_);
  }

 private:
  Orders& orders_;
  const Run& run_;
  const Restarts& restarts_;
  Transitions& moves_;
  std::uint32_t acted_on_ = 0;  // alarms of this run that stopped the workers
};

}  // namespace robustrun::supervisor
