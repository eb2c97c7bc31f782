#pragma once
// Which files, and which parts of them, a program reads until its first step, in the order in which
// it touches them first. Pure; docs/formats/hot-profile.md is the format.
//
// The idea, a record of one start that the next ones read ahead, is Bootseer's "hot block record
// and prefetch" (arXiv 2507.12619, section 1) and overlaybd's trace; here for plain files.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::bootstrap {

struct HotRange {
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;
  bool operator==(const HotRange&) const = default;
};

struct HotFile {
  std::string path;  // absolute
  std::uint64_t size = 0;  // of the file when it was recorded, as its time of change below:
  std::int64_t mtime_ns = 0;  // another one is another file
  std::uint32_t missed = 0;  // recordings in a row that did not see it
  std::vector<HotRange> ranges;  // ascending, apart; empty: all of it
  bool operator==(const HotFile&) const = default;
};

struct HotProfile {
  std::int64_t made_s = 0;  // Unix time
  std::vector<HotFile> files;
  bool operator==(const HotProfile&) const = default;
};

// Bytes that it asks for.
[[nodiscard]] std::uint64_t hot_bytes(const HotProfile& profile);

// Files whose path the format cannot hold (a line break in it) are left out.
[[nodiscard]] std::string encode_profile(const HotProfile& profile);
// Checks everything; kCorrupt or kLimit, and what is wrong where.
[[nodiscard]] base::Result<HotProfile> decode_profile(std::string_view text);

// `newest` with the files of `before` that it has not seen, behind its own, until they were missed
// kMissedMax times: ranks and runs differ a little, and a file that is read ahead in vain costs
// less than one that is not.
[[nodiscard]] HotProfile merge_profiles(HotProfile newest, const HotProfile& before);

// The source of a compiled Python module, which the import looks at before it takes the compiled
// one (PEP 3147: DIR/__pycache__/NAME.TAG.pyc of DIR/NAME.py); empty for other paths.
[[nodiscard]] std::string source_of(std::string_view path);

// A run of bytes that one read asks for, at most kPieceBytes long.
struct HotPiece {
  std::size_t file = 0;  // index into the profile's files
  HotRange range;
  bool operator==(const HotPiece&) const = default;
};
// All of a profile, in its order.
[[nodiscard]] std::vector<HotPiece> pieces_of(const HotProfile& profile);

}  // namespace robustrun::bootstrap
