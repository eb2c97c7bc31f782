#pragma once
// Checks that the parts of a manifest agree, so that later code may use its indices and ranges
// without further checks. Every error is kCorrupt; its text says which parts disagree. Pure.

#include <cstdint>

#include "base/core/result.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

// Whether the shard lies within its tensor, its rank is below `world_size`, and its bytes match its
// shape and type. The bytes of types that dtype.h does not know are not checked.
base::Status check_box(const Shard& shard, std::uint32_t world_size);
// Whether head, files, shards, pieces and parity groups agree with each other.
base::Status check_consistent(const Manifest& manifest);
// The same for a copy in memory, which has neither pieces nor files.
base::Status check_memory_copy(const Manifest& manifest);

}  // namespace robustrun::checkpoint
