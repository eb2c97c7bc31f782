#pragma once
// Saves the copies that dead workers left in memory, each as its writer would have. Blocks; for a
// thread of a pool. Nothing in that memory is trusted.

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
  std::uint32_t held_slots = 0;  // a bit each: that its board held when its worker was gone
  // Whose copy is of a step of which there are all ranks' copies somewhere; none: the older one of
  // two that are held.
  std::optional<std::size_t> secured_slot{};
};

// That rank's, as it is now: the next attempt begins with a board on which nothing is held.
base::Result<RescuedMemory> rescued_memory(base::Rank rank, const GivenMemory& given);

// Between a rescue and whoever waits for it (rescue_run.h).
struct RescueWatch {
  std::shared_ptr<std::atomic<std::uint64_t>> written =
      std::make_shared<std::atomic<std::uint64_t>>(0);  // bytes so far
  std::atomic<bool> given_up = false;  // nothing more is begun
  base::Nanos until{};  // nor behind this time
};

// What is to be told of it.
struct RescueLine {
  base::Rank rank;
  bool failed = false;
  std::string text;
};

// The newest step of which this node's ranks have copies first; older ones only while that is not
// committed, because ranks of other nodes may lack it. When there is only time for one more, that
// is the one which all ranks' copies are there of.
std::vector<RescueLine> rescue_copies(std::vector<RescuedMemory> memories, const base::Clock& clock,
                                      const RescueWatch& watch);

}  // namespace robustrun::agent
