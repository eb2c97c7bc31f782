#pragma once
// Ranks that wait in torch's init_process_group at a start, and the ranks that have not called it
// yet. Part of RunStatus; supervisor/watch/group_wait_fold.h finds them. Pure data and its words.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

// A GroupWait lists at most kMissingKept missing ranks, and its words name at most kMissingSaid.
inline constexpr std::size_t kMissingKept = 16;
inline constexpr std::size_t kMissingSaid = 3;

struct MissingRank {
  std::uint32_t rank = 0;
  std::string node;
  // "imports", "imports done" (in no stage now), "image" (its node's stage), "not started", "ended"
  std::string stage;
  // Time in this stage; for a stage that is done, time since its end. nullopt: unknown.
  std::optional<base::Nanos> stage_took;
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "node", node);
    v(3, "stage", stage);
    v(4, "stage_took", stage_took);
  }
};

struct GroupWait {
  base::Nanos lasting{};  // of the rank that has waited for the longest time
  std::uint32_t waiting = 0;  // ranks that wait
  std::uint32_t missing = 0;  // ranks that have not called init_process_group; at least one
  std::vector<MissingRank> ranks;  // the missing ones by rank, kMissingKept at most
  template <class V>
  void fields(V& v) {
    v(1, "lasting", lasting);
    v(2, "waiting", waiting);
    v(3, "missing", missing);
    v(4, "ranks", ranks);
  }
};

// "in init_process_group for rank 3 (n2, imports 32.00 s) and 5 more, 30.10 s so far"
[[nodiscard]] std::string in_words(const GroupWait& wait);
// "rank 3 on n2", "rank 3 on n2 and 5 more"
[[nodiscard]] std::string missing_in_words(const GroupWait& wait);

}  // namespace robustrun::supervisor
