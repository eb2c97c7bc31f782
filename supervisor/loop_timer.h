#pragma once
// A timer of an object on one loop. Its callback never comes after cancel(), after another after(),
// or after the timer's end, even if the time had already passed.
//
// Not thread-safe: all calls on the executor's loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "base/core/clock.h"

namespace robustrun::supervisor {

class LoopTimer {
 public:
  explicit LoopTimer(const boost::asio::any_io_executor& executor);
  ~LoopTimer();
  LoopTimer(const LoopTimer&) = delete;
  LoopTimer& operator=(const LoopTimer&) = delete;

  // Calls `then` once, from the loop, after `delay` (at once if it is not positive). Replaces what
  // it waited for before. `then` may destroy the timer.
  void after(base::Nanos delay, std::function<void()> then);
  void cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace robustrun::supervisor
