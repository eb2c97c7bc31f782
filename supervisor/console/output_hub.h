#pragma once
// The console's recent output, for commands that watch it (`robustrun attach`).
//
// A ring of the last kOutputKeptBytes of both streams, in their order. Every byte has a position,
// counted from this supervisor's start. A watcher asks for the bytes after a position, and waits
// when there are none. So nothing is buffered per watcher, and a slow watcher delays nothing. Each
// answer tells how many bytes the watcher has missed. Owned by the driver, on its loop.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

struct OutputQuestion {
  std::uint64_t watcher = 0;  // from the previous answer; 0: a new watcher
  std::optional<std::uint64_t> from;  // a position; nullopt: the start of the last `lines` lines
  std::uint64_t lines = 0;
  base::Nanos wait{};  // how long to wait for output; then the answer is empty
};

struct OutputPiece {
  bool is_stderr = false;
  std::size_t bytes = 0;
};

struct OutputAnswer {
  std::uint64_t watcher = 0;
  std::uint64_t position = 0;  // where the next question begins
  // Number of bytes left out after the requested position: bytes that are no longer kept, and the
  // rest of a line whose beginning is no longer kept.
  std::uint64_t dropped = 0;
  std::vector<OutputPiece> pieces;  // of `bytes`, in order
  std::string bytes;
  bool ended = false;  // there will be no more output
};

struct OutputLimits {
  std::size_t kept_bytes = kOutputKeptBytes;
  std::size_t answer_bytes = kOutputAnswerBytes;
  std::size_t waiting_max = kOutputWatchersMax;
  base::Nanos end_wait = kOutputEndWait;
  base::Nanos end_wait_max = kOutputEndWaitMax;
};

class OutputHub {
 public:
  explicit OutputHub(boost::asio::any_io_executor executor, OutputLimits limits = {});
  ~OutputHub();  // calls no `answer` any more
  OutputHub(const OutputHub&) = delete;
  OutputHub& operator=(const OutputHub&) = delete;

  void append(bool is_stderr, std::string_view bytes);
  // `answer` is called once, from within ask() or later; with kLimit if too many questions wait.
  using Answer = std::function<void(base::Result<OutputAnswer>)>;
  void ask(const OutputQuestion& question, Answer answer);
  // No more output will be appended. `done` is called from the loop when all watchers have seen the
  // end. A watcher that does not ask again within end_wait after an answer is not waited for;
  // end_wait_max bounds the whole wait.
  void end(std::function<void()> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::supervisor
