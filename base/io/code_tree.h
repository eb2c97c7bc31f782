#pragma once
// A folder of code, copied so that it stays as it was, and known again on another machine.
//
// The copy has a manifest: a line per file ("f MODE SHA256 PATH") and symbolic link ("l TARGET
// NUL PATH"), in order of their paths. Its hash stands for all of it. Files that come later beside
// those (bytecode, notes of a script) are not looked at. Version control's folders, bytecode,
// virtual environments, runs of robustrun, sockets, pipes and links that lead nowhere are left out;
// a link that leads out of the folder is refused: its target would not stay as it was. Blocks; for
// a command or a pool.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::base {

struct CodeCopy {
  std::string manifest;
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

// Copies the folder `from` to `to`, which it makes (0700; its parent must be there). `except`: a
// folder that is left out, too; empty: none. `ignored`: files and folders that are, by their paths
// below `from`. kLimit: more than kCodeFilesMax, kCodeBytesMax or
// kCodeDepthMax; kPermission: something leads out; kInvalidArgument: a name that is no text; kOs.
// What was copied before an error stays.
Result<CodeCopy> copy_code(const std::string& from, const std::string& to,
                           const std::string& except, std::vector<std::string> ignored = {});

// Whether all of the manifest is in the folder, as it was. kNotFound, kConflict, with a sentence.
Status check_code(const std::string& folder, const std::string& manifest);

}  // namespace robustrun::base
