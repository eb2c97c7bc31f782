#pragma once
// All that an environment is to be made of: the named file, the files it names, and the content of
// packages that lie on this machine. Reads them: blocks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::bootstrap {

enum class DepsKind : std::uint8_t {
  kRequirements,  // pip's, by any name that ends with .txt or .in
  kUvLock,        // uv.lock, with the pyproject.toml beside it
  kPyproject,     // the dependencies of that project
  kConda,         // environment.yml
  kCommand,       // none: --setup-cmd
};

// By the file's name; kInvalidArgument with a cause for others.
[[nodiscard]] base::Result<DepsKind> deps_kind(std::string_view path);
[[nodiscard]] std::string_view word_for(DepsKind kind);

struct SnapshotInputs {
  std::string digest;   // SHA-256 in hex, of what docs/formats/snapshot-key.md says
  bool pinned = true;   // the same inputs make the same environment for ever
  // Of kRequirements: the same as one file with absolute paths, nothing editable in it. A copy of
  // an editable package is right here: it has another key as soon as its files change.
  std::string requirements{};
  bool has_local = false;  // packages of this machine are among them
  // Of kCommand: more than `digest` tells may come from the folder in which it runs.
  bool needs_directory = false;
};

// `path`: absolute; empty for kCommand, which has `command`. `working_directory`: to which pip's
// relative paths are (those that are not there are taken from the folder of the file that names
// them). Errors are whole sentences: what is missing, too much (limits.h) or no such syntax.
[[nodiscard]] base::Result<SnapshotInputs> gather_inputs(
    DepsKind kind, const std::string& path, const std::string& working_directory,
    const std::vector<std::string>& command = {});

}  // namespace robustrun::bootstrap
