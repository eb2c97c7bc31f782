#include "cli/runs/run_index.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/core/hash.h"
#include "base/io/fd.h"
#include "cli/placement/places.h"

namespace robustrun::cli {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kPrivate = 0700;
constexpr const char* kJournalName = "/journal";

// Runs in different folders may have the same id.
std::string link_of(const std::string& index, const std::string& run_directory) {
  return fmt::format("{}/{}-{:08x}", index, fs::path(run_directory).filename().string(),
                     static_cast<std::uint32_t>(base::hash64(run_directory)));
}

base::Nanos modified(const struct stat& status) {
  return std::chrono::seconds(status.st_mtim.tv_sec) +
         std::chrono::nanoseconds(status.st_mtim.tv_nsec);
}

// The folder that held the run is there and the run is not: it was deleted, and is not merely on a
// file system that is not mounted now.
bool is_deleted(const fs::path& directory) {
  std::error_code error;
  return fs::is_directory(directory.parent_path(), error) && !fs::exists(directory, error) &&
         !error;
}

class Collection {
 public:
  void add(const std::string& directory) {
    struct stat status{};
    if (::stat((directory + kJournalName).c_str(), &status) != 0 || !S_ISREG(status.st_mode))
      return;
    if (!seen_.insert({status.st_dev, status.st_ino}).second) return;
    runs_.push_back({fs::path(directory).filename(), directory, modified(status)});
  }
  void add_below(const std::string& folder) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      add(entry->path());
    }
  }
  std::vector<KnownRun> take() {
    std::ranges::stable_sort(runs_, std::ranges::greater{}, &KnownRun::touched);
    return std::move(runs_);
  }

 private:
  std::set<std::pair<dev_t, ino_t>> seen_;  // of journals
  std::vector<KnownRun> runs_;
};

}  // namespace

std::string index_folder(const Surroundings& around) {
  const std::string state = state_folder(around);
  return state.empty() ? "" : state + "/runs";
}

void note_run(const Surroundings& around, const std::string& run_directory) {
  const std::string index = index_folder(around);
  if (index.empty() || !base::make_directories(index, kPrivate)) return;
  std::error_code dropped;
  fs::create_directory_symlink(run_directory, link_of(index, run_directory), dropped);
}

void forget_run(const Surroundings& around, const std::string& run_directory) {
  const std::string index = index_folder(around);
  if (index.empty()) return;
  std::error_code dropped;
  fs::remove(link_of(index, run_directory), dropped);
}

std::vector<KnownRun> known_runs(const Surroundings& around) {
  Collection found;
  found.add_below(runs_folder(around));
  found.add_below(private_runs_folder(around));
  std::error_code error;
  std::vector<fs::path> deleted;
  if (const std::string index = index_folder(around); !index.empty()) {
    for (fs::directory_iterator entry(index, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code unread;
      const fs::path directory = fs::read_symlink(entry->path(), unread);
      if (unread || !directory.is_absolute()) continue;
      if (is_deleted(directory)) {
        deleted.push_back(entry->path());
      } else {
        found.add(directory);
      }
    }
  }
  for (const fs::path& link : deleted) fs::remove(link, error);
  return found.take();
}

}  // namespace robustrun::cli
