#pragma once
// Two agents send each other as much as passes for a fixed time: how fast is the path between them?
//
// Both ends start one each over the same connection. On the loop of its executor.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "base/core/clock.h"
#include "base/io/fd.h"

namespace robustrun::agent {

class Exchange {
 public:
  // Bytes per second that came in; what a peer sent that did not finish in time counts over the
  // whole time that it was given.
  using Done = std::function<void(double bytes_per_second)>;

  static std::shared_ptr<Exchange> start(boost::asio::any_io_executor executor,
                                         const base::Clock& clock, base::Fd connection, Done done);
  virtual ~Exchange() = default;
  virtual void drop() = 0;  // `done` is not called any more
};

// How long a fixed piece of work takes on one processor: of many pieces the one that a quarter did
// not outlast, so that others on the machine may disturb most of them. Blocks.
[[nodiscard]] base::Nanos time_computing();

}  // namespace robustrun::agent
