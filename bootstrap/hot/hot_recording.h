#pragma once
// Makes a profile of the files that workers read: decides which files, and which parts of them, are
// worth reading ahead. Blocks as long as their file systems do.

#include <cstdint>
#include <vector>

#include "bootstrap/hot/hot_profile.h"
#include "bootstrap/hot/touched_files.h"

namespace robustrun::bootstrap {

// Takes regular files, each once even if it has several names, but none in memory (tmpfs) and, with
// `shared_only`, none on local disks. Of files of kResidentFrom bytes and more, takes only the
// parts that are in the page cache. If these cannot be queried, takes the whole file, unless it is
// longer than kWholeMappedMax (if it was mapped) or kWholeReadMax (if not). `now_s`: Unix time.
[[nodiscard]] HotProfile record_profile(const std::vector<TouchedFile>& touched, bool shared_only,
                                        std::int64_t now_s);

}  // namespace robustrun::bootstrap
