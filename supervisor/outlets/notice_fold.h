#pragma once
// Decides about which events of a run people are notified. Pure; the caller gives the time.

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
  // The notice about an event, if it needs one. After RunEvent::gave_up the end of the run needs
  // none. For a run that was taken over, pass in its earlier events, too, and drop their notices.
  std::optional<Notice> take(const RunEvent& event);
  // One notice when the run has done no step for `stalled_after`, and one when it does steps again.
  // Scripts without steps cause none. To be called at least every minute.
  std::optional<Notice> look(const RunStatus& status, base::Nanos now);

 private:
  base::Nanos stalled_after_;
  bool has_run_ = false;
  bool gave_up_ = false;
  bool is_stalled_ = false;
  std::optional<base::Nanos> failed_at_;  // the first incident since all workers ran
};

}  // namespace robustrun::supervisor
