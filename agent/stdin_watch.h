#pragma once
// Watches standard input: until the welcome, its end means that the process that started us has
// ended.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

namespace robustrun::agent {

class StdinWatch {
 public:
  // `on_end` is called once, from the loop of `executor`, and not after this object is destroyed.
  static std::unique_ptr<StdinWatch> start(boost::asio::any_io_executor executor,
                                           std::function<void()> on_end);
  virtual ~StdinWatch() = default;
};

}  // namespace robustrun::agent
