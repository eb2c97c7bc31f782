#pragma once
// Folds the Python tracebacks of workers that fail only because another worker failed before them.
//
// A folded traceback is one line: its exception, and its number of lines in the worker's log. Lines
// may have torch's prefix "[rank3]: ". Tracebacks that are chained ("During handling of the above
// exception, …") fold one by one. All other output passes unchanged.
//
// Workers may notice that a peer has died before the supervisor does. So a traceback that begins
// soon after another rank's is held until a worker's failure is known, or for kTracebackHold.
//
// Pure; owned by the console, on its loop; the caller gives the time. Bounded: kTracebackHeldMax,
// and per rank an exception's line of at most kTracebackLineMax bytes.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

enum class TracebackFold : std::uint8_t {
  kNone,
  kHold,  // no worker has failed: show all, but hold those that follow another rank's
  kAll,  // a worker has failed: fold all
};

class TracebackFolder {
 public:
  // The four functions return the output to be shown now. `now` never goes back.
  // With kAll, the held tracebacks are folded, except those of `failed`, and the remaining lines of
  // a traceback that is partly shown become one line. `failed`: the rank that failed first.
  [[nodiscard]] std::vector<wire::Output> set(TracebackFold fold,
                                              std::optional<base::Rank> failed = {});
  // The bytes to be shown instead of `output`'s.
  [[nodiscard]] std::string take(const wire::Output& output, base::Nanos now);
  [[nodiscard]] std::vector<wire::Output> due(base::Nanos now);
  [[nodiscard]] std::vector<wire::Output> flush();
  // When due() will return something; nullopt: nothing is held.
  [[nodiscard]] std::optional<base::Nanos> next_due() const;

 private:
  enum class Place : std::uint8_t { kOutside, kInside, kBehind };
  struct Stream {
    Place place = Place::kOutside;
    bool in_line = false;  // the line shown last has not ended yet
    std::uint64_t lines = 0;  // of the traceback so far
    std::string rest;  // of a line whose end has not come yet
    std::uint64_t blanks = 0;  // empty lines behind the traceback: a chained one may follow
    std::optional<wire::Output> held;  // from the beginning of a traceback on
    base::Nanos held_since{};
  };
  struct Begun {
    base::Rank rank;
    base::Nanos at{};
  };

  static void take_line(Stream& stream, base::Rank rank, std::string_view line, std::string& shown);
  static void follow(Stream& stream, std::string_view piece);
  static std::string folded(Stream& stream, base::Rank rank, std::string_view bytes);
  std::string show_or_hold(Stream& stream, const wire::Output& output, base::Nanos now);
  bool is_to_hold(const Stream& stream, base::Rank rank, std::string_view piece, base::Nanos now);
  wire::Output release(Stream& stream);

  TracebackFold fold_ = TracebackFold::kNone;
  std::map<std::uint32_t, Stream> streams_;  // by rank
  std::optional<Begun> first_;  // the newest traceback that was not held
  std::size_t held_bytes_ = 0;  // 0: nothing is held
  base::Nanos held_first_{};  // the earliest held_since
};

}  // namespace robustrun::supervisor
