#pragma once
// The stages of a start on one node, as an event of the core. Plain data, only for the report: the
// state machine ignores it. docs/startup.md defines the stages.

#include <vector>

#include "base/core/ids.h"
#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::StageName;
using StageTime = wire::StageTimeOf<base::Rank>;

// "process group"
[[nodiscard]] const char* to_string(StageName stage);

// Stages of the event's node; a later event of the same attempt replaces it.
struct StartStages {
  base::Attempt attempt;
  std::vector<StageTime> stages;  // in their order, none twice
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "stages", stages);
  }
};

}  // namespace robustrun::supervisor
