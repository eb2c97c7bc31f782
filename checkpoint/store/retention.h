#pragma once
// Which checkpoints may go, and how one goes.
//
// Nothing is removed unless a newer one was read back whole (VERIFIED) and is on shared storage:
// one on disks of single machines is lost with any of them, and counts for none. One goes by
// renaming every copy of its MANIFEST and syncing that, before any of its data is unlinked: a crash
// leaves one that is not there, never one that is broken. A directory that does not answer is
// waited for as long as the patience (mount_threads.h) alone.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/disk/directory_lock.h"
#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/mount_threads.h"
#include "checkpoint/store/catalog.h"

namespace robustrun::checkpoint {

// Reads all of it and writes down that it was right. kCorrupt: the first fault, and how many.
base::Status verify_and_mark(Disk& disk, const FoundAttempt& found);

// Writes down that all of it was read back and was right.
base::Status mark_verified(Disk& disk, const FoundAttempt& found);
// Nobody starts from it any more, from the next look on. `reason`: one word (kInvalidArgument).
base::Status mark_poisoned(Disk& disk, const FoundAttempt& found, std::string_view reason);
// Retention never removes it, or again does.
base::Status set_pinned(Disk& disk, const FoundAttempt& found, bool pinned);

struct Pruned {
  std::vector<AttemptId> removed;
  std::vector<std::string> notes;  // why nothing, or less than expected, was removed
};

// Keeps the `keep` (at least 1) newest verified ones, everything newer than those, and pinned ones.
// Of those that it keeps, the ones that nobody verified yet are verified first; the first of them
// that is damaged ends that, and so the removing. Folders of attempts that never were committed go
// when they are older than generation `fence` (null: what FENCE says). Poisoned ones do not count
// as kept. While a directory does not answer nothing is removed: what it has of one would come back
// without the rest. kTimeout: others have held the home's lock for all of `lock_patience`.
// directories.front() is the home.
base::Result<Pruned> prune(Disk& disk, std::span<const std::string> directories, std::size_t keep,
                           std::optional<std::uint64_t> fence = {},
                           std::chrono::milliseconds patience = kPatience,
                           std::chrono::milliseconds lock_patience = kLockPatience);

// The same directories with the home first: the one where somebody was admitted or has committed.
// As they are when none of them is one. What does not answer is none.
[[nodiscard]] std::vector<std::string> home_first(std::span<const std::string> directories,
                                                  std::chrono::milliseconds patience = kPatience);

}  // namespace robustrun::checkpoint
