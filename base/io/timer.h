#pragma once
// One deadline at a time, on the loop.
//
// The handler is never called after cancel(), after another after(), or once the timer is
// destroyed; an Asio timer may call its handler then. The handler may destroy the timer.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "base/core/clock.h"

namespace robustrun::base {

class Timer {
 public:
  explicit Timer(const boost::asio::any_io_executor& executor);
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  // Calls `handler` once, from the loop, after `time`. Replaces a handler that waits.
  void after(Nanos time, std::move_only_function<void()> handler);
  void cancel();
  [[nodiscard]] boost::asio::any_io_executor get_executor() const;

 private:
  struct Wait;
  std::shared_ptr<Wait> wait_;
};

}  // namespace robustrun::base
