#pragma once
// Delays a worker's stop while the worker is asked for its last operations, which it cannot report
// once it is stopped; for at most kLastLookMax, then it is stopped without an answer.
//
// Owned by the Worker, on the agent's loop.

#include <functional>

#include "base/io/timer.h"

namespace robustrun::agent {

class LastLook {
 public:
  explicit LastLook(const boost::asio::any_io_executor& executor) : deadline_(executor) {}

  // A look begins. While one is under way this changes nothing; in particular it does not prolong
  // it.
  void begin();
  // The look has ended: a stop that waits happens now.
  void end();
  // Without a look, calls `stop` at once. During a look, calls it when the look ends; it replaces a
  // stop that waits already.
  void then(std::function<void()> stop);

 private:
  base::Timer deadline_;
  bool is_under_way_ = false;
  std::function<void()> stop_;
};

}  // namespace robustrun::agent
