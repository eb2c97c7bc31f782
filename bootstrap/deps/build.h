#pragma once
// Plans how to install an environment into a folder, and how programs see it afterwards: argument
// vectors and environment variables. Pure; agent/deps/node_snapshot.h runs the programs, without a
// shell.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "bootstrap/deps/inputs.h"

namespace robustrun::bootstrap {

// Tools that an installation may use; empty: not on this machine.
struct BuildTools {
  std::string interpreter;
  std::string uv;
  std::string conda;  // conda, mamba or micromamba
};

struct BuildPlan {
  DepsKind kind = DepsKind::kRequirements;
  std::string deps;  // the file given by --deps, absolute
  std::vector<std::string> command;  // --setup-cmd
  std::string tree;  // the empty folder to install into
  std::string requirements;  // path of the list to install; a step may write it; beside the tree
  bool has_local = false;  // SnapshotInputs::has_local
};

struct BuildStep {
  std::string program;  // shown to users: "pip", "uv"
  std::vector<std::string> argv;  // argv[0] is absolute, or found on PATH
  std::vector<std::string> environment;  // NAME=VALUE in addition to the workers'
  std::string working_directory{};  // empty: the workers'
};

// The steps in order; each must end with exit code 0. kNotFound: a tool is missing; the text is a
// whole sentence that says what to install.
[[nodiscard]] base::Result<std::vector<BuildStep>> plan_build(const BuildPlan& plan,
                                                              const BuildTools& tools);

// Packs the tree into one squashfs file with zstd, all owned by root. Equal files with equal times
// give equal bytes.
[[nodiscard]] std::vector<std::string> squash_argv(const std::string& mksquashfs,
                                                   const std::string& tree,
                                                   const std::string& file);
// Unpacks into a folder that exists.
[[nodiscard]] std::vector<std::string> unsquash_argv(const std::string& unsquashfs,
                                                     const std::string& file,
                                                     const std::string& tree);

// What a tree contains that workers must see. Paths are within it.
struct TreeFacts {
  bool has_bin = false;
  bool has_lib_packages = false;  // lib/pythonX.Y/site-packages
  bool is_conda = false;  // has its own interpreter
  bool has_path_files = false;  // has .pth files beside the packages
};

// Variables for the workers. The tree's folders come first in PATH and PYTHONPATH, before those in
// `environment`. ROBUSTRUN_PREFIX is the tree; ROBUSTRUN_SITE lists folders whose .pth files count.
// `minor`: the version of Python, such as 3.11.
[[nodiscard]] std::vector<std::string> tree_environment(
    const std::string& tree, const TreeFacts& facts, const std::string& minor,
    const std::vector<std::string>& environment);

}  // namespace robustrun::bootstrap
