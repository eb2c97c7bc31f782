#pragma once
// Folds the Python tracebacks of workers that fail only because another worker failed before them.
//
// Each traceback becomes one line: its exception, and its number of lines in the worker's log.
// Lines may have torch's prefix "[rank3]: ". Tracebacks that are chained ("During handling of the
// above exception, …") fold one by one. All other output passes unchanged.
//
// Pure; owned by the console, on its loop. Bounded: per rank an exception's line, of at most
// kTracebackLineMax bytes.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/core/ids.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

class TracebackFolder {
 public:
  // Begins or ends folding. If a traceback has begun before, its remaining lines become one line:
  // workers may notice that a peer has died before the supervisor does.
  void set_active(bool active);
  // The bytes to be shown instead of `output`'s.
  [[nodiscard]] std::string take(const wire::Output& output);

 private:
  enum class Place : std::uint8_t { kOutside, kInside, kBehind };
  struct Stream {
    Place place = Place::kOutside;
    bool in_line = false;  // the line shown last has not ended yet
    std::uint64_t lines = 0;  // of the traceback so far
    std::string rest;  // of a line whose end has not come yet
    std::uint64_t blanks = 0;  // empty lines behind the traceback: a chained one may follow
  };

  static void take_line(Stream& stream, base::Rank rank, std::string_view line, std::string& shown);
  static void follow(Stream& stream, std::string_view piece);

  bool active_ = false;
  std::map<std::uint32_t, Stream> streams_;  // by rank
};

}  // namespace robustrun::supervisor
