#pragma once
// Which files, and which parts of them, a program reads before its first step, in the order of the
// first touch. Pure; docs/formats/hot-profile.md defines the format.
//
// The idea, to record one start so that later ones can read ahead, comes from Bootseer's "hot block
// record and prefetch" (arXiv 2507.12619, section 1) and overlaybd's trace.

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
  // Size and modification time when recorded: if they differ now, the file has changed.
  std::uint64_t size = 0;  // bytes
  std::int64_t mtime_ns = 0;  // Unix time
  std::uint32_t missed = 0;  // how many recordings in a row did not contain the file
  std::vector<HotRange> ranges;  // ascending, disjoint; empty: the whole file
  bool operator==(const HotFile&) const = default;
};

struct HotProfile {
  std::int64_t made_s = 0;  // Unix time
  std::vector<HotFile> files;
  bool operator==(const HotProfile&) const = default;
};

// Number of bytes that the profile covers.
[[nodiscard]] std::uint64_t hot_bytes(const HotProfile& profile);

// Skips files whose path the format cannot represent (one with a line break).
[[nodiscard]] std::string encode_profile(const HotProfile& profile);
// Checks everything. kCorrupt: incomplete or wrong; if a file is wrong, the text has its number.
// kLimit: longer than kProfileBytesMax.
[[nodiscard]] base::Result<HotProfile> decode_profile(std::string_view text);

// `newest`, followed by the files that only `before` has. A file is dropped when kMissedMax
// recordings in a row lack it; `newest` is the last of them. At most kHotFilesMax files in all.
// Files of earlier recordings are kept because runs differ a little, and an unneeded file costs
// less than a missing one.
[[nodiscard]] HotProfile merge_profiles(HotProfile newest, const HotProfile& before);

// The path of a compiled Python module's source, which an import checks first (PEP 3147:
// DIR/NAME.py for DIR/__pycache__/NAME.TAG.pyc). Empty for other paths.
[[nodiscard]] std::string source_of(std::string_view path);

// The bytes of one read, at most kPieceBytes.
struct HotPiece {
  std::size_t file = 0;  // index into the profile's files
  HotRange range;
  bool operator==(const HotPiece&) const = default;
};
// All pieces of a profile, in its order.
[[nodiscard]] std::vector<HotPiece> pieces_of(const HotProfile& profile);

}  // namespace robustrun::bootstrap
