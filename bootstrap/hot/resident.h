#pragma once
// Tells which parts of a file are in the page cache: after a cold start, the parts that the start
// has read. Blocks as long as the file system does.
//
// Uses mincore(2) on a mapping that is never read. The result is somewhat more than a process
// needs, because the kernel also reads around the pages that a process touches.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/hot/hot_profile.h"

namespace robustrun::bootstrap {

// Resident ranges of the open file `fd` of `size` bytes; gaps up to kRangeGapMax are included.
// nullopt: unknown, or more than kHotRangesMax ranges. Always unknown for files of other users
// unless this is root, because mincore(2) reports all their pages as resident.
[[nodiscard]] std::optional<std::vector<HotRange>> resident_ranges(int fd, std::uint64_t size);

}  // namespace robustrun::bootstrap
