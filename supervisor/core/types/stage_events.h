#pragma once
// The stages of a start on one node, as an event of the core. Plain data, for the report alone: the
// state machine ignores it. docs/startup.md defines the stages.

#include <vector>

#include "base/core/ids.h"
#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::StageName;
using StageTime = wire::StageTimeOf<base::Rank>;

// "process group"
[[nodiscard]] const char* to_string(StageName stage);

// The stages on the event's node. A later event of the same attempt replaces an earlier one.
struct StartStages {
  base::Attempt attempt;
  std::vector<StageTime> stages;  // in the order of the stages, none twice
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "stages", stages);
  }
};

}  // namespace robustrun::supervisor
