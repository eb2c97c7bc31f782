#pragma once
// Makes a profile from what workers read: which of these files, and which parts, are worth reading
// ahead. Blocks as long as their file systems do.

#include <cstdint>
#include <vector>

#include "bootstrap/hot/hot_profile.h"
#include "bootstrap/hot/touched_files.h"

namespace robustrun::bootstrap {

// Only regular files count, each once even under several names. Files of file systems in memory
// (tmpfs) do not count; with `shared_only`, those on local disks do not either. Of files of
// kResidentFrom bytes and more, only the parts in the page cache count. If those cannot be queried,
// the whole file counts, unless it is longer than kWholeMappedMax (if it was mapped) or
// kWholeReadMax (if not). `now_s`: Unix time.
[[nodiscard]] HotProfile record_profile(const std::vector<TouchedFile>& touched, bool shared_only,
                                        std::int64_t now_s);

}  // namespace robustrun::bootstrap
