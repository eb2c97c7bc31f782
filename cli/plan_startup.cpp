#include "cli/plan_startup.h"

#include <string>

namespace robustrun::cli {

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

void plan_startup(const Settings& settings, const Surroundings& around,
                  wire::WorkerTemplate& workers) {
  workers.cache_directory = cache_folder(settings.text(OptionId::kCacheDir), around);
  const std::string prefetch = settings.text(OptionId::kPrefetch);
  if (prefetch == "off" || workers.cache_directory.empty()) return;
  workers.prefetch = prefetch == "on" ? wire::PrefetchMode::kOn : wire::PrefetchMode::kAuto;
}

}  // namespace robustrun::cli
