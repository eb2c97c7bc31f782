#pragma once
// Watches the agent's standard input, whose end shows that the process that started the agent has
// ended.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

namespace robustrun::agent {

class StdinWatch {
 public:
  // Calls `on_end` once, on the loop of `executor`, at end of file or after a read error; not after
  // this object is destroyed.
  static std::unique_ptr<StdinWatch> start(boost::asio::any_io_executor executor,
                                           std::function<void()> on_end);
  virtual ~StdinWatch() = default;
};

}  // namespace robustrun::agent
