#pragma once
// Which checkpoints may go, and how one goes.
//
// Nothing is removed unless a newer one was read back whole (VERIFIED). One goes by renaming every
// copy of its MANIFEST and syncing that, before any of its data is unlinked: a crash leaves one
// that is not there, never one that is broken.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/catalog.h"
#include "checkpoint/disk.h"

namespace robustrun::checkpoint {

// Reads all of it and writes down that it was right. kCorrupt: the first fault, and how many.
base::Status verify_and_mark(Disk& disk, const FoundAttempt& found);

struct Pruned {
  std::vector<AttemptId> removed;
  std::vector<std::string> notes;  // why nothing, or less than expected, was removed
};

// Keeps the `keep` (at least 1) newest verified ones, everything newer than those, and pinned ones.
// The newest committed one is verified first when it was not. Folders of attempts that never were
// committed go when they are older than generation `fence`.
base::Result<Pruned> prune(Disk& disk, std::span<const std::string> directories, std::size_t keep,
                           std::uint64_t fence);

}  // namespace robustrun::checkpoint
