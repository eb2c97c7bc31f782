#include "agent/spawn/worker_version.h"

#include <fmt/core.h>

#include <cerrno>
#include <utility>

#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "agent/spawn/check_program.h"
#include "base/io/code_tree.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"

namespace robustrun::agent {

wire::WorkerTemplate with_version(wire::WorkerTemplate workers,
                                  const wire::WorkerVersion& version) {
  Environment environment(std::move(workers.environment));
  for (const std::string& name : version.unset) environment.unset(name);
  workers.environment = std::move(environment).take();
  overlay_environment(workers.environment, version.environment);
  if (!version.program.empty()) workers.program = version.program;
  if (version.has_arguments) workers.arguments = version.arguments;
  return workers;
}

wire::WorkerTemplate workers_of(const NodeContext& node,
                                const std::optional<wire::WorkerVersion>& version) {
  wire::WorkerTemplate workers =
      version && !node.own_command ? with_version(node.started_with, *version) : node.started_with;
  if (!node.snapshot) return workers;
  const SnapshotView& view = *node.snapshot;
  overlay_environment(
      workers.environment,
      bootstrap::tree_environment(view.tree, view.facts, view.minor, workers.environment));
  if (view.facts.is_conda && !workers.interpreter.empty()) {
    workers.interpreter = view.tree + "/bin/python";
  }
  return workers;
}

base::Status check_version(const wire::WorkerVersion& version) {
  if (version.code_directory.empty()) return {};
  // The list lies beside the folder: docs/operations.md.
  const std::string list = version.code_directory + ".files";
  const auto manifest = base::read_file(list, kCodeListBytesMax);
  base::Status checked;
  if (!manifest) {
    checked = std::unexpected(manifest.error());
  } else if (base::to_hex(base::sha256(*manifest)) != version.code_digest) {
    checked = base::fail(base::Errc::kConflict, list + " is another one");
  } else {
    checked = base::check_code(version.code_directory, *manifest);
  }
  if (checked) return {};
  base::Error error = checked.error();
  error.what = fmt::format(
      "the code of version {} is not on this machine as it was handed in: {}; "
      "`robustrun update --code` needs a run directory that all nodes see",
      version.number, error.what);
  return std::unexpected(std::move(error));
}

base::Status check_start(const wire::WorkerTemplate& workers,
                         const std::optional<wire::WorkerVersion>& version, bool own_command,
                         const WorkerHome& home) {
  if (version && own_command) {
    return base::fail(base::Errc::kPermission,
                      "this machine was started with a command of its own, and starts no other "
                      "version of it");
  }
  if (version) RR_TRY(check_version(*version));
  return check_program(workers, home);
}

}  // namespace robustrun::agent
