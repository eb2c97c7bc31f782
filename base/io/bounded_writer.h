#pragma once
// A bounded queue of bytes in front of a descriptor whose write() may block: a log file on a full
// or dead disk, a stopped terminal, a pipe without a reader.
//
// Lives on the loop; write() itself runs on a lane of the blocking pool. The loop never blocks, and
// memory is bounded: bytes that come while `queue_bytes_max` are queued are dropped and counted.
// congested() asks the producer to wait, so that nothing is lost while the descriptor accepts
// bytes, however slowly. Once the descriptor has accepted none for `stall_max`, congested() returns
// false. A write error (full disk) drops the queue and all bytes that come within `retry_after`; a
// closed pipe drops all bytes from then on. A line in the output marks each gap and its size. The
// descriptor's flags are never changed. An idle writer frees its buffers.

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
    std::size_t congested_bytes = 0;  // queued bytes at which congested() becomes true
    std::size_t queue_bytes_max = 0;  // at least `congested_bytes`
    Nanos stall_max{};
    Nanos retry_after{};
    // Makes the line that marks a gap, without its newline; null: a default sentence.
    std::function<std::string(std::uint64_t bytes, std::string_view cause)> gap_line{};
  };
  struct Handlers {
    std::function<void()> on_progress;  // from the loop: a write ended or stalled
    std::function<void(const std::string& what)> on_trouble;  // the first stall and the first error
  };
  // Whether bytes are accepted; kAfterGap: a line about dropped bytes was just queued before them.
  enum class Room : std::uint8_t { kNone, kFree, kAfterGap };

  BoundedWriter(boost::asio::any_io_executor executor, BlockingPool& pool, BlockingPool::Lane lane,
                Options options, Handlers handlers);
  // Asks a running write to a pipe, socket or terminal to end soon; no handler is called any more.
  ~BoundedWriter();
  BoundedWriter(const BoundedWriter&) = delete;
  BoundedWriter& operator=(const BoundedWriter&) = delete;

  void append(std::string_view bytes);
  // append() in three steps, for callers that build the bytes in place. After kNone the caller must
  // drop its `size` bytes, which begin() has counted. Otherwise append to queue(), then call
  // commit().
  Room begin(std::size_t size);
  [[nodiscard]] std::string& queue();
  void commit();

  [[nodiscard]] bool congested() const;
  // Nothing is queued or being written, or the descriptor has taken no bytes for `stall_max`.
  [[nodiscard]] bool settled() const;
  // To be called when no more bytes will be appended. If bytes are missing, queues the line about
  // them without waiting for `retry_after`.
  void finish();
  [[nodiscard]] std::uint64_t dropped_bytes() const;
  // Bytes accepted and not yet taken by the descriptor.
  [[nodiscard]] std::uint64_t queued_bytes() const;
  // Later writes go to the file behind `fd` (a rotated log); a write that is under way may still
  // reach the old file. Both must be files, not pipes or sockets.
  Status redirect(const Fd& fd);
  // The reader of a pipe or socket has closed its end.
  [[nodiscard]] bool reader_gone() const;
  [[nodiscard]] std::size_t held_bytes() const;  // memory of the buffers

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace robustrun::base
