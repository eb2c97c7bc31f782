#pragma once
// Removes old checkpoints.
//
// A checkpoint is removed only if a newer one was read back whole (VERIFIED) and is on shared
// storage; one on disks of single machines does not count, because it is lost with any of them.
// Removal first renames every copy of the MANIFEST and syncs that, then unlinks the data. So a
// crash leaves a checkpoint that is gone, never one that is broken. A directory that does not
// answer is waited for only as long as the patience (mount_threads.h).

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

// Reads the whole checkpoint and marks it as verified. kCorrupt: the first fault, and how many
// there are.
base::Status verify_and_mark(Disk& disk, const FoundAttempt& found);

// Marks as verified a checkpoint that was read back and found sound.
base::Status mark_verified(Disk& disk, const FoundAttempt& found);
// Takes this mark from a checkpoint that was found damaged later, so that prune() reads it again
// instead of removing older ones. No error if it has none.
base::Status unmark_verified(Disk& disk, const FoundAttempt& found);
// Marks the checkpoint as poisoned: no job starts from it any more. `reason`: one word
// (kInvalidArgument).
base::Status mark_poisoned(Disk& disk, const FoundAttempt& found, std::string_view reason);
// Protects the checkpoint from retention, or ends that.
base::Status set_pinned(Disk& disk, const FoundAttempt& found, bool pinned);

struct Pruned {
  std::vector<AttemptId> removed;
  std::vector<std::string> notes;  // why nothing, or less than expected, was removed
};

// Keeps the `keep` (at least 1) newest verified checkpoints, everything newer than those, pinned
// ones, and ones whose manifest cannot be read. Poisoned ones, and those on disks of single
// machines, do not count towards `keep`; a checkpoint on such disks is removed as soon as a single
// newer checkpoint counts. Before all this, checkpoints are verified from the newest down until
// `keep` are, or one is damaged. Folders of uncommitted attempts are removed if their generation is
// lower than `fence` (nullopt: the generation in FENCE). Once a directory does not answer or cannot
// be listed, nothing more is removed. Otherwise that directory, once it can be read again, would
// show attempts whose parts elsewhere have been removed. kTimeout: the home's lock was held for all
// of `lock_patience`. directories.front() is the home.
base::Result<Pruned> prune(Disk& disk, std::span<const std::string> directories, std::size_t keep,
                           std::optional<std::uint64_t> fence = {},
                           std::chrono::milliseconds patience = kPatience,
                           std::chrono::milliseconds lock_patience = kLockPatience);

// The directories with the home first: the one in which a generation was admitted or a checkpoint
// committed. Unchanged if no directory shows that; a directory that does not answer shows nothing.
[[nodiscard]] std::vector<std::string> home_first(std::span<const std::string> directories,
                                                  std::chrono::milliseconds patience = kPatience);

}  // namespace robustrun::checkpoint
