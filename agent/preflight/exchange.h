#pragma once
// Measures the path between two agents: both send each other as much as passes in a fixed time.
//
// Each end starts one over the same connection. To be used on the loop of its executor, which also
// calls `done`.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "base/core/clock.h"
#include "base/io/fd.h"

namespace robustrun::agent {

class Exchange {
 public:
  // Received bytes per second. If the peer did not finish in time, its bytes count over the whole
  // time that it had.
  using Done = std::function<void(double bytes_per_second)>;

  static std::shared_ptr<Exchange> start(boost::asio::any_io_executor executor,
                                         const base::Clock& clock, base::Fd connection, Done done);
  virtual ~Exchange() = default;
  virtual void drop() = 0;  // `done` is not called any more
};

// Time that a fixed piece of work takes on one processor: the first quartile of many pieces, so
// that other load on the machine may disturb most of them. Blocks.
[[nodiscard]] base::Nanos time_computing();

}  // namespace robustrun::agent
