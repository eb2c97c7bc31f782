#pragma once
// A bounded queue of bytes in front of a descriptor whose write() may block: a log file on a full
// or dead disk, a terminal that was stopped, a pipe that nobody reads.
//
// Lives on the loop; write() itself runs on a lane of the blocking pool, two buffers in turn. The
// loop is never blocked and memory is bounded: above `queue_bytes_max` bytes are dropped and
// counted. congested() asks the producer to wait, so that nothing is lost while the descriptor
// moves, however slowly; once it has taken nothing for `stall_max` it asks no more. A write error
// (full disk) drops what was queued and is tried again with the first bytes after `retry_after`; a
// closed pipe drops everything from then on. Where bytes were dropped a line says how many. The
// descriptor's flags are never changed. Idle, it holds no buffers.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/blocking_pool.h"
#include "base/io/fd.h"

namespace robustrun::base {

class BoundedWriter {
 public:
  struct Options {
    Fd fd;
    std::string name;  // for messages: a path, "standard output"
    std::size_t congested_bytes = 0;
    std::size_t queue_bytes_max = 0;  // at least `congested_bytes`
    Nanos stall_max{};
    Nanos retry_after{};
    // The line that says what was dropped, without its end; null: a sentence for people.
    std::function<std::string(std::uint64_t bytes, std::string_view cause)> gap_line{};
  };
  struct Handlers {
    std::function<void()> on_progress;  // from the loop: a write ended or was given up
    std::function<void(const std::string& what)> on_trouble;  // once per kind of trouble
  };
  // Whether bytes are taken; kAfterGap: a line about dropped ones has just been put before them.
  enum class Room : std::uint8_t { kNone, kFree, kAfterGap };

  BoundedWriter(boost::asio::any_io_executor executor, BlockingPool& pool, BlockingPool::Lane lane,
                Options options, Handlers handlers);
  // Asks a running write to end at its next chance; calls no handler any more.
  ~BoundedWriter();
  BoundedWriter(const BoundedWriter&) = delete;
  BoundedWriter& operator=(const BoundedWriter&) = delete;

  void append(std::string_view bytes);
  // append() in three steps, for a caller that builds the bytes in place. kNone: `size` bytes must
  // be dropped (they are then counted). Otherwise append to queue() and call commit().
  Room begin(std::size_t size);
  [[nodiscard]] std::string& queue();
  void commit();

  [[nodiscard]] bool congested() const;
  // Nothing is queued or being written, or it was given up.
  [[nodiscard]] bool settled() const;
  // No more will come: says what is missing, even before the next try is due.
  void finish();
  [[nodiscard]] std::uint64_t dropped_bytes() const;
  // Accepted and not yet taken by the descriptor.
  [[nodiscard]] std::uint64_t queued_bytes() const;
  // What is written from now on goes where `fd` leads (a rotated log); bytes on their way may still
  // go to where they went. Neither may poll (files).
  Status redirect(const Fd& fd);
  // The reader has closed its end: what was dropped since then is missed by nobody.
  [[nodiscard]] bool reader_gone() const;
  [[nodiscard]] std::size_t held_bytes() const;  // memory of its buffers

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace robustrun::base
