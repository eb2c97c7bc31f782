#pragma once
// GET /metrics over HTTP/1.1 (RFC 9112), for Prometheus; nothing else.
//
// On the driver's loop. Every question has a connection of its own, which is closed behind the
// answer, and little time, bytes and company (outlet_limits.h): whoever reaches the port can learn
// the metrics, but not hold anything up. Boost.Beast reads the protocol.

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
    std::size_t visitors_max = kVisitorsMax;
    std::chrono::milliseconds visit_max = kVisitMax;
  };
  // `address` is numeric; `port` 0: any free one. `text` is asked from the loop. The error says
  // what to do when the port is taken or the address is none of ours.
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
