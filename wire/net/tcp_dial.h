#pragma once
// A TCP connection to one endpoint, nothing more. Private to wire/.
//
// To be used on the loop of its executor; `done` is called once, from the loop, unless cancel()
// came first. Goes on without its owner until then.

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
  // `endpoint`: as for parse_endpoint() (tcp.h). kTimeout after `within`.
  static std::shared_ptr<TcpDial> start(boost::asio::any_io_executor executor,
                                        const std::string& endpoint,
                                        std::chrono::milliseconds within, Done done);
  virtual ~TcpDial() = default;
  virtual void cancel() = 0;
};

// "no answer from there within 3 s"
[[nodiscard]] base::Error timeout_error(const char* what, std::chrono::milliseconds within);

}  // namespace robustrun::wire
