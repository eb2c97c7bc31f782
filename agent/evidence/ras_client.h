#pragma once
// Asks NCCL's RAS, a service within each worker, for the state of all processes of the job. To be
// used on the loop of its executor.
//
// All processes of a machine listen on one port (SO_REUSEPORT), including stopped ones. A
// connection that gets no answer soon is therefore given up and another one tried, until the time
// is over. NCCL 2.28.6 and older answer in text instead of JSON. Every question makes NCCL ask all
// processes of the job, so only one node should ask. Protocol: src/ras/client_support.cc of NCCL.

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
  // The report, JSON or text, for tracer::read_ras_report(). kTimeout: no answer in time.
  // kUnavailable: nothing listens, or the connection broke. kProtocol: the answer is not from RAS.
  // kLimit: the report has more than kRasReportBytesMax. kInvalidArgument: a malformed address.
  using Done = std::function<void(base::Result<std::string>)>;

  // `address` is numeric. Calls `done` once, from the loop, never from within ask(); not after
  // drop().
  static std::shared_ptr<RasClient> ask(boost::asio::any_io_executor executor,
                                        const std::string& address, std::uint16_t port,
                                        std::chrono::milliseconds within, Done done);
  virtual ~RasClient() = default;
  virtual void drop() = 0;
};

}  // namespace robustrun::agent
