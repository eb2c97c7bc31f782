#pragma once
// Which parts of a file are in the page cache now, that is, what a cold start has read of it.
// Blocks as long as the file system does.
//
// Uses mincore(2) on a mapping that is never read. The kernel gives true answers only for files
// that the caller owns (for others it reports everything as resident), so it is not asked about
// others. The kernel reads around what a process touches, so the result is somewhat more than the
// process needs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/hot/hot_profile.h"

namespace robustrun::bootstrap {

// Resident ranges of the open file `fd` of `size` bytes; gaps up to kRangeGapMax are included.
// nullopt: unknown, or more than kHotRangesMax ranges.
[[nodiscard]] std::optional<std::vector<HotRange>> resident_ranges(int fd, std::uint64_t size);

}  // namespace robustrun::bootstrap
