#pragma once
// Packs a folder of code and its manifest (base/io/code_tree.h) into one blob and unpacks it again
// (docs/formats/code-pack.md). The same content gives the same bytes.
//
// A pack comes from another machine and is not trusted. Nothing is written before the whole pack is
// checked. Only files, folders and links below the new folder are written, and no link leads out of
// the folder.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::bootstrap {

struct PackedFile {
  std::string_view path;  // below the folder
  unsigned mode = 0;  // of a file: bits of 0700
  std::string_view bytes;  // of a file
  std::string_view target;  // of a link; empty: a file
};

// Reads the files below `folder` that the manifest names. Blocks. kInvalidArgument: in a link's
// target, ".." follows another component ("a/..").
[[nodiscard]] base::Result<std::string> pack_code(const std::string& folder,
                                                  std::string_view manifest);

// The files and links of a pack, in its order, as views into `pack`. kProtocol: not a valid pack,
// or it names a path that must not be written. Pure.
[[nodiscard]] base::Result<std::vector<PackedFile>> parse_code_pack(std::string_view pack);
[[nodiscard]] base::Result<std::string> code_manifest(std::string_view pack);

// Creates `folder`, which must not exist, with all the files. Blocks. After an error, what was
// created remains.
base::Status unpack_code(const std::vector<PackedFile>& files, const std::string& folder);

}  // namespace robustrun::bootstrap
