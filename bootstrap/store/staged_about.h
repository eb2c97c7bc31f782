#pragma once
// What nodes tell each other about a staged file: which blob it is, and which node can read it.
// Nodes request this description from each other like a block, under a name made from the file's
// path (docs/formats/bulk.md). Pure, except read_staged_block().

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "bootstrap/store/blob.h"

namespace robustrun::bootstrap {

inline constexpr std::uint64_t kAboutBlock = UINT64_MAX;  // the block number of a StagedAbout

struct StagedAbout {
  Blob blob;
  base::NodeId reader;  // a node that can read the file itself
};

// The name under which a file's StagedAbout is requested; `path` as the user wrote it.
[[nodiscard]] std::string staged_name(std::string_view path);

[[nodiscard]] std::string to_text(const StagedAbout& about);
// kProtocol: malformed, or it describes an impossible blob.
[[nodiscard]] base::Result<StagedAbout> parse_staged_about(std::string_view text);

// Reads a block of the file at `path`. kConflict: the file is not `blob` any more. Blocks as long
// as the file system does.
[[nodiscard]] base::Result<std::string> read_staged_block(const std::string& path, const Blob& blob,
                                                          std::uint64_t block);

}  // namespace robustrun::bootstrap
