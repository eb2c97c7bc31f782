#pragma once
// A TCP port that hands over its connections as they come. An agent opens one for a supervisor that
// took the run over and whose address it does not know yet. The receiver identifies the peer.
//
// To be used on the loop of its executor, which also calls `on_connection`.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::wire {

class Acceptor {
 public:
  using OnConnection = std::function<void(base::Fd)>;  // non-blocking, CLOEXEC
  // Listens on every interface, on a free port, which port() returns. Pauses when descriptors or
  // memory run out (base/io/accept_loop.h).
  static base::Result<std::unique_ptr<Acceptor>> open(boost::asio::any_io_executor executor,
                                                      OnConnection on_connection);
  virtual ~Acceptor() = default;  // closes the port; no connection is handed over any more
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

// "10.0.0.1:4711", "[fe80::1%eth0]:4711"
[[nodiscard]] std::string endpoint_text(const std::string& address, std::uint16_t port);

}  // namespace robustrun::wire
