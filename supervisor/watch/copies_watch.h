#pragma once
// What agents tell of copies in memory, once a second, and what of it is news: which ranks have a
// copy, and where. Pure; the driver owns one. Bounded by the ranks of the attempt.

#include <optional>
#include <vector>

#include "supervisor/core/types/copy_events.h"
#include "wire/messages/peer_copies.h"

namespace robustrun::supervisor {

class CopiesWatch {
 public:
  void begin_attempt(base::Attempt attempt, std::uint32_t world_size);
  // Ranks of which something else is known now; none: nothing is. Ranks there are not, and another
  // attempt's, do not count.
  std::optional<CopiesKept> take(const wire::CopiesKept& report);

 private:
  base::Attempt attempt_;
  std::vector<KeptCopy> known_;  // by rank
};

}  // namespace robustrun::supervisor
