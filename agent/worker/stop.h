#pragma once
// Stops the workers of an attempt: sends the order's signal (SIGTERM by default), waits for the
// order's grace, then sends SIGKILL to the workers that are still alive.
//
// The supervisor chooses signal and grace (StopWorkers). Owned by the WorkerSet, on the agent's
// loop.

#include <functional>
#include <utility>

#include "base/io/timer.h"
#include "wire/messages/orders.h"

namespace robustrun::agent {

class WorkerStop {
 public:
  struct Actions {
    // Tells every worker the order's reason and deadline, and sends the order's signal
    // (Worker::stop()).
    std::function<void(const wire::StopWorkers& order)> signal;
    std::function<void()> kill;  // SIGKILL to every worker
  };
  WorkerStop(const boost::asio::any_io_executor& executor, Actions actions)
      : grace_(executor), actions_(std::move(actions)) {}

  // Signals the workers now and kills them after the order's grace; a grace of 0 kills them at
  // once. A later order starts a new grace.
  void begin(const wire::StopWorkers& order);
  // To be called when no worker is left.
  void cancel() { grace_.cancel(); }

 private:
  base::Timer grace_;  // between the order's signal and SIGKILL
  const Actions actions_;
};

}  // namespace robustrun::agent
