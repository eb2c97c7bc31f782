#pragma once
// Asks NCCL's RAS about the job, at every address where RAS may listen on this machine (localhost
// may be an IPv4 or an IPv6 address). The first report counts.
//
// Owned by NodeRas, on the agent's loop. `done` is not called after this object is destroyed.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "agent/evidence/ras_address.h"
#include "base/core/result.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Where RAS of `workers` listens. `chosen`: NodeRas::address(). kUnavailable: RAS is switched off.
// kInvalidArgument: NCCL_RAS_ADDR is not an address of this machine.
[[nodiscard]] base::Result<RasAddress> ras_address_of(const wire::WorkerTemplate& workers,
                                                      const std::string& chosen);

class RasLook {
 public:
  // The report. kLimit: it has more than kRasSentBytesMax. Other errors: as in RasClient::Done.
  // Called once, from the loop, never from within ask().
  using Done = std::function<void(base::Result<std::string> report)>;

  // `address` has at least one host.
  static std::unique_ptr<RasLook> ask(const boost::asio::any_io_executor& executor,
                                      const RasAddress& address, std::chrono::milliseconds within,
                                      Done done);
  virtual ~RasLook() = default;
};

}  // namespace robustrun::agent
