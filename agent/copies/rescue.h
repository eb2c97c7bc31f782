#pragma once
// Saves the copies that dead workers left in memory, each as its worker would have. Blocks; for a
// thread of a pool. The content of that memory is not trusted.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/copies/memory.h"
#include "base/core/clock.h"
#include "base/core/ids.h"
#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::agent {

struct RescuedMemory {
  base::Rank rank;
  base::Fd memory;
  std::uint32_t held_slots = 0;  // bit per slot: held by the board when the worker died
  // The slot with the step of which all ranks have copies; none: the oldest held slot is taken.
  std::optional<std::size_t> secured_slot{};
};

// Describes the rank's memory as it is now. Call it before the next attempt begins, which clears
// the board.
base::Result<RescuedMemory> rescued_memory(base::Rank rank, const GivenMemory& given);

// Shared by a rescue and the code that waits for it (rescue_run.h).
struct RescueWatch {
  std::shared_ptr<std::atomic<std::uint64_t>> written =
      std::make_shared<std::atomic<std::uint64_t>>(0);  // bytes so far
  std::atomic<bool> given_up = false;  // no further save is begun
  base::Nanos until{};  // no save is begun after this time
};

// One line for the log.
struct RescueLine {
  base::Rank rank;
  bool failed = false;
  std::string text;
};

// Saves the newest step of which this node's ranks have copies first. Older steps follow only while
// no step is committed, because ranks of other nodes may lack the newer one. If time is left for
// only one more step, the step of which all ranks have copies is saved.
std::vector<RescueLine> rescue_copies(std::vector<RescuedMemory> memories, const base::Clock& clock,
                                      const RescueWatch& watch);

}  // namespace robustrun::agent
