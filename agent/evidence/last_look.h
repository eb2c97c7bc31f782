#pragma once
// Delays a worker's stop while the worker is asked for its last operations, which it cannot report
// once it is stopped; for at most kLastLookMax, then it is stopped without an answer.
//
// Owned by the Worker, on the agent's loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

namespace robustrun::agent {

class LastLook {
 public:
  explicit LastLook(const boost::asio::any_io_executor& executor);
  // A stop that waits is dropped.
  ~LastLook();
  LastLook(const LastLook&) = delete;
  LastLook& operator=(const LastLook&) = delete;

  // A look begins. While one is under way this changes nothing; in particular it does not prolong
  // it.
  void begin();
  // The look has ended: a stop that waits happens now.
  void end();
  // Without a look, calls `stop` at once. During a look, calls it when the look ends; it replaces a
  // stop that waits already.
  void then(std::function<void()> stop);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
