#pragma once
// Saves the copies that dead workers left in memory, each as its writer would have. Blocks; for a
// thread of a pool. Nothing in that memory is trusted.

#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "base/io/fd.h"

namespace robustrun::agent {

struct RescuedMemory {
  base::Rank rank;
  base::Fd memory;
  // Whose copy is of a step of which there are all ranks' copies somewhere; none: as the memory's
  // board says.
  std::optional<std::size_t> secured_slot{};
};

// What is to be told of it.
struct RescueLine {
  base::Rank rank;
  bool failed = false;
  std::string text;
};

// The newest step of which this node's ranks have copies first; older ones only while that is not
// committed, because ranks of other nodes may lack it. Begins nothing after `until`; when there is
// only time for one more, that is the one which all ranks' copies are there of.
std::vector<RescueLine> rescue_copies(std::vector<RescuedMemory> memories, const base::Clock& clock,
                                      base::Nanos until);

}  // namespace robustrun::agent
