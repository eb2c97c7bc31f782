#pragma once
// Filters the agents' reports about copies in memory: only which ranks have a copy, and where, is
// news. Reports also come when only a step has changed. Pure; the driver owns one. Bounded by the
// ranks of the attempt.

#include <optional>
#include <vector>

#include "supervisor/core/types/copy_events.h"
#include "wire/messages/peer_copies.h"

namespace robustrun::supervisor {

class CopiesWatch {
 public:
  void begin_attempt(base::Attempt attempt, std::uint32_t world_size);
  // The ranks that have a copy elsewhere than before; nullopt: there are none. Unknown ranks, and
  // ranks of another attempt, are ignored.
  std::optional<CopiesKept> take(const wire::CopiesKept& report);

 private:
  base::Attempt attempt_;
  std::vector<KeptCopy> known_;  // by rank
};

}  // namespace robustrun::supervisor
