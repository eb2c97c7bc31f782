#pragma once
// One copy of a rank's state in memory: a header, a description, the tensors' bytes. Bytes and
// their meaning; docs/formats/memory-copy.md is the page of the layout.
//
// Whoever reads one trusts nothing in it: another process wrote it, and may have died at any
// instruction. A copy counts when its state says so, which is written last, and when the checksums
// of header and description are right; each tensor has one of its own, checked when its bytes are
// used. Nothing here allocates more than limits.h allows.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

enum class SlotState : std::uint32_t {
  kEmpty = 0,
  kFilling = 1,   // or its writer died while it did
  kComplete = 2,
  kDrained = 3,   // complete, and on disk as its writer's part
};

// What a slot says that it holds.
struct MemoryCopy {
  SlotState state = SlotState::kEmpty;
  std::uint64_t sequence = 0;  // of copies into this memory: the higher is the newer
  std::string writer;          // whose part this is
  Manifest manifest;  // head, shards with CRCs and without pieces, states; `mounts` says
                      // where it is to be saved
  std::vector<std::uint64_t> offsets;  // of each shard's bytes, from the beginning of the slot
};

[[nodiscard]] SlotState slot_state(std::span<const char> slot);
// kNotFound: it has no complete copy; kCorrupt: it is damaged or hostile.
base::Result<MemoryCopy> read_slot(std::span<const char> slot);

// From now on the slot has no copy, until write_slot().
void open_slot(std::span<char> slot);
// Description and header, whose state is written last. `copy` is as plan_slot() left it but for
// its CRCs.
void write_slot(std::span<char> slot, const MemoryCopy& copy);
void mark_drained(std::span<char> slot);

// Fills `offsets`; answers with the bytes of a slot that holds it all. kLimit: nothing does.
base::Result<std::uint64_t> plan_slot(MemoryCopy& copy);

}  // namespace robustrun::checkpoint
