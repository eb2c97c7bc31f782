#pragma once
// What NCCL's RAS reports about the job, asked at every address where it may listen on this
// machine.
//
// Owned by NodeRas, on the agent's loop. Destroying it drops the question.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "agent/evidence/ras_address.h"
#include "base/core/result.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Where RAS listens for `workers`. `chosen`: the address that we gave them; empty: none.
// kUnavailable: RAS is switched off; kInvalidArgument: the workers' address is not one of this
// machine.
[[nodiscard]] base::Result<RasAddress> ras_address_of(const wire::WorkerTemplate& workers,
                                                      const std::string& chosen);

class RasLook {
 public:
  // The report, at most kRasSentBytesMax (kLimit); other errors as of RasClient. Called once, from
  // the loop, never from within ask().
  using Done = std::function<void(base::Result<std::string> report)>;

  // `address` has at least one host.
  static std::unique_ptr<RasLook> ask(const boost::asio::any_io_executor& executor,
                                      const RasAddress& address, std::chrono::milliseconds within,
                                      Done done);
  virtual ~RasLook() = default;
};

}  // namespace robustrun::agent
