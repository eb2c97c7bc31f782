#pragma once
// Copies a folder of code, and checks such a copy on another machine.
//
// The copy has a manifest: one line per file ("f MODE SHA256 PATH") and symbolic link ("l TARGET
// NUL PATH"), ordered by path. The manifest's hash identifies the whole copy. The copy leaves out
// .git, __pycache__, virtual environments, robustrun-runs, devices, sockets, pipes and dangling
// links. A link that leads out of the folder, or by an absolute path, is refused, because the copy
// would not hold its target. Both functions block: call them from commands or a blocking pool.

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

// Copies the folder `from` to `to`, which must not exist (its parent must) and is created with mode
// 0700. `except`: one more folder to leave out; empty: none. `ignored`: files and folders to leave
// out, by path relative to `from`. kLimit: more than kCodeFilesMax, kCodeBytesMax or kCodeDepthMax;
// kPermission: a link is refused; kInvalidArgument: a name has a control character; kOs: a system
// call failed. After an error, what was copied so far stays.
Result<CodeCopy> copy_code(const std::string& from, const std::string& to,
                           const std::string& except, std::vector<std::string> ignored = {});

// Checks that the folder holds everything in the manifest, unchanged. Modes, and files that were
// added later (bytecode, notes of a script), do not count. kNotFound: a file is missing; kConflict:
// a file or link differs, or a link is missing; kCorrupt: the manifest is damaged. Other errors: a
// file cannot be read.
Status check_code(const std::string& folder, const std::string& manifest);

}  // namespace robustrun::base
