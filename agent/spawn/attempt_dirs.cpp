#include "agent/spawn/attempt_dirs.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "agent/node/limits.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

// torchrun leaves the mode to the umask; in native mode a run's files are private.
mode_t folder_mode(bool compat) { return compat ? 0777 : 0700; }

bool exists(const std::string& path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0;
}

base::Status make_folder(const std::string& path, bool compat) {
  if (::mkdir(path.c_str(), folder_mode(compat)) == 0) return {};
  return base::fail_errno("cannot make the log folder " + path, errno);
}

// The first free cycle number; no other process names files in this folder.
base::Status keep_earlier(const std::string& path) {
  for (unsigned cycle = 1; cycle <= kCyclesMax; ++cycle) {
    const std::string kept = fmt::format("{}.cycle_{}", path, cycle);
    if (exists(kept)) continue;
    if (::rename(path.c_str(), kept.c_str()) == 0) return {};
    return base::fail_errno(
        fmt::format("cannot rename the earlier log folder {} to {}", path, kept), errno);
  }
  return base::fail(base::Errc::kLimit,
                    fmt::format("cannot keep the earlier log folder {}: {} are kept already; "
                                "remove some",
                                path, kCyclesMax));
}

// remove_all() never follows symbolic links: it removes a link itself, and the target stays.
base::Status remove_earlier(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return {};
  return base::fail_errno("cannot remove the earlier log folder " + path, error.value());
}

}  // namespace

base::Result<AttemptPaths> make_attempt_dirs(const std::string& log_directory,
                                             base::Attempt attempt,
                                             const std::vector<base::LocalRank>& ranks,
                                             bool compat) {
  AttemptPaths paths;
  if (log_directory.empty()) return paths;
  RR_TRY(base::make_directories(log_directory, folder_mode(compat)));
  paths.directory = fmt::format("{}/attempt_{}", log_directory, attempt.value);
  paths.filtered_stdout = paths.directory + "/filtered_stdout.log";
  paths.filtered_stderr = paths.directory + "/filtered_stderr.log";
  if (exists(paths.directory)) {
    RR_TRY(compat ? remove_earlier(paths.directory) : keep_earlier(paths.directory));
  }
  RR_TRY(make_folder(paths.directory, compat));
  for (const base::LocalRank rank : ranks) {
    RR_TRY(make_folder(fmt::format("{}/{}", paths.directory, rank.value), compat));
  }
  return paths;
}

WorkerPaths worker_paths(const std::string& attempt_directory, base::LocalRank rank) {
  if (attempt_directory.empty()) return {};
  const std::string folder = fmt::format("{}/{}/", attempt_directory, rank.value);
  return {folder + "stdout.log", folder + "stderr.log", folder + "error.json"};
}

}  // namespace robustrun::agent
