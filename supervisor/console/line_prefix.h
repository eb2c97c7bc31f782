#pragma once
// Puts a prefix before each line of several streams that share one destination.
//
// Pure. Lines end at '\n' or '\r' (progress bars). Output of a stream that comes while another is
// in the middle of a line gets a line of its own, and so does the rest of the broken line. Without
// a prefix bytes are passed on unchanged.

#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/run_request.h"

namespace robustrun::supervisor {

struct StreamId {
  base::Rank rank;
  bool is_stderr = false;
  friend bool operator==(const StreamId&, const StreamId&) = default;
};

class LinePrefixer {
 public:
  // Appends `bytes` of `stream` to `out`, each line behind `prefix`. Removes `known` from the start
  // of each line that begins with it.
  void append(std::string& out, StreamId stream, std::string_view prefix, std::string_view bytes,
              std::string_view known = {});
  // Another writer has written to the destination and ended the line.
  void reset() { position_ = Position::kLineStart; }
  [[nodiscard]] bool in_line() const { return position_ != Position::kLineStart; }

 private:
  enum class Position : std::uint8_t { kLineStart, kInLine, kAfterReturn };
  Position position_ = Position::kLineStart;
  StreamId last_;  // the stream whose line is open
};

// The prefix "[rank3]: " that torch puts before each line of an exception on stderr. Empty if
// `output` is from stdout, or if our own prefix does not show the rank
// (ConsoleStyle::Prefix::kRank).
std::string known_prefix(const ConsoleStyle& style, const wire::Output& output);

// The prefix of a worker's lines; empty for ConsoleStyle::Prefix::kNone. `host`: the name of the
// worker's machine.
std::string line_prefix(const ConsoleStyle& style, std::string_view role, std::string_view host,
                        const wire::Output& output);

}  // namespace robustrun::supervisor
