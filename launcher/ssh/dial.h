#pragma once
// A TCP connection to the first address of a host that takes one, with a deadline. For sessions
// and for "does this machine answer?". On the loop of its executor.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::launcher {

class SshDial {
 public:
  // `addresses`: numeric. The error's os_errno says why the last address did not work; its text
  // is the cause alone ("connection refused"). `done` is called once, from the loop.
  static std::shared_ptr<SshDial> start(boost::asio::any_io_executor executor,
                                        const std::vector<std::string>& addresses,
                                        std::uint16_t port, std::chrono::milliseconds deadline,
                                        std::function<void(base::Result<base::Fd>)> done);
  virtual ~SshDial() = default;
  // `done` is not called any more.
  virtual void cancel() = 0;
};

}  // namespace robustrun::launcher
