#pragma once
// One bulk stream for block requests, at either end. Its work runs in turns, each on a thread of a
// pool until the peer has sent or taken all bytes. Between turns the loop waits for the peer's next
// bytes, without a thread.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/io/blocking_pool.h"
#include "wire/bulk/stream.h"

namespace robustrun::agent {

class BlockConnection : public std::enable_shared_from_this<BlockConnection> {
 public:
  // `pool` outlives the connection. Only this connection uses `lane` of the pool.
  static std::shared_ptr<BlockConnection> make(const boost::asio::any_io_executor& executor,
                                               base::BlockingPool& pool, std::uint32_t lane,
                                               std::shared_ptr<wire::BulkStream> stream);
  virtual ~BlockConnection() = default;

  // Runs `work` on a thread, then `done` on the loop. Both may still be called after hang_up(), but
  // turn() and await() must not.
  virtual base::Status turn(std::move_only_function<void(wire::BulkStream&)> work,
                            std::move_only_function<void()> done) = 0;
  // Calls `ready` once, when there are bytes to receive or the peer is gone. Only between turns.
  virtual void await(std::move_only_function<void()> ready) = 0;
  virtual void hang_up() = 0;
};

}  // namespace robustrun::agent
