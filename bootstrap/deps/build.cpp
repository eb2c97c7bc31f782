#include "bootstrap/deps/build.h"

#include <string_view>
#include <utility>

#include "base/core/text_template.h"

namespace robustrun::bootstrap {
namespace {

using base::Errc;
using Steps = std::vector<BuildStep>;

// Prints the dependencies of a pyproject.toml, one per line, for any version of pip.
constexpr const char* kProjectList =
    "import sys, tomllib\n"
    "with open(sys.argv[1], 'rb') as file:\n"
    "    project = tomllib.load(file).get('project', {})\n"
    "with open(sys.argv[2], 'w') as out:\n"
    "    out.writelines(line + '\\n' for line in project.get('dependencies', []))\n";

BuildStep pip_step(const BuildPlan& plan, const BuildTools& tools) {
  return {"pip",
          {tools.interpreter, "-m", "pip", "install", "--target", plan.tree, "--no-input",
           "--disable-pip-version-check", "--no-warn-script-location", "--progress-bar", "off",
           "--requirement", plan.requirements},
          // --user or --prefix in the user's pip settings would contradict --target, and modules of
          // the job must not shadow pip's.
          {"PIP_USER=0", "PIP_PREFIX=", "PIP_REQUIRE_VIRTUALENV=0", "PYTHONSAFEPATH=1"}};
}

BuildStep uv_step(const BuildPlan& plan, const BuildTools& tools, const std::string& from) {
  BuildStep step{"uv",
                 {tools.uv, "pip", "install", "--target", plan.tree, "--python", tools.interpreter,
                  "--no-progress", "--compile-bytecode", "--requirement", from},
                 // Copies, because workers' writes must not reach uv's cache; nothing editable,
                 // because a snapshot must not refer to folders outside of it.
                 {"UV_LINK_MODE=copy", "UV_NO_EDITABLE=1"},
                 {}};
  // uv identifies a local package by the time of its pyproject.toml, not by its content.
  if (plan.has_local) step.argv.emplace_back("--no-cache");
  return step;
}

base::Result<Steps> requirements_steps(const BuildPlan& plan, const BuildTools& tools) {
  if (!tools.uv.empty()) return Steps{uv_step(plan, tools, plan.requirements)};
  return Steps{pip_step(plan, tools)};
}

base::Result<Steps> project_steps(const BuildPlan& plan, const BuildTools& tools) {
  if (!tools.uv.empty()) return Steps{uv_step(plan, tools, plan.deps)};
  BuildStep list{
      "python", {tools.interpreter, "-c", kProjectList, plan.deps, plan.requirements}, {}};
  return Steps{std::move(list), pip_step(plan, tools)};
}

base::Result<Steps> lock_steps(const BuildPlan& plan, const BuildTools& tools) {
  if (tools.uv.empty()) {
    return base::fail(Errc::kNotFound, "cannot install " + plan.deps +
                                           ": this needs uv, which is not on PATH; install it, or "
                                           "use `uv export` once and name its requirements.txt");
  }
  const std::string folder = plan.deps.substr(0, plan.deps.rfind('/'));
  BuildStep list{"uv",
                 {tools.uv, "export", "--frozen", "--no-dev", "--no-emit-project", "--no-editable",
                  "--no-progress", "--quiet", "--project", folder, "--python", tools.interpreter,
                  "--output-file", plan.requirements},
                 {}};
  BuildStep install = uv_step(plan, tools, plan.requirements);
  install.working_directory = folder;  // the paths in the list are relative to it
  return Steps{std::move(list), std::move(install)};
}

base::Result<Steps> conda_steps(const BuildPlan& plan, const BuildTools& tools) {
  if (tools.conda.empty()) {
    return base::fail(Errc::kNotFound,
                      "cannot install " + plan.deps +
                          ": neither micromamba, mamba nor conda is on PATH; install one of them, "
                          "or name a requirements.txt");
  }
  const bool is_micromamba = tools.conda.ends_with("/micromamba");
  std::vector<std::string> argv = {tools.conda};
  if (!is_micromamba) argv.emplace_back("env");
  for (const char* word : {"create", "--yes", "--prefix"}) argv.emplace_back(word);
  argv.push_back(plan.tree);
  argv.emplace_back("--file");
  argv.push_back(plan.deps);
  return Steps{{"conda", std::move(argv), {}}};
}

// Everything that the command installs with pip goes into the tree.
base::Result<Steps> command_steps(const BuildPlan& plan) {
  const base::TemplateValue values[] = {{"ROBUSTRUN_PREFIX", plan.tree}};
  BuildStep step{plan.command.front(), {}, {}};
  for (const std::string& word : plan.command) {
    step.argv.push_back(base::substitute(word, values));
  }
  step.environment = {"ROBUSTRUN_PREFIX=" + plan.tree,
                      "PIP_TARGET=" + plan.tree,
                      "PIP_USER=0",
                      "PIP_PREFIX=",
                      "PIP_NO_INPUT=1",
                      "PYTHONUSERBASE=" + plan.tree};
  return Steps{std::move(step)};
}

const std::string* value_in(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return &entry;
    }
  }
  return nullptr;
}

std::string in_front(const std::string& own, std::string_view name,
                     const std::vector<std::string>& environment) {
  std::string entry = std::string(name) + "=" + own;
  const std::string* before = value_in(environment, name);
  if (before != nullptr && before->size() > name.size() + 1) {
    entry += ":" + before->substr(name.size() + 1);
  }
  return entry;
}

}  // namespace

base::Result<Steps> plan_build(const BuildPlan& plan, const BuildTools& tools) {
  RR_ASSERT(plan.tree.starts_with('/'));
  switch (plan.kind) {
    case DepsKind::kRequirements: return requirements_steps(plan, tools);
    case DepsKind::kPyproject: return project_steps(plan, tools);
    case DepsKind::kUvLock: return lock_steps(plan, tools);
    case DepsKind::kConda: return conda_steps(plan, tools);
    case DepsKind::kCommand: return command_steps(plan);
  }
  return Steps{};
}

std::vector<std::string> squash_argv(const std::string& mksquashfs, const std::string& tree,
                                     const std::string& file) {
  return {mksquashfs,   tree,        file,         "-comp", "zstd",   "-noappend",
          "-no-xattrs", "-all-root", "-mkfs-time", "0",     "-quiet", "-no-progress"};
}

std::vector<std::string> unsquash_argv(const std::string& unsquashfs, const std::string& file,
                                       const std::string& tree) {
  return {unsquashfs, "-force", "-no-xattrs", "-quiet", "-no-progress", "-dest", tree, file};
}

std::vector<std::string> tree_environment(const std::string& tree, const TreeFacts& facts,
                                          const std::string& minor,
                                          const std::vector<std::string>& environment) {
  std::vector<std::string> own = {"ROBUSTRUN_PREFIX=" + tree};
  if (facts.has_bin) own.push_back(in_front(tree + "/bin", "PATH", environment));
  if (facts.is_conda) {
    own.push_back("CONDA_PREFIX=" + tree);
    return own;
  }
  std::string packages = tree;
  if (facts.has_lib_packages) packages += ":" + tree + "/lib/python" + minor + "/site-packages";
  own.push_back(in_front(packages, "PYTHONPATH", environment));
  if (facts.has_path_files) own.push_back("ROBUSTRUN_SITE=" + packages);
  return own;
}

}  // namespace robustrun::bootstrap
