#include "agent/health/mount_health.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "agent/health/limits.h"
#include "agent/node/environment.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "bootstrap/image/mount_table.h"

namespace robustrun::agent {
namespace {

using wire::NodeHealth;

constexpr std::uint64_t kPercent = 100;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kSmallPart = 20;  // 5 %

NodeHealth of_mount(const std::string& mount, std::string words, bool over = false) {
  return {NodeHealth::Source::kDisk, base::printable(mount),
          fmt::format("{} {}", base::printable(mount), words), 0, over};
}

MountReading read_mount(const std::string& folder) {
  MountReading reading;
  struct statvfs room{};
  struct stat entry{};
  // stat() asks the server even where statvfs() is answered from a cache.
  if (::statvfs(folder.c_str(), &room) != 0 || ::stat(folder.c_str(), &entry) != 0) {
    reading.missing = errno == ENOENT;
    reading.error = std::generic_category().message(errno);
    return reading;
  }
  reading.total = std::uint64_t{room.f_blocks} * room.f_frsize;
  reading.free = std::uint64_t{room.f_bavail} * room.f_frsize;
  reading.files = room.f_files;
  reading.files_free = room.f_favail;
  reading.read_only = (room.f_flag & ST_RDONLY) != 0;
  return reading;
}

class MountProbe final : public HealthProbe {
 public:
  MountProbe(std::string mount, std::string folder)
      : mount_(std::move(mount)), folder_(std::move(folder)) {}
  std::vector<NodeHealth> look(base::Nanos) override {
    MountReading now = read_mount(folder_);
    if (!before_ && now.missing) return {};  // not created yet
    auto found = mount_changes(mount_, before_, now);
    before_ = std::move(now);
    return found;
  }

 private:
  std::string mount_, folder_;
  std::optional<MountReading> before_;
};

std::string folder_above(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::vector<std::string> folders_of(const wire::WorkerTemplate& workers) {
  std::vector<std::string> folders = {
      workers.working_directory, workers.log_directory,
      Environment(workers.environment).get("TMPDIR").value_or("/tmp"), "/dev/shm"};
  for (const std::string* const file : {&workers.program, &workers.interpreter}) {
    if (file->starts_with('/')) folders.push_back(folder_above(*file));
  }
  std::erase_if(folders, [](const std::string& each) { return !each.starts_with('/'); });
  return folders;
}

}  // namespace

std::vector<std::string> parse_mountinfo(std::string_view text) {
  constexpr std::size_t kMountPoint = 4;
  std::vector<std::string> mounts;
  for (const std::string_view line : base::split(text, '\n')) {
    const auto words = base::split(line, ' ');
    if (words.size() <= kMountPoint || !words[kMountPoint].starts_with('/')) continue;
    mounts.push_back(bootstrap::unescaped_mount_path(words[kMountPoint]));
  }
  return mounts;
}

std::string mount_of(const std::vector<std::string>& mounts, std::string_view path) {
  std::string best;
  for (const std::string& mount : mounts) {
    const bool holds = mount == "/" || path == mount ||
                       (path.starts_with(mount) && path.substr(mount.size()).starts_with('/'));
    if (holds && mount.size() > best.size()) best = mount;
  }
  return best;
}

bool is_nearly_full(const MountReading& reading) {
  if (reading.files > 0 && reading.files_free < reading.files / kPercent) return true;
  return reading.free < reading.total / kPercent ||
         (reading.free < kGiB && reading.free < reading.total / kSmallPart);
}

std::vector<NodeHealth> mount_changes(const std::string& mount,
                                      const std::optional<MountReading>& before,
                                      const MountReading& now) {
  std::vector<NodeHealth> found;
  const bool failed_before = before && !before->error.empty();
  if (!now.error.empty()) {
    if (!failed_before) {
      found.push_back(of_mount(mount, fmt::format("cannot be read: {}", now.error)));
    }
    return found;
  }
  if (failed_before) found.push_back(of_mount(mount, "can be read again", true));
  const bool was_full = before && !failed_before && is_nearly_full(*before);
  if (is_nearly_full(now) && !was_full) {
    found.push_back(
        of_mount(mount, fmt::format("is nearly full: {} MiB of {} MiB and {} of {} files are free",
                                    now.free >> 20, now.total >> 20, now.files_free, now.files)));
  } else if (!is_nearly_full(now) && was_full) {
    found.push_back(of_mount(mount, "has room again", true));
  }
  if (before && !failed_before && before->read_only != now.read_only) {
    found.push_back(of_mount(mount, now.read_only ? "has become read-only" : "can be written again",
                             !now.read_only));
  }
  return found;
}

std::vector<WatchedProbe> mount_probes(const std::string& root,
                                       const wire::WorkerTemplate& workers) {
  std::vector<WatchedProbe> probes;
  const auto text = base::read_file(root + "/proc/self/mountinfo", kMountinfoBytesMax);
  const std::vector<std::string> mounts = parse_mountinfo(text ? *text : std::string());
  for (const std::string& folder : folders_of(workers)) {
    const std::string mount = mount_of(mounts, folder);
    const std::string name = mount.empty() ? folder : mount;
    const bool is_known = std::ranges::any_of(
        probes, [&](const WatchedProbe& each) { return each.subject == base::printable(name); });
    if (is_known || probes.size() == kMountsWatchedMax) continue;
    probes.push_back({NodeHealth::Source::kDisk, base::printable(name), kMountInterval,
                      std::make_shared<MountProbe>(name, root + folder)});
  }
  return probes;
}

}  // namespace robustrun::agent
