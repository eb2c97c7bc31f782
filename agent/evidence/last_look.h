#pragma once
// Delays the stop of a worker while the agent asks the worker for its last operations, for at most
// kLastLookMax. A stopped worker could not report them.
//
// Owned by the Worker, on the agent's loop.

#include <functional>

#include "base/io/timer.h"

namespace robustrun::agent {

class LastLook {
 public:
  explicit LastLook(const boost::asio::any_io_executor& executor) : deadline_(executor) {}

  // A look begins. No effect during a look: its time limit stays.
  void begin();
  // The look has ended: calls the `stop` that waits, if any.
  void end();
  // Calls `stop` at once, or during a look when the look ends. Replaces an earlier `stop` that
  // still waits.
  void then(std::function<void()> stop);

 private:
  base::Timer deadline_;
  bool is_under_way_ = false;
  std::function<void()> stop_;
};

}  // namespace robustrun::agent
