#include "cli/plan_startup.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "cli/limits.h"
#include "cli/values.h"

namespace robustrun::cli {
namespace {

std::string cache_folder(const std::string& asked, const Surroundings& around) {
  if (asked != "auto") {
    return asked.starts_with('/') ? asked : around.working_directory + "/" + asked;
  }
  // Relative ones do not count (XDG Base Directory Specification 0.8).
  const std::string caches = around.variable("XDG_CACHE_HOME").value_or("");
  if (caches.starts_with('/')) return caches + "/robustrun";
  const std::string home = around.variable("HOME").value_or("");
  return home.starts_with('/') ? home + "/.cache/robustrun" : "";
}

// Whether they are there, each node finds out: it need not be this one that can read them.
base::Status plan_stage(const Settings& settings, const Surroundings& around,
                        wire::WorkerTemplate& workers) {
  std::set<std::string> names;
  for (std::string path : parse_filters(settings.text(OptionId::kStage))) {
    if (!path.starts_with('/')) path = around.working_directory + "/" + path;
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
  workers.share_blocks = !workers.stage.empty();
  return {};
}

}  // namespace

base::Status plan_startup(const Settings& settings, const Surroundings& around,
                          wire::WorkerTemplate& workers) {
  workers.cache_directory = cache_folder(settings.text(OptionId::kCacheDir), around);
  const std::string prefetch = settings.text(OptionId::kPrefetch);
  RR_TRY(plan_stage(settings, around, workers));
  if (prefetch == "off" || workers.cache_directory.empty()) return {};
  workers.prefetch = prefetch == "on" ? wire::PrefetchMode::kOn : wire::PrefetchMode::kAuto;
  return {};
}

}  // namespace robustrun::cli
