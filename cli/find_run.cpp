#include "cli/find_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "base/core/text.h"
#include "cli/places.h"
#include "cli/values.h"

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

// Of this working directory alone: runs with --compat=torchrun were started anywhere.
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
                    fmt::format("cannot find a run: there is none below {}; name a run's directory "
                                "(those with --compat=torchrun are below {})",
                                folder, compat_folder));
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
      fmt::format("cannot find the run {}: none has this id, and there is no directory with a "
                  "journal{}",
                  run, did_you_mean(run, runs_in(folders.front()))));
}

}  // namespace robustrun::cli
