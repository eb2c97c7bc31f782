#pragma once
// A folder of code as one blob, the same bytes for the same content, and the folder again from it
// (docs/formats/code-pack.md). What is packed is a copy with its manifest (base/io/code_tree.h).
//
// A pack comes from another machine: nothing of it is written before all of it is checked, nothing
// of it is written but files, folders and links below the new folder, and no link in it leads out.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::bootstrap {

struct PackedFile {
  std::string_view path;  // below the folder
  unsigned mode = 0;  // of a file: 0400 and what more of 0700 it has
  std::string_view bytes;  // of a file
  std::string_view target;  // of a link; empty: it is a file
};

// Reads the files that the manifest names below `folder`: blocks.
[[nodiscard]] base::Result<std::string> pack_code(const std::string& folder,
                                                  std::string_view manifest);

// What is in a pack, in its order; views into it. kProtocol: it is none, or names what must not be
// written. Pure.
[[nodiscard]] base::Result<std::vector<PackedFile>> parse_code_pack(std::string_view pack);
[[nodiscard]] base::Result<std::string> code_manifest(std::string_view pack);

// Makes the folder, which must not be there, with all of it. Blocks. What was made before an error
// stays.
base::Status unpack_code(const std::vector<PackedFile>& files, const std::string& folder);

}  // namespace robustrun::bootstrap
