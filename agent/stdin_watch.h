#pragma once
// Until the welcome, the end of our standard input is the end of who started us.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

namespace robustrun::agent {

class StdinWatch {
 public:
  // `on_end` is called once, from the loop of `executor`, and not once this is gone.
  static std::unique_ptr<StdinWatch> start(boost::asio::any_io_executor executor,
                                           std::function<void()> on_end);
  virtual ~StdinWatch() = default;
};

}  // namespace robustrun::agent
