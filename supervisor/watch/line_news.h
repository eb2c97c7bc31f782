#pragma once
// Tells once per run that --line-metrics finds nothing. Pure; the caller gives the time.
//
// Owned by the driver, on its loop. Only the first and the last rank are searched.

#include <cstdint>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/limits.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

class LineNews {
 public:
  // `is_asked`: the run has --line-metrics.
  explicit LineNews(bool is_asked) : is_over_(!is_asked) {}
  // A reading of any rank of the current attempt.
  void note(base::Rank rank, const wire::WorkerProgress& reading);
  // What to log, once: no line held a number among kUnmatchedLinesMax, or for kUnmatchedTimeMax
  // since the script began.
  [[nodiscard]] std::optional<std::string> due(base::Nanos now);

 private:
  bool is_over_;
  std::uint64_t first_read_ = 0, last_read_ = 0;  // lines of the first and of the last rank
  std::optional<base::Nanos> since_;  // when the script of the first rank began
};

}  // namespace robustrun::supervisor
