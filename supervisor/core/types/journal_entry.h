#pragma once
// One record of a run's journal. Plain data.

#include <variant>

#include "base/core/clock.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/core/types/events.h"

namespace robustrun::supervisor {

// An event, or an action that followed from the events before it.
struct JournalEntry {
  base::Nanos at{};  // supervisor's clock
  std::variant<Event, Decision, Finish, GroupFormed> what;
};

}  // namespace robustrun::supervisor
