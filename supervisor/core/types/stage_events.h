#pragma once
// The stages of a start on one node, as an event of the core. Plain data, for the report alone: the
// machine keeps nothing of it. What belongs to which stage: docs/startup.md.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::supervisor {

// In the order of a start; appended to alone: the values are in journals.
enum class Stage : std::uint8_t {
  kAllocate,  // with kConnect: known from AgentJoined
  kConnect,
  kImage,
  kEnvironment,
  kImports,
  kProcessGroup,
  kModel,
  kLoad,
  kFirstStep,
};
inline constexpr std::size_t kStages = 9;

// "process group"
[[nodiscard]] const char* to_string(Stage stage);

struct StageTime {
  Stage stage = Stage::kAllocate;
  base::Nanos begin{};  // on the first rank of the node, as is the end on the last one
  base::Nanos end{};  // 0: it had not ended when it was told
  base::Nanos took{};  // measured on the node, by its slowest rank
  std::optional<base::Rank> slowest{};  // none: not a worker's stage
  template <class V>
  void fields(V& v) {
    v(1, "stage", stage);
    v(2, "begin", begin);
    v(3, "end", end);
    v(4, "took", took);
    v(5, "slowest", slowest);
  }
};

// Of the event's node; a later one of the same attempt replaces it.
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
