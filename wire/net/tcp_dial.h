#pragma once
// Connects to one endpoint by TCP. Private to wire/.
//
// To be used on the loop of its executor. `done` is called once, from the loop, unless cancel()
// came first. Until then the dial continues even if its owner drops it.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::wire {

class TcpDial {
 public:
  using Done = std::function<void(base::Result<base::Fd>)>;
  // `endpoint`: numeric, "10.0.0.1:4711" or "[fe80::1%eth0]:4711". kTimeout: not connected after
  // `within`.
  static std::shared_ptr<TcpDial> start(boost::asio::any_io_executor executor,
                                        const std::string& endpoint,
                                        std::chrono::milliseconds within, Done done);
  virtual ~TcpDial() = default;
  virtual void cancel() = 0;
};

// `what` "no answer from there" gives the text "no answer from there within 3 s".
[[nodiscard]] base::Error timeout_error(const char* what, std::chrono::milliseconds within);

}  // namespace robustrun::wire
