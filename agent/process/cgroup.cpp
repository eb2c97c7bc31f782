#include "agent/process/cgroup.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "bootstrap/image/mount_table.h"

namespace robustrun::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "robustrun-";
constexpr std::size_t kProcFileBytesMax = std::size_t{4} << 20;
constexpr std::size_t kRunIdBytesMax = 64;
constexpr unsigned kNestedMax = 16;  // depth of folders that a worker made
constexpr unsigned kMakeTries = 3;

bool lists(std::string_view comma_separated, std::string_view wanted) {
  const auto items = base::split(comma_separated, ',');
  return std::find(items.begin(), items.end(), wanted) != items.end();
}

// The cgroup's path from the text of /proc/PID/cgroup: lines of ID:CONTROLLERS:PATH.
std::optional<std::string> path_in_hierarchy(std::string_view text, std::string_view controller) {
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? line.starts_with("0::") : lists(controllers, controller)) {
      return std::string(line.substr(second + 1));
    }
  }
  return std::nullopt;
}

// "ID PARENT DEV ROOT MOUNT OPTIONS [TAGS…] - TYPE SOURCE SUPEROPTIONS"; a mount whose ROOT is not
// "/" shows part of the hierarchy only.
std::optional<CgroupPlace> place_in_mount(std::string_view line, const std::string& path,
                                          std::string_view controller) {
  const std::size_t dash = line.find(" - ");
  if (dash == line.npos) return std::nullopt;
  const auto front = base::split(line.substr(0, dash), ' ');
  const auto back = base::split(line.substr(dash + 3), ' ');
  if (front.size() < 6 || back.size() < 3) return std::nullopt;
  const bool wanted =
      controller.empty() ? back[0] == "cgroup2" : back[0] == "cgroup" && lists(back[2], controller);
  if (!wanted) return std::nullopt;
  std::string root = bootstrap::unescaped_mount_path(front[3]);
  if (root == "/") root.clear();
  if (!path.starts_with(root)) return std::nullopt;
  CgroupPlace place{bootstrap::unescaped_mount_path(front[4]), {}};
  place.folder = place.mount + path.substr(root.size());
  while (place.folder.ends_with('/')) place.folder.pop_back();
  return place;
}

// As much of a run's id as fits, without characters that have a meaning in a path.
std::string plain_id(const std::string& run_id) {
  std::string name;
  for (const char c : run_id.substr(0, kRunIdBytesMax)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain || c == '-' || c == '_' ? c : '_';
  }
  return name;
}

std::string own_suffix() { return "." + std::to_string(::getpid()); }

// Invalid if another process holds the lock, or if the folder of that name is a different one by
// now: the lock would then be on a folder that a clean-up has just removed.
base::Fd lock_folder(const std::string& path) {
  base::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) folder.reset();
  struct stat held{};
  struct stat named{};
  if (folder && (::fstat(folder.get(), &held) != 0 || ::stat(path.c_str(), &named) != 0 ||
                 held.st_ino != named.st_ino)) {
    folder.reset();
  }
  return folder;
}

// A cgroup's folder holds folders and the kernel's own files, which are removed with it.
void remove_folders(const fs::path& folder, unsigned nested) {
  std::error_code error;
  if (::rmdir(folder.c_str()) == 0 || nested == 0) return;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(error) && !it->is_symlink(error)) remove_folders(it->path(), nested - 1);
  }
  ::rmdir(folder.c_str());
}

void remove_stale(const std::string& parent) {
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!name.starts_with(kPrefix) || name.ends_with(own_suffix())) continue;
    struct stat status{};
    if (::lstat(it->path().c_str(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    const base::Fd lock = lock_folder(it->path());
    if (!lock) continue;  // its agent lives
    kill_cgroup(it->path());
    remove_folders(it->path(), kNestedMax);
  }
}

}  // namespace

base::Result<CgroupPlace> own_cgroup(const std::string& controller, const std::string& proc) {
  return cgroup_of("self", controller, proc);
}

base::Result<CgroupPlace> cgroup_of(const std::string& pid, const std::string& controller,
                                    const std::string& proc) {
  const std::string groups =
      RR_TRY(base::read_file(fmt::format("{}/{}/cgroup", proc, pid), kProcFileBytesMax));
  const std::string mounts = RR_TRY(base::read_file(proc + "/self/mountinfo", kProcFileBytesMax));
  const std::string hierarchy = controller.empty() ? "v2" : controller;
  const auto path = path_in_hierarchy(groups, controller);
  if (path) {
    for (const std::string_view line : base::split(mounts, '\n')) {
      if (auto place = place_in_mount(line, *path, controller)) return *std::move(place);
    }
  }
  return base::fail(
      base::Errc::kUnavailable,
      fmt::format("cannot find the cgroup of {}: the {} hierarchy is not mounted here", pid,
                  hierarchy));
}

void kill_cgroup(const std::string& path) {
  const base::Fd file(::open((path + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  if (file && ::write(file.get(), "1", 1) < 0) return;  // other code kills process by process
}

// The folder of this agent.
class Cgroup::Home {
 public:
  // The existing folder, or a new one for this run; null: none can be made.
  static std::shared_ptr<Home> of(const CgroupPlace& place, const std::string& run_id) {
    static std::weak_ptr<Home> newest;
    if (auto home = newest.lock(); home && home->above_ == place.folder) return home;
    // Moving another process requires write permission in the cgroup above both.
    if (::access((place.folder + "/cgroup.procs").c_str(), W_OK) != 0) return nullptr;
    remove_stale(place.folder);
    const std::string path =
        fmt::format("{}/{}{}{}", place.folder, kPrefix, plain_id(run_id), own_suffix());
    for (unsigned i = 0; i < kMakeTries; ++i) {
      if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return nullptr;
      // Another agent may take a folder without a lock for a dead agent's and remove it.
      base::Fd lock = lock_folder(path);
      if (!lock) continue;
      pass_on_memory(path);
      auto home = std::make_shared<Home>(place.folder, path, std::move(lock));
      newest = home;
      return home;
    }
    return nullptr;
  }

  Home(std::string above, std::string path, base::Fd lock)
      : above_(std::move(above)), path_(std::move(path)), lock_(std::move(lock)) {}
  ~Home() { ::rmdir(path_.c_str()); }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  // Where our cgroup has memory events, the workers' cgroups are to have their own. This folder
  // itself contains no processes, so that is allowed.
  static void pass_on_memory(const std::string& path) {
    const base::Fd file(::open((path + "/cgroup.subtree_control").c_str(), O_WRONLY | O_CLOEXEC));
    // The sources above it then tell of the whole agent.
    if (file && ::write(file.get(), "+memory", 7) < 0) return;
  }

  const std::string above_, path_;
  const base::Fd lock_;
};

std::optional<Cgroup> Cgroup::make(const std::string& run_id, base::Rank rank,
                                   base::Attempt attempt, const std::string& proc) {
  const auto place = own_cgroup("", proc);
  auto home = place ? Home::of(*place, run_id) : nullptr;
  if (!home) return std::nullopt;
  std::string path =
      fmt::format("{}/{}-{}-{}", home->path(), plain_id(run_id), rank.value, attempt.value);
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return std::nullopt;
  return Cgroup(std::move(path), std::move(home));
}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  remove();
  path_ = std::exchange(other.path_, {});
  home_ = std::move(other.home_);
  return *this;
}

void Cgroup::remove() {
  if (!home_) return;
  remove_folders(path_, kNestedMax);
  home_.reset();
}

}  // namespace robustrun::agent
