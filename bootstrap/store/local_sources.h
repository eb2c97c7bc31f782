#pragma once
// Which files and folders of this machine a project, a lock, a file of conda or a command names, so
// that their content can be part of a snapshot's key. Pure: what is there, nobody looks.
//
// No whole parsers of TOML and YAML: too much that is taken for a file costs a key that changes too
// often, and nothing else. Paths are as written, relative to the folder of the file.

#include <string>
#include <string_view>
#include <vector>

namespace robustrun::bootstrap {

// Of a pyproject.toml.
struct ProjectSources {
  std::vector<std::string> paths;  // [tool.uv.sources], and "name @ file:…" anywhere
  std::vector<std::string> members;  // patterns of [tool.uv.workspace]
  bool needs_workspace = false;  // a source is another member of its workspace
};
[[nodiscard]] ProjectSources project_sources(std::string_view text);

// Of a uv.lock, but for the project itself.
[[nodiscard]] std::vector<std::string> lock_sources(std::string_view text);

// What an environment.yml has below "pip:": lines of requirements.
[[nodiscard]] std::vector<std::string> conda_pip_lines(std::string_view text);

// Of the words of a command.
struct CommandSources {
  std::vector<std::string> lines;  // as in a list of requirements: what it tells pip or uv
  std::vector<std::string> candidates;  // may be files or folders, if there are such
  bool is_known = false;  // it is pip or uv alone, and all that it installs is in `lines`
};
[[nodiscard]] CommandSources command_sources(const std::vector<std::string>& words);

}  // namespace robustrun::bootstrap
