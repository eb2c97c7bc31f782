#pragma once
// Repairs a committed checkpoint: damaged or missing files are rebuilt from parity, and copies of
// the manifest are rewritten.
//
// A file is written beside the damaged one and renamed over it, so a crash loses nothing. Sound
// files are not touched, and only verified bytes are written.

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/mount_threads.h"
#include "checkpoint/store/catalog.h"

namespace robustrun::checkpoint {

struct Repaired {
  std::vector<std::string> done;  // one sentence per file
  std::vector<std::string> lost;  // what cannot be repaired, and why
};

// `directories`: the store's. A missing file goes to its original directory if that is among them,
// else to the one with the most room. If a directory does not answer within the patience, no
// replacement is written for files that may be there: they count as lost and are reported. Errors
// are those of the disk.
base::Result<Repaired> repair(Disk& disk, const FoundAttempt& found,
                              std::span<const std::string> directories,
                              std::chrono::milliseconds patience = kPatience);

}  // namespace robustrun::checkpoint
