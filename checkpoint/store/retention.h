#pragma once
// Removes old checkpoints.
//
// A committed checkpoint is removed only if a newer one was read back whole (VERIFIED) and is on
// shared storage. A newer one on disks of single machines does not count, because it is lost with
// any of them. Removal first renames every copy of the MANIFEST and syncs the folders, then unlinks
// the data. So after a crash a checkpoint is either whole or deleted, never broken. Calls wait for
// a directory that does not answer only as long as the patience (mount_threads.h).

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

// Reads the whole checkpoint and marks it as verified. kCorrupt: the text has the first fault and
// the number of further ones.
base::Status verify_and_mark(Disk& disk, const FoundAttempt& found);

// Marks as verified a checkpoint that was read back and found sound.
base::Status mark_verified(Disk& disk, const FoundAttempt& found);
// Removes the mark from a checkpoint that was found damaged later. Otherwise prune() would trust
// the mark and remove older checkpoints. No error if there is no mark.
base::Status unmark_verified(Disk& disk, const FoundAttempt& found);
// Marks the checkpoint as poisoned: no job starts from it any more. kInvalidArgument: `reason` is
// not one word of at most kReasonBytesMax.
base::Status mark_poisoned(Disk& disk, const FoundAttempt& found, std::string_view reason);
// Protects the checkpoint from retention, or ends the protection.
base::Status set_pinned(Disk& disk, const FoundAttempt& found, bool pinned);

struct Pruned {
  std::vector<AttemptId> removed;
  std::vector<std::string> notes;  // why nothing, or less than expected, was removed
};

// Removes old checkpoints. directories.front() is the home.
//
// First verifies checkpoints from the newest down until `keep` (at least 1) are verified or one is
// damaged. Then removes the checkpoints that are older than the `keep` newest verified ones, except
// pinned ones and ones whose manifest cannot be read. Poisoned checkpoints, and those on disks of
// single machines, do not count towards `keep`. A checkpoint on disks of single machines is removed
// as soon as one newer checkpoint counts. Uncommitted attempts are removed if their generation is
// lower than `fence` (nullopt: the generation in FENCE).
//
// Once a directory does not answer or cannot be listed, nothing more is removed, because that
// directory would later show attempts whose other parts have been removed. kTimeout: the home's
// lock was held for all of `lock_patience`.
base::Result<Pruned> prune(Disk& disk, std::span<const std::string> directories, std::size_t keep,
                           std::optional<std::uint64_t> fence = {},
                           std::chrono::milliseconds patience = kPatience,
                           std::chrono::milliseconds lock_patience = kLockPatience);

// The directories with the home first: the one in which a generation was admitted or a checkpoint
// committed. Unchanged if no directory shows that; a directory that does not answer shows nothing.
[[nodiscard]] std::vector<std::string> home_first(std::span<const std::string> directories,
                                                  std::chrono::milliseconds patience = kPatience);

}  // namespace robustrun::checkpoint
