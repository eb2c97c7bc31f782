#pragma once
// Finds the local files and folders that a project, a lock file, a conda file or a command names,
// so that their content becomes part of a snapshot's key. Pure: does not check that they exist.
//
// The parsers of TOML and YAML are not complete: if a text is wrongly taken for a path, the key
// only changes too often. Paths are as written, relative to the folder of the file.

#include <string>
#include <string_view>
#include <vector>

namespace robustrun::bootstrap {

// Sources in a pyproject.toml.
struct ProjectSources {
  std::vector<std::string> paths;  // [tool.uv.sources], and "name @ file:…" anywhere
  std::vector<std::string> members;  // patterns in [tool.uv.workspace]
  bool needs_workspace = false;  // a source is `workspace = true`: another member of the workspace
};
[[nodiscard]] ProjectSources project_sources(std::string_view text);

// Sources in a uv.lock, without the project itself.
[[nodiscard]] std::vector<std::string> lock_sources(std::string_view text);

// Requirement lines below "pip:" in an environment.yml.
[[nodiscard]] std::vector<std::string> conda_pip_lines(std::string_view text);

// Sources among the words of a command.
struct CommandSources {
  std::vector<std::string> lines;  // requirement lines: what the command passes to pip or uv
  std::vector<std::string> candidates;  // words that may name files or folders
  bool is_known = false;  // the command is only pip or uv, and `lines` has all that it installs
};
[[nodiscard]] CommandSources command_sources(const std::vector<std::string>& words);

}  // namespace robustrun::bootstrap
