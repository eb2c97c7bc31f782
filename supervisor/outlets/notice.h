#pragma once
// Notices about a run for people (--notify). Plain data.

#include <cstdint>
#include <string>

#include "base/core/clock.h"

namespace robustrun::supervisor {

enum class NoticeKind : std::uint8_t {
  kStarted,
  kIncident,
  kRecovered,
  kStalled,   // no step for the time of --notify-stalled
  kGaveUp,
  kFinished,
};
// "started", "incident", "recovered", "stalled", "gave up", "finished"
[[nodiscard]] const char* to_string(NoticeKind kind);

struct Notice {
  NoticeKind kind = NoticeKind::kStarted;
  base::Nanos at{};  // supervisor's clock
  std::string text;  // one sentence or more, printable
  int exit_code = 0;  // only for kFinished
};

}  // namespace robustrun::supervisor
