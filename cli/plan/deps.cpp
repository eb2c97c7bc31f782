#include "cli/plan/deps.h"

#include <string>

#include "agent/deps/limits.h"
#include "bootstrap/deps/inputs.h"
#include "cli/options/command_words.h"

namespace robustrun::cli {

base::Status plan_deps(const Settings& settings, const Surroundings& around,
                       supervisor::RunRequest& request) {
  wire::WorkerTemplate& workers = request.workers;
  const bool has_file = settings.has(OptionId::kDeps);
  const bool has_command = settings.has(OptionId::kSetupCmd);
  if (!has_file && !has_command) return {};
  const OptionId given = has_file ? OptionId::kDeps : OptionId::kSetupCmd;
  if (has_file && has_command) {
    return cannot_use(settings, OptionId::kSetupCmd,
                      "not together with --deps; let the command install everything, or use --deps "
                      "alone");
  }
  using wire::ContainerRuntime;
  if (!workers.image.empty() && (workers.container == ContainerRuntime::kApptainer ||
                                 workers.container == ContainerRuntime::kEnroot)) {
    return cannot_use(settings, given,
                      "with apptainer or enroot (--container-runtime) dependencies must be part of "
                      "the image; bwrap supports both");
  }
  if (workers.cache_directory.empty()) {
    return cannot_use(settings, given,
                      "there is no folder for it: HOME is not set; name one with "
                      "--cache-dir");
  }
  if (has_file) {
    const std::string path = settings.text(OptionId::kDeps);
    if (workers.mode == wire::LaunchMode::kExecutable) {
      return cannot_use(settings, given,
                        "with --no-python the interpreter is unknown; use --setup-cmd");
    }
    if (const auto kind = bootstrap::deps_kind(path); !kind) {
      return cannot_use(settings, given, kind.error().what);
    }
    workers.deps = path.starts_with('/') ? path : around.working_directory + "/" + path;
    const PathKind there = around.machine->kind(workers.deps);
    if (there != PathKind::kFile) {
      return cannot_use(settings, given, base::Errc::kNotFound,
                        there == PathKind::kUnreadableFile ? "it cannot be read"
                        : there == PathKind::kMissing      ? "there is no such file"
                                                           : "not a regular file");
    }
  } else {
    auto words = command_words(settings.text(OptionId::kSetupCmd));
    if (!words) return cannot_use(settings, given, words.error().what);
    workers.setup_command = *std::move(words);
  }
  workers.deps_ttl = settings.duration(OptionId::kDepsTtl).value_or(base::Nanos::zero());
  workers.share_blocks = true;  // nodes without the snapshot get it from peers
  request.spec.deadlines.workers_started += agent::kInstallMax;
  return {};
}

}  // namespace robustrun::cli
