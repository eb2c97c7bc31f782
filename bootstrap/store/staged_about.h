#pragma once
// What nodes tell each other of a file that is staged: which blob it is, and who read that. It goes
// from peer to peer as a block of a name made of the file's path (docs/formats/bulk.md). Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "bootstrap/store/blob.h"

namespace robustrun::bootstrap {

inline constexpr std::uint64_t kAboutBlock = UINT64_MAX;  // its number

struct StagedAbout {
  Blob blob;
  base::NodeId reader;  // can read the file itself
};

// The name under which a file's StagedAbout is asked for; of the path as the user wrote it.
[[nodiscard]] std::string staged_name(std::string_view path);

[[nodiscard]] std::string to_text(const StagedAbout& about);
// kProtocol: it is none, or names an impossible blob.
[[nodiscard]] base::Result<StagedAbout> parse_staged_about(std::string_view text);

// A block of the file at `path`, which must still be that blob: kConflict when it has changed.
// Blocks as long as its file system does.
[[nodiscard]] base::Result<std::string> read_staged_block(const std::string& path, const Blob& blob,
                                                          std::uint64_t block);

}  // namespace robustrun::bootstrap
