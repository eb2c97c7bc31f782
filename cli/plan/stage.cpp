#include "cli/plan/stage.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "cli/options/limits.h"
#include "cli/options/values.h"

namespace robustrun::cli {

// Each node checks the files itself: this one need not be able to read them.
base::Status plan_stage(const Settings& settings, const Surroundings& around,
                        wire::WorkerTemplate& workers) {
  std::set<std::string> names;
  for (std::string path : parse_filters(settings.text(OptionId::kStage))) {
    if (!path.starts_with('/')) path.insert(0, around.working_directory + "/");
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.empty() || name == "." || name == "..") {
      return cannot_use(settings, OptionId::kStage, fmt::format("{} is not a file", path));
    }
    if (!names.insert(name).second) {
      return cannot_use(
          settings, OptionId::kStage,
          fmt::format("two files have the name {}, by which workers find them", name));
    }
    workers.stage.push_back(std::move(path));
  }
  if (workers.stage.size() > kStagedFilesMax) {
    return cannot_use(settings, OptionId::kStage,
                      fmt::format("more than {} files", kStagedFilesMax));
  }
  const bool has_code = settings.has(OptionId::kSyncCode);
  if ((has_code || !workers.stage.empty()) && workers.cache_directory.empty()) {
    return cannot_use(settings, has_code ? OptionId::kSyncCode : OptionId::kStage,
                      "there is no folder for the copies; name one with --cache-dir");
  }
  const bool has_blocks = !workers.image.empty() && workers.image_mode == wire::ImageMode::kBlocks;
  workers.share_blocks = has_blocks || has_code || !workers.stage.empty();
  return {};
}

base::Result<std::string> plan_sync_code(const Settings& settings, const Surroundings& around,
                                         bool is_single_command) {
  if (!settings.has(OptionId::kSyncCode)) return "";
  if (!is_single_command) {
    return cannot_use(settings, OptionId::kSyncCode,
                      "with torchrun's rendezvous every node has its own command and code; "
                      "name the nodes with --hosts");
  }
  std::string path = settings.text(OptionId::kSyncCode);
  if (!path.starts_with('/')) path.insert(0, around.working_directory + "/");
  const PathKind there = around.machine->kind(path);
  if (there == PathKind::kDirectory) return path;
  return cannot_use(settings, OptionId::kSyncCode, base::Errc::kNotFound,
                    there == PathKind::kMissing ? "there is no such folder" : "not a folder");
}

}  // namespace robustrun::cli
