#pragma once
// A TCP port whose connections are handed on as they come: an agent's, for a supervisor that took
// the run over and whose address it does not know yet. Who is there is for others to find out.
//
// On the loop of its executor.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::wire {

class Acceptor {
 public:
  using OnConnection = std::function<void(base::Fd)>;   // non-blocking, CLOEXEC
  // On every interface, any port. Without descriptors or memory it rests (base/io/accept_loop.h).
  static base::Result<std::unique_ptr<Acceptor>> open(boost::asio::any_io_executor executor,
                                                      OnConnection on_connection);
  virtual ~Acceptor() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

// "10.0.0.1:4711", "[fe80::1%eth0]:4711"
[[nodiscard]] std::string endpoint_text(const std::string& address, std::uint16_t port);

}  // namespace robustrun::wire
