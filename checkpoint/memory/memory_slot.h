#pragma once
// Reads and writes one copy of a rank's state in memory: a header, a description and the tensors'
// bytes. docs/formats/memory-copy.md defines the layout.
//
// A reader trusts nothing in a slot, because another process wrote it and may have died at any
// instruction. A copy counts only if its state, which is written last, says that it is complete,
// and the checksums of header and description are right. Each tensor has its own checksum; the user
// of its bytes checks it. No allocation here exceeds format/limits.h.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

enum class SlotState : std::uint32_t {
  kEmpty = 0,
  kFilling = 1,  // a writer fills the slot, or died while filling it
  kComplete = 2,
  kDrained = 3,  // complete, and saved to disk as its writer's part
};

// What a slot claims to hold.
struct MemoryCopy {
  SlotState state = SlotState::kEmpty;
  std::uint64_t sequence = 0;  // number of the copy in this memory area; newer is higher
  std::string writer;  // the part's writer
  // Head, shards (with CRCs, without pieces) and states. head.mounts: where to save the copy.
  Manifest manifest;
  std::vector<std::uint64_t> offsets;  // offset in the slot of each shard's bytes
};

[[nodiscard]] SlotState slot_state(std::span<const char> slot);
// kNotFound: the slot has no complete copy. kCorrupt: the copy is damaged or hostile. kUnavailable:
// another version of robustrun made it.
base::Result<MemoryCopy> read_slot(std::span<const char> slot);

// Invalidates the slot's copy until write_slot().
void open_slot(std::span<char> slot);
// Writes the description and the header, the state last. `copy` comes from plan_slot(), with the
// shards' CRCs filled in.
void write_slot(std::span<char> slot, const MemoryCopy& copy);
void mark_drained(std::span<char> slot);

// Fills copy.offsets and returns how many bytes a slot needs. kLimit: no slot can be that large.
base::Result<std::uint64_t> plan_slot(MemoryCopy& copy);

}  // namespace robustrun::checkpoint
