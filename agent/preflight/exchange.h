#pragma once
// Measures the bandwidth between two agents: for a fixed time, each sends as much as the connection
// takes.
//
// Each agent starts one Exchange, on its end of a common connection. Used on the loop of
// `executor`, from which `done` is called.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "base/core/clock.h"
#include "base/io/fd.h"

namespace robustrun::agent {

class Exchange {
 public:
  // Received bytes per second, until the peer stopped sending or the deadline (kExchangeMax)
  // passed.
  using Done = std::function<void(double bytes_per_second)>;

  static std::shared_ptr<Exchange> start(boost::asio::any_io_executor executor,
                                         const base::Clock& clock, base::Fd connection, Done done);
  virtual ~Exchange() = default;
  virtual void drop() = 0;  // `done` is not called any more
};

// Time that a fixed piece of work takes on one processor: the first quartile of several
// measurements, because other load on the machine lengthens some of them. Blocks.
[[nodiscard]] base::Nanos time_computing();

}  // namespace robustrun::agent
