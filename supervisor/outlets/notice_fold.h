#pragma once
// Which of a run's events people are notified of. Pure; the caller gives the time.

#include <optional>
#include <string>

#include "base/core/clock.h"
#include "supervisor/core/status/event_lines.h"
#include "supervisor/core/status/status.h"
#include "supervisor/outlets/notice.h"

namespace robustrun::supervisor {

class NoticeFold {
 public:
  // `stalled_after`: time without a step until a notice; 0: never.
  explicit NoticeFold(base::Nanos stalled_after) : stalled_after_(stalled_after) {}
  // The notice about an event or a state, if there is one. After an event that gave up there is
  // none about the end. For a run that is taken over, give it the events of before as well, and
  // drop their notices.
  std::optional<Notice> take(const RunEvent& event);
  // The notice about a run that makes no steps, once until it makes some, and then the one about
  // that; scripts without steps cause none. Call it at least every minute.
  std::optional<Notice> look(const RunStatus& status, base::Nanos now);

 private:
  base::Nanos stalled_after_;
  bool has_run_ = false;
  bool gave_up_ = false;
  bool is_stalled_ = false;
  std::optional<base::Nanos> failed_at_;  // the first incident since all workers ran
};

}  // namespace robustrun::supervisor
