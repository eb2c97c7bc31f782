#pragma once
// Connects by TCP to the first of a host's addresses that accepts a connection, with a deadline.
// For sessions and for probes of a machine. To be used on the loop of its executor.

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
  // `addresses`: numeric; each gets an equal share of `deadline`. `done` is called once, from the
  // loop, even if the owner has dropped the result of start(). Its error has the os_errno of the
  // last address; the text is only the cause ("Connection refused").
  static std::shared_ptr<SshDial> start(boost::asio::any_io_executor executor,
                                        const std::vector<std::string>& addresses,
                                        std::uint16_t port, std::chrono::milliseconds deadline,
                                        std::function<void(base::Result<base::Fd>)> done);
  virtual ~SshDial() = default;
  // `done` is not called any more.
  virtual void cancel() = 0;
};

}  // namespace robustrun::launcher
