#pragma once
// One copy of a rank's state in memory: a header, a description and the tensors' bytes. This is its
// codec; docs/formats/memory-copy.md defines the layout.
//
// A reader trusts nothing in it, because another process wrote it and may have died at any
// instruction. A copy counts if its state, which is written last, says so and the checksums of
// header and description are right. Each tensor has its own checksum, checked when its bytes are
// used. No allocation here exceeds format/limits.h.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

enum class SlotState : std::uint32_t {
  kEmpty = 0,
  kFilling = 1,  // or its writer died while filling it
  kComplete = 2,
  kDrained = 3,  // complete, and saved to disk as its writer's part
};

// What a slot claims to hold.
struct MemoryCopy {
  SlotState state = SlotState::kEmpty;
  std::uint64_t sequence = 0;  // number of the copy in this memory area; newer is higher
  std::string writer;  // the writer that this part belongs to
  // Head, shards with CRCs but without pieces, states; `mounts` is where to save it.
  Manifest manifest;
  std::vector<std::uint64_t> offsets;  // offset in the slot of each shard's bytes
};

[[nodiscard]] SlotState slot_state(std::span<const char> slot);
// kNotFound: the slot has no complete copy. kCorrupt: the copy is damaged or hostile. kUnavailable:
// another version of robustrun made it.
base::Result<MemoryCopy> read_slot(std::span<const char> slot);

// Invalidates the slot's copy until write_slot().
void open_slot(std::span<char> slot);
// Writes description and header, whose state comes last. `copy` is the result of plan_slot() with
// its CRCs filled in.
void write_slot(std::span<char> slot, const MemoryCopy& copy);
void mark_drained(std::span<char> slot);

// Fills `offsets` and returns the number of bytes a slot needs. kLimit: no slot can be that large.
base::Result<std::uint64_t> plan_slot(MemoryCopy& copy);

}  // namespace robustrun::checkpoint
