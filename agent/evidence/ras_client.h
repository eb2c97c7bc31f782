#pragma once
// Asks NCCL's RAS, within a worker, for the state of all processes of the job. To be used on the
// loop of its executor.
//
// RAS listens on one port for all processes of a machine (SO_REUSEPORT), including stopped ones. A
// connection that gets no answer soon is therefore given up and another one tried, until the time
// is over. NCCL 2.28.6 and older know no JSON: their text is taken. Every question makes NCCL ask
// all processes of the job, so a look asks on one node only. Protocol: src/ras/client_support.cc of
// NCCL.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/core/result.h"

namespace robustrun::agent {

// Where NCCL listens unless NCCL_RAS_ADDR says otherwise.
inline constexpr const char* kRasDefaultAddress = "127.0.0.1";
inline constexpr std::uint16_t kRasDefaultPort = 28028;

class RasClient {
 public:
  // The report, JSON or text, for tracer::read_ras_report(). kTimeout: no answer in time;
  // kUnavailable: nothing listens, or the connection broke; kProtocol: the answer is not RAS's;
  // kLimit: the answer does not end.
  using Done = std::function<void(base::Result<std::string>)>;

  // `address` is numeric. `done` comes once, from the loop, unless drop() comes first.
  static std::shared_ptr<RasClient> ask(boost::asio::any_io_executor executor,
                                        const std::string& address, std::uint16_t port,
                                        std::chrono::milliseconds within, Done done);
  virtual ~RasClient() = default;
  virtual void drop() = 0;
};

}  // namespace robustrun::agent
