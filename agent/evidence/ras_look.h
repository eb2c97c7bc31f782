#pragma once
// What NCCL's RAS says of the job, asked at every address where it may listen on this machine.
//
// Owned by the WorkerSet, on the agent's loop. Destroying it drops the question.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "agent/evidence/ras_address.h"
#include "base/core/result.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Where it listens for these workers. `chosen`: what we told them, if anything. kUnavailable: it is
// switched off; kInvalidArgument: they were told something that is no address of this machine.
[[nodiscard]] base::Result<RasAddress> ras_address_of(const wire::WorkerTemplate& workers,
                                                      const std::string& chosen);

class RasLook {
 public:
  // At most kRasSentBytesMax (kLimit); else as RasClient. Once, from the loop, never within ask().
  using Done = std::function<void(base::Result<std::string> report)>;

  // `address` has at least one host.
  static std::unique_ptr<RasLook> ask(const boost::asio::any_io_executor& executor,
                                      const RasAddress& address, std::chrono::milliseconds within,
                                      Done done);
  virtual ~RasLook() = default;
};

}  // namespace robustrun::agent
