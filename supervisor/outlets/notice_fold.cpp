#include "supervisor/outlets/notice_fold.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::supervisor {

const char* to_string(NoticeKind kind) {
  switch (kind) {
    case NoticeKind::kStarted: return "started";
    case NoticeKind::kIncident: return "incident";
    case NoticeKind::kRecovered: return "recovered";
    case NoticeKind::kStalled: return "stalled";
    case NoticeKind::kGaveUp: return "gave up";
    case NoticeKind::kFinished: return "finished";
  }
  return "";
}

std::optional<Notice> NoticeFold::take(const RunEvent& event) {
  if (event.event == "state" && event.to == to_string(JobState::kRunning)) {
    is_stalled_ = false;
    if (!std::exchange(has_run_, true)) {
      failed_at_.reset();
      return Notice{NoticeKind::kStarted, event.at, "all workers run"};
    }
    if (!failed_at_) return std::nullopt;
    const base::Nanos lost = event.at - *std::exchange(failed_at_, std::nullopt);
    return Notice{
        NoticeKind::kRecovered, event.at,
        fmt::format("all workers run again, {} after the failure", base::duration_words(lost))};
  }
  if (event.gave_up) {
    gave_up_ = true;
    return Notice{NoticeKind::kGaveUp, event.at, base::printable(event.text)};
  }
  if (event.incident) {
    if (!failed_at_) failed_at_ = event.at;
    return Notice{NoticeKind::kIncident, event.at, base::printable(event.text)};
  }
  if (event.event == "finished" && !gave_up_) {
    const int code = event.exit_code.value_or(0);
    return Notice{
        NoticeKind::kFinished, event.at,
        code == 0 ? "the run ended well" : fmt::format("the run ended with exit code {}", code),
        code};
  }
  return std::nullopt;
}

std::optional<Notice> NoticeFold::look(const RunStatus& status, base::Nanos now) {
  if (stalled_after_ == base::Nanos{} || status.state != JobState::kRunning || !status.stepped) {
    return std::nullopt;
  }
  if (*status.stepped < stalled_after_) {
    if (!std::exchange(is_stalled_, false)) return std::nullopt;
    return Notice{NoticeKind::kRecovered, now, "the run makes steps again"};
  }
  if (std::exchange(is_stalled_, true)) return std::nullopt;
  return Notice{NoticeKind::kStalled, now,
                fmt::format("no step for {}; `robustrun diagnose {}` shows which rank blocks",
                            base::duration_words(*status.stepped), status.run_id)};
}

}  // namespace robustrun::supervisor
