#include "bootstrap/deps/place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "base/io/private_dir.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTmpName = "TMPDIR=";

// Also removes folders that an installer made read-only.
void remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) {
      fs::permissions(entry->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
  }
  fs::remove_all(path, error);
}

}  // namespace

std::string places_folder(const std::vector<std::string>& environment) {
  std::string tmp = "/tmp";
  for (const std::string& entry : environment) {
    if (!entry.starts_with(kTmpName)) continue;
    if (entry.size() > kTmpName.size() && entry[kTmpName.size()] == '/') {
      tmp = entry.substr(kTmpName.size());
    }
    break;
  }
  return base::usable_private_name(tmp + "/robustrun-" + std::to_string(::geteuid())) + "/deps";
}

base::Result<SnapshotPlace> SnapshotPlace::open(const std::string& places,
                                                const std::string& name) {
  RR_TRY(base::make_private_directory(places.substr(0, places.rfind('/'))));
  RR_TRY(base::make_private_directory(places));
  const std::string path = places + "/" + name;
  RR_TRY(base::make_private_directory(path));
  base::Fd lock(::open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return base::fail_errno("cannot make " + path + "/lock", errno);
  return SnapshotPlace(path, std::move(lock));
}

std::string SnapshotPlace::file(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

bool SnapshotPlace::is_whole() const {
  struct stat status{};
  return ::lstat(file("whole").c_str(), &status) == 0;
}

bool SnapshotPlace::lock_alone() { return ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0; }
bool SnapshotPlace::lock_shared() { return ::flock(lock_.get(), LOCK_SH | LOCK_NB) == 0; }

base::Status SnapshotPlace::clear() {
  ::unlink(file("whole").c_str());
  remove_tree(tree());
  if (::mkdir(tree().c_str(), 0700) == 0) return {};
  return base::fail_errno("cannot make an empty folder " + tree(), errno);
}

base::Status SnapshotPlace::mark_whole() {
  return base::write_file_atomically(file("whole"), "", 0600);
}

void SnapshotPlace::remove() {
  ::unlink(file("whole").c_str());
  remove_tree(path_);
}

void remove_unused_places(const std::string& places, const std::string& but_key) {
  std::vector<std::pair<fs::file_time_type, std::string>> whole;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(places, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  const auto remove_one = [&](const std::string& name) {
    auto place = SnapshotPlace::open(places, name);
    if (place && place->lock_alone()) place->remove();
  };
  for (const std::string& name : names) {
    if (!but_key.empty() && name.starts_with(but_key)) continue;
    std::error_code unmarked;
    const auto marked = fs::last_write_time(places + "/" + name + "/whole", unmarked);
    if (unmarked) {
      remove_one(name);
    } else {
      whole.emplace_back(marked, name);
    }
  }
  std::ranges::sort(whole, std::greater{});
  for (std::size_t i = kPlacesKept; i < whole.size(); ++i) remove_one(whole[i].second);
}

}  // namespace robustrun::bootstrap
