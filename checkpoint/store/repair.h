#pragma once
// Brings a committed checkpoint back to what its manifest says: files that are damaged or missing
// are put together again from parity, copies of the manifest are written anew.
//
// A file is written beside the damaged one and renamed over it, so a crash loses nothing. Nothing
// that is sound is touched; nothing is written that was not verified.

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
  std::vector<std::string> done;  // a sentence for each file
  std::vector<std::string> lost;  // what cannot be brought back, and why
};

// `directories`: those of the store. A missing file goes to the directory where it was if that is
// among them, else to the one with the most room. While one of them does not answer within the
// patience nothing is written in its stead: what may lie there counts as lost, and that is said.
// Errors: those of the disk.
base::Result<Repaired> repair(Disk& disk, const FoundAttempt& found,
                              std::span<const std::string> directories,
                              std::chrono::milliseconds patience = kPatience);

}  // namespace robustrun::checkpoint
