#pragma once
// How an environment is installed into a folder, and what programs see of it afterwards: argument
// vectors and variables. Pure; agent/deps/node_snapshot.h runs them. No shell is involved.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "bootstrap/deps/inputs.h"

namespace robustrun::bootstrap {

// What an installation may use; empty: not on this machine.
struct BuildTools {
  std::string interpreter;
  std::string uv;
  std::string conda;  // conda, mamba or micromamba
};

struct BuildPlan {
  DepsKind kind = DepsKind::kRequirements;
  std::string deps;                  // the named file, absolute
  std::vector<std::string> command;  // --setup-cmd
  std::string tree;                  // empty folder that is filled
  std::string requirements;          // where a list may be written, beside the tree
  bool has_local = false;            // SnapshotInputs::has_local
};

struct BuildStep {
  std::string program;               // for people: "pip", "uv"
  std::vector<std::string> argv;     // argv[0] absolute, or looked for on PATH
  std::vector<std::string> environment;  // NAME=VALUE besides the workers'
  std::string working_directory{};   // empty: the workers'
};

// In order; each must end with 0. kNotFound, a whole sentence: what must be installed.
[[nodiscard]] base::Result<std::vector<BuildStep>> plan_build(const BuildPlan& plan,
                                                              const BuildTools& tools);

// mksquashfs, one file of the tree: zstd, owned by root, and from the same files the same bytes.
[[nodiscard]] std::vector<std::string> squash_argv(const std::string& mksquashfs,
                                                   const std::string& tree,
                                                   const std::string& file);
// The other way round, into a folder that is there.
[[nodiscard]] std::vector<std::string> unsquash_argv(const std::string& unsquashfs,
                                                     const std::string& file,
                                                     const std::string& tree);

// What is in a tree that workers are to see. Paths are within it.
struct TreeFacts {
  bool has_bin = false;
  bool has_lib_packages = false;  // lib/pythonX.Y/site-packages
  bool is_conda = false;          // it has an interpreter of its own
  bool has_path_files = false;    // .pth beside the packages
};

// Variables for the workers, each in front of what `environment` has: PATH, PYTHONPATH;
// ROBUSTRUN_PREFIX is the tree; ROBUSTRUN_SITE are folders whose .pth files count. `minor`: 3.11.
[[nodiscard]] std::vector<std::string> tree_environment(
    const std::string& tree, const TreeFacts& facts, const std::string& minor,
    const std::vector<std::string>& environment);

}  // namespace robustrun::bootstrap
