#pragma once
// One bulk stream on which blocks are asked for, at either end: its work is a thread's, a turn at a
// time, its waiting the loop's, so that a peer that takes its time costs no thread.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/io/blocking_pool.h"
#include "wire/bulk/stream.h"

namespace robustrun::agent {

class BlockLine : public std::enable_shared_from_this<BlockLine> {
 public:
  // The pool outlives it. `lane`: of that pool, its own.
  static std::shared_ptr<BlockLine> make(const boost::asio::any_io_executor& executor,
                                         base::BlockingPool& pool, std::uint32_t lane,
                                         std::shared_ptr<wire::BulkStream> stream);
  virtual ~BlockLine() = default;

  // `work` on a thread, then `done` on the loop. After hang_up() neither needs to be called.
  virtual base::Status turn(std::move_only_function<void(wire::BulkStream&)> work,
                            std::move_only_function<void()> done) = 0;
  // Calls back once, when there is something to receive or the peer is gone. Between turns.
  virtual void await(std::move_only_function<void()> ready) = 0;
  virtual void hang_up() = 0;
};

}  // namespace robustrun::agent
