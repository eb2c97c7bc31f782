#pragma once
// Gathers everything from which an environment is made: the file that the user named, the files
// that this file names, and the content of local packages. Reads them all, so it blocks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::bootstrap {

enum class DepsKind : std::uint8_t {
  kRequirements,  // pip's requirements file; any name that ends with .txt or .in
  kUvLock,        // uv.lock, with the pyproject.toml beside it
  kPyproject,     // pyproject.toml: the dependencies of the project
  kConda,         // environment.yml; any name that ends with .yml or .yaml
  kCommand,       // no file: --setup-cmd
};

// The kind, by the file's name. kInvalidArgument: another name; the text has only the cause.
[[nodiscard]] base::Result<DepsKind> deps_kind(std::string_view path);
[[nodiscard]] std::string_view word_for(DepsKind kind);

struct SnapshotInputs {
  std::string digest;  // SHA-256 in hex, defined in docs/formats/snapshot-key.md
  bool pinned = true;  // equal inputs always give the same environment
  // kRequirements: the same requirements as one list with absolute paths. Editable packages are
  // listed as ordinary ones, so that they are copied into the snapshot. When the package's files
  // change, the snapshot's key changes, so the copy is never stale.
  std::string requirements{};
  bool has_local = false;  // some packages are local
  // kCommand: the result may depend on more in the working directory than `digest` covers.
  bool needs_directory = false;
};

// `path`: absolute; empty for kCommand, which has `command` instead. For kRequirements and
// kCommand, relative paths of packages are relative to `working_directory` or, if there is no such
// package, to the folder of the file that names it. For the other kinds, they are relative to the
// folder of `path`. Errors: a missing file, too much data (store/limits.h) or a syntax error; the
// text is a whole sentence.
[[nodiscard]] base::Result<SnapshotInputs> gather_inputs(
    DepsKind kind, const std::string& path, const std::string& working_directory,
    const std::vector<std::string>& command = {});

}  // namespace robustrun::bootstrap
