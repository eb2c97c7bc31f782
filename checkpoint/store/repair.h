#pragma once
// Repairs a committed checkpoint: damaged or missing files are rebuilt from parity, and copies of
// the manifest are rewritten.
//
// A rebuilt file is written under a temporary name and renamed over the damaged file, so a crash
// loses nothing. Sound files are not touched, and only verified bytes are written.

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

// `found` is committed and was read with Look::kAll. `directories`: the store's. A missing file
// goes to its original directory if that is among them, otherwise to the one with the most room. If
// a directory does not answer within the patience, files that may be there are not replaced but
// reported as lost. Errors: those of the disk; kNotFound: no sound copy of the manifest is readable
// any more.
base::Result<Repaired> repair(Disk& disk, const FoundAttempt& found,
                              std::span<const std::string> directories,
                              std::chrono::milliseconds patience = kPatience);

}  // namespace robustrun::checkpoint
