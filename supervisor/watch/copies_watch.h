#pragma once
// Filters the agents' reports about copies in memory, which also come when only a step has changed,
// for news: which ranks have a copy, and where. Pure; the driver owns one. Bounded by the ranks of
// the attempt.

#include <optional>
#include <vector>

#include "supervisor/core/types/copy_events.h"
#include "wire/messages/peer_copies.h"

namespace robustrun::supervisor {

class CopiesWatch {
 public:
  void begin_attempt(base::Attempt attempt, std::uint32_t world_size);
  // The ranks whose copies have changed; nullopt: none has. Unknown ranks, and ranks of another
  // attempt, are ignored.
  std::optional<CopiesKept> take(const wire::CopiesKept& report);

 private:
  base::Attempt attempt_;
  std::vector<KeptCopy> known_;  // by rank
};

}  // namespace robustrun::supervisor
