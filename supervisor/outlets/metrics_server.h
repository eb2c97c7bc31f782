#pragma once
// A server for GET /metrics over HTTP/1.1 (RFC 9112), for Prometheus. It serves nothing else.
//
// Used on the driver's loop. Every request has a connection of its own, which is closed after the
// answer. Time, bytes and connections are bounded (limits.h), so a client that reaches the port can
// read the metrics, but cannot delay anything. Boost.Beast reads the protocol.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "supervisor/outlets/limits.h"

namespace robustrun::supervisor {

class MetricsServer {
 public:
  struct Limits {
    std::size_t connections_max = kHttpConnectionsMax;
    std::chrono::milliseconds request_max = kHttpRequestMax;
  };
  // `address`: numeric. `port`: 0 means any free one. `text` is called from the loop. The error
  // tells a remedy if the port is taken or reserved, or if the address is not this machine's.
  static base::Result<std::unique_ptr<MetricsServer>> open(boost::asio::any_io_executor executor,
                                                           const std::string& address,
                                                           std::uint16_t port,
                                                           std::function<std::string()> text,
                                                           Limits limits);
  virtual ~MetricsServer() = default;
  // "http://127.0.0.1:9400/metrics"
  [[nodiscard]] virtual std::string url() const = 0;
};

}  // namespace robustrun::supervisor
