#include "supervisor/watch/line_news.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/words.h"

namespace robustrun::supervisor {

void LineNews::note(base::Rank rank, const wire::WorkerProgress& reading) {
  if (rank == base::Rank{0}) {
    first_read_ = reading.lines_read;
    since_ = reading.user_code_at;
  } else if (reading.lines_read > 0) {
    last_read_ = reading.lines_read;
  }
  if (reading.lines > 0) is_over_ = true;
}

std::optional<std::string> LineNews::due(base::Nanos now) {
  const std::uint64_t read = std::max(first_read_, last_read_);
  const bool is_late = since_ && now - *since_ >= kUnmatchedTimeMax;
  if (is_over_ || (read < kUnmatchedLinesMax && !is_late)) return std::nullopt;
  is_over_ = true;
  return fmt::format(
      "--line-metrics has found no number yet in {} of output of the first and the last rank; "
      "docs/metrics.md tells how lines are recognised",
      base::counted(first_read_ + last_read_, "line"));
}

}  // namespace robustrun::supervisor
