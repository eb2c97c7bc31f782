#pragma once
// A TCP port that hands over its connections as they come. An agent opens one so that a supervisor
// that took the run over can connect, although the agent does not know the supervisor's address
// yet. The receiver of a connection identifies the peer.
//
// To be used on the loop of its executor, which also calls `on_connection`.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/core/result.h"
#include "base/io/accept_loop.h"
#include "base/io/fd.h"

namespace robustrun::wire {

class Acceptor {
 public:
  using OnConnection = std::function<void(base::Fd)>;  // non-blocking, CLOEXEC
  // Listens on every interface, on a free port, which port() returns. Pauses when descriptors or
  // memory run out (base/io/accept_loop.h). Destroying the Acceptor closes the port; no connection
  // is handed over any more.
  static base::Result<std::unique_ptr<Acceptor>> open(boost::asio::any_io_executor executor,
                                                      OnConnection on_connection);
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  Acceptor(std::unique_ptr<base::AcceptLoop> loop, std::uint16_t port)
      : loop_(std::move(loop)), port_(port) {}

  const std::unique_ptr<base::AcceptLoop> loop_;
  const std::uint16_t port_;
};

// "10.0.0.1:4711", "[fe80::1%eth0]:4711"
[[nodiscard]] std::string endpoint_text(const std::string& address, std::uint16_t port);

}  // namespace robustrun::wire
