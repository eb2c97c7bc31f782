#pragma once
// Which parts of a file are in the page cache now: what a cold start has read of it. Blocks as long
// as the file system does.
//
// By mincore(2) on a mapping that is never read. The kernel tells that truly of files alone that
// the caller owns (of others it says that all is there), so others are not asked
// about. The kernel reads around what a process touches, so this is somewhat more than it needs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/hot/hot_profile.h"

namespace robustrun::bootstrap {

// Of the open file `fd` with `size` bytes; runs with gaps up to kRangeGapMax are one. Nothing: it
// cannot be said, or there are more than kHotRangesMax runs.
[[nodiscard]] std::optional<std::vector<HotRange>> resident_ranges(int fd, std::uint64_t size);

}  // namespace robustrun::bootstrap
