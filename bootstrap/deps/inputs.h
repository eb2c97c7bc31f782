#pragma once
// Gathers everything an environment is made of: the named file, the files that it names, and the
// content of local packages. Reads them all: blocks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::bootstrap {

enum class DepsKind : std::uint8_t {
  kRequirements,  // pip's; any name that ends with .txt or .in
  kUvLock,        // uv.lock, with the pyproject.toml beside it
  kPyproject,     // the dependencies of that project
  kConda,         // environment.yml; any name that ends with .yml or .yaml
  kCommand,       // no file: --setup-cmd
};

// The kind by the file's name; kInvalidArgument with the cause for other names.
[[nodiscard]] base::Result<DepsKind> deps_kind(std::string_view path);
[[nodiscard]] std::string_view word_for(DepsKind kind);

struct SnapshotInputs {
  std::string digest;  // SHA-256 in hex, defined in docs/formats/snapshot-key.md
  bool pinned = true;  // equal inputs always give the same environment
  // kRequirements: the same requirements as one list with absolute paths. Editable packages are
  // listed as ordinary ones, so they are copied into the snapshot. The copy is never stale: when
  // the package's files change, the snapshot's key changes.
  std::string requirements{};
  bool has_local = false;  // some packages are local
  // kCommand: the result may depend on more in the working directory than `digest` covers.
  bool needs_directory = false;
};

// `path`: absolute; empty for kCommand, which has `command`. `working_directory`: of kRequirements
// and kCommand, the base of the relative paths of packages; of kRequirements, one that is missing
// there is taken from the folder of the file that names it. The other kinds use the folder of
// `path`. Errors are whole sentences: a missing file, too much data (store/limits.h) or a syntax
// error.
[[nodiscard]] base::Result<SnapshotInputs> gather_inputs(
    DepsKind kind, const std::string& path, const std::string& working_directory,
    const std::vector<std::string>& command = {});

}  // namespace robustrun::bootstrap
