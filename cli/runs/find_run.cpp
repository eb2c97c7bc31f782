#include "cli/runs/find_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/core/text.h"
#include "cli/options/values.h"
#include "cli/placement/places.h"
#include "cli/text/terminal.h"
#include "supervisor/control/client.h"
#include "supervisor/control/file.h"

namespace robustrun::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJournal = "/journal";

std::vector<std::string> runs_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  return names;
}

// The newest run below `folder`. Runs with --compat=torchrun come from any directory, so they do
// not count.
base::Result<std::string> newest(const std::string& folder, const std::string& compat_folder) {
  std::string best;
  fs::file_time_type best_time = fs::file_time_type::min();
  for (const std::string& name : runs_in(folder)) {
    const std::string path = fmt::format("{}/{}{}", folder, name, kJournal);
    std::error_code error;
    const auto time = fs::last_write_time(path, error);
    if (error || (!best.empty() && time <= best_time)) continue;
    best = path;
    best_time = time;
  }
  if (!best.empty()) return best;
  return base::fail(base::Errc::kNotFound,
                    fmt::format("no run below {}; pass a run's directory (runs with "
                                "--compat=torchrun are below {})",
                                folder, compat_folder));
}

// Directories of active runs, newest first.
std::vector<std::string> live_runs(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  for (const std::string& name : runs_in(folder)) {
    const std::string directory = fmt::format("{}/{}", folder, name);
    std::error_code error;
    const auto began = fs::last_write_time(supervisor::control_file(directory), error);
    if (error) continue;
    const auto client = supervisor::ControlClient::connect(directory);
    const bool is_busy = !client && client.error().code == base::Errc::kTimeout;
    if (client || is_busy) found.emplace_back(began, directory);
  }
  std::ranges::sort(found, std::greater{});
  std::vector<std::string> directories;
  for (auto& [began, directory] : found) directories.push_back(std::move(directory));
  return directories;
}

std::vector<std::string> names_of(const std::vector<std::string>& directories) {
  std::vector<std::string> names;
  for (const std::string& directory : directories) names.push_back(fs::path(directory).filename());
  return names;
}

}  // namespace

base::Result<std::string> find_journal(const std::string& run, const Surroundings& around) {
  const std::vector<std::string> folders{runs_folder(around), private_runs_folder(around)};
  if (run.empty()) return newest(folders[0], folders[1]);
  std::vector<std::string> candidates{run.starts_with('/') ? run
                                                           : around.working_directory + "/" + run};
  if (run.find('/') == std::string::npos) {
    for (const std::string& folder : folders) {
      candidates.push_back(fmt::format("{}/{}", folder, run));
    }
  }
  for (const std::string& candidate : candidates) {
    if (around.machine->kind(candidate + kJournal) != PathKind::kMissing) {
      return candidate + kJournal;
    }
  }
  return base::fail(
      base::Errc::kNotFound,
      fmt::format("cannot find the run {}: no run has this id, and no directory with a journal "
                  "has this name{}",
                  run, did_you_mean(run, runs_in(folders.front()))));
}

base::Result<std::string> find_run(const std::string& run, Pick pick, const Surroundings& around) {
  if (run.empty()) {
    const std::vector<std::string> live = live_runs(runs_folder(around));
    if (pick == Pick::kTheLiveOne && live.size() > 1) {
      return base::fail(base::Errc::kConflict,
                        fmt::format("{} active runs, pass an id: {}", live.size(),
                                    base::join(names_of(live), ", ")));
    }
    if (live.empty() && pick != Pick::kLiveFirst) {
      return base::fail(
          base::Errc::kNotFound,
          fmt::format("no active run below {}; pass a run's id or directory", runs_folder(around)));
    }
    if (!live.empty()) {
      say(fmt::format("run {}{}", fs::path(live.front()).filename().string(),
                      live.size() > 1 ? fmt::format(", the newest of {}", live.size()) : ""));
      return live.front();
    }
  }
  const fs::path directory = fs::path(RR_TRY(find_journal(run, around))).parent_path();
  if (run.empty()) {
    say(fmt::format("run {}, the newest; no run is active", directory.filename().string()));
  }
  return directory.string();
}

}  // namespace robustrun::cli
