#pragma once
// Holds a worker's stop back while it is asked what it called last, which it cannot say any more
// once it is stopped. For at most kLastLookMax: whoever does not answer is stopped all the same.
//
// Owned by the Worker, on the agent's loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

namespace robustrun::agent {

class LastLook {
 public:
  explicit LastLook(const boost::asio::any_io_executor& executor);
  // What waits is dropped.
  ~LastLook();
  LastLook(const LastLook&) = delete;
  LastLook& operator=(const LastLook&) = delete;

  // A look begins. While one is under way this changes nothing, its end least of all.
  void begin();
  void end();
  // Calls `stop` at once, or when the look that is under way ends; then it replaces one that waits.
  void then(std::function<void()> stop);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
