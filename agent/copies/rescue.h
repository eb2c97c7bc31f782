#pragma once
// Saves the copies that dead workers left in memory to the checkpoint directories that the copies
// name. Blocks: call it on a thread of a pool. The memory's content is not trusted.

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

// A dead worker's memory.
struct RescuedMemory {
  base::Rank rank;
  base::Fd memory;
  // Bit n: slot n is held by the board (checkpoint/memory/hold_board.h).
  std::uint32_t held_slots = 0;
  // The slot with a step of which all ranks have copies; nullopt: the oldest held slot.
  std::optional<std::size_t> secured_slot{};
};

// Describes the rank's memory as it is now. Call it before the next attempt, which clears the
// board.
base::Result<RescuedMemory> rescued_memory(base::Rank rank, const GivenMemory& given);

// Shared by a rescue and the code that waits for it (rescue_run.h).
struct RescueWatch {
  std::shared_ptr<std::atomic<std::uint64_t>> written =
      std::make_shared<std::atomic<std::uint64_t>>(0);  // bytes so far
  std::atomic<bool> given_up = false;  // no further save is begun
  base::Nanos until{};  // no save is begun after this time
};

// A line for the log: one copy, saved or not.
struct RescueLine {
  base::Rank rank;
  bool failed = false;
  std::string text;
};

// Saves the copies step by step, from the newest step on, until one step is committed. A newer step
// may stay uncommitted, because ranks of other nodes lack copies of it. If time is left for only
// one more step, the step of which all ranks have copies comes next.
std::vector<RescueLine> rescue_copies(std::vector<RescuedMemory> memories, const base::Clock& clock,
                                      const RescueWatch& watch);

}  // namespace robustrun::agent
