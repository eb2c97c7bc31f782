#include "cli/plan_stage.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "cli/limits.h"
#include "cli/values.h"

namespace robustrun::cli {

// Whether they are there, each node finds out: it need not be this one that can read them.
base::Status plan_stage(const Settings& settings, const Surroundings& around,
                        wire::WorkerTemplate& workers) {
  std::set<std::string> names;
  for (std::string path : parse_filters(settings.text(OptionId::kStage))) {
    if (!path.starts_with('/')) path.insert(0, around.working_directory + "/");
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.empty() || name == "." || name == "..") {
      return cannot_use(settings, OptionId::kStage, fmt::format("{} is no file", path));
    }
    if (!names.insert(name).second) {
      return cannot_use(
          settings, OptionId::kStage,
          fmt::format("two files are called {}, and workers find them by that", name));
    }
    workers.stage.push_back(std::move(path));
  }
  if (workers.stage.size() > kStagedFilesMax) {
    return cannot_use(settings, OptionId::kStage,
                      fmt::format("these are more than {} files", kStagedFilesMax));
  }
  if (!workers.stage.empty() && workers.cache_directory.empty()) {
    return cannot_use(settings, OptionId::kStage,
                      "there is no folder for the copies; say one with --cache-dir");
  }
  const bool has_blocks = !workers.image.empty() && workers.image_mode == wire::ImageMode::kBlocks;
  workers.share_blocks = has_blocks || !workers.stage.empty();
  return {};
}

}  // namespace robustrun::cli
