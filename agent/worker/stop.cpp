#include "agent/worker/stop.h"

namespace robustrun::agent {

void WorkerStop::begin(const wire::StopWorkers& order) {
  if (order.grace <= base::Nanos::zero()) return actions_.kill();
  actions_.signal(order);
  grace_.after(order.grace, actions_.kill);
}

}  // namespace robustrun::agent
