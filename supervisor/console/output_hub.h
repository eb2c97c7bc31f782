#pragma once
// The console's recent output, for commands that watch it (`robustrun attach`).
//
// A ring of the last kOutputKeptBytes of both streams, in their order; every byte has a position,
// counted from this supervisor's start. A watcher asks for the bytes after a position, and waits
// when there are none: so nothing is buffered per watcher, and a slow or stopped one delays
// nothing. It is told how many bytes it has missed. Owned by the driver, on its loop.

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
  std::uint64_t watcher = 0;  // from the answer before; 0: a new watcher
  std::optional<std::uint64_t> from;  // a position; none: before the last `lines` lines
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
  // Bytes after the position asked for that are left out: those no longer kept, and the rest of the
  // line that they cut.
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
  // `answer` is called once, at once or later; with kLimit when too many questions wait already.
  using Answer = std::function<void(base::Result<OutputAnswer>)>;
  void ask(const OutputQuestion& question, Answer answer);
  // No more output will be appended. `done` is called when all watchers have seen the end, at once
  // if there are none. A watcher that got an answer and does not ask again within end_wait is not
  // waited for; end_wait_max bounds the whole wait.
  void end(std::function<void()> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::supervisor
