#pragma once
// What the console shows, kept for a while so that others can watch (`robustrun attach`).
//
// A ring of the last kOutputKeptBytes of both streams, in their order; every byte has a position,
// counted from the run's start. A watcher asks for what is behind a position and waits when there
// is nothing: so nothing is ever buffered for it, and one that is slow or stopped holds up nobody.
// What it has missed is told as a number of bytes. Owned by the driver, on its loop.

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
  std::uint64_t watcher = 0;           // as the answer before said; 0: a new one
  std::optional<std::uint64_t> from;   // a position; none: behind the last `lines` lines
  std::uint64_t lines = 0;
  base::Nanos wait{};                  // for something to show; then the answer is empty
};

struct OutputPiece {
  bool is_stderr = false;
  std::size_t bytes = 0;
};

struct OutputAnswer {
  std::uint64_t watcher = 0;
  std::uint64_t position = 0;          // to ask from next
  std::uint64_t dropped = 0;  // bytes behind the asked position that are not kept any more
  std::vector<OutputPiece> pieces;  // of `bytes`, in order
  std::string bytes;
  bool ended = false;  // nothing will come
};

struct OutputLimits {
  std::size_t kept_bytes = kOutputKeptBytes;
  std::size_t answer_bytes = kOutputAnswerBytes;
  std::size_t waiting_max = kOutputWatchersMax;
  base::Nanos farewell = kOutputFarewell;
  base::Nanos farewell_max = kOutputFarewellMax;
};

class OutputHub {
 public:
  explicit OutputHub(boost::asio::any_io_executor executor, OutputLimits limits = {});
  ~OutputHub();  // nobody is answered any more
  OutputHub(const OutputHub&) = delete;
  OutputHub& operator=(const OutputHub&) = delete;

  void append(bool is_stderr, std::string_view bytes);
  // `answer` is called once, at once or later; kLimit when too many are waiting already.
  using Answer = std::function<void(base::Result<OutputAnswer>)>;
  void ask(const OutputQuestion& question, Answer answer);
  // Nothing will be appended. `done` is called when those who watch have seen the end: at once
  // where nobody does. One who is shown something and does not ask on for `farewell` is not waited
  // for, and nobody for longer than `farewell_max`.
  void end(std::function<void()> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::supervisor
