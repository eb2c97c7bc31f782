#include "bootstrap/hot/hot_recording.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/io/fd.h"
#include "bootstrap/hot/resident.h"
#include "bootstrap/image/file_system.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

class HotRecorder {
 public:
  explicit HotRecorder(bool shared_only) : shared_only_(shared_only) {}

  std::optional<HotFile> look(const TouchedFile& touched) {
    struct stat status{};
    if (::stat(touched.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    if (status.st_size == 0 || !is_worth_it(touched.path, status.st_dev)) return {};
    if (!seen_.emplace(status.st_dev, status.st_ino).second) return {};
    HotFile file{touched.path, static_cast<std::uint64_t>(status.st_size), 0, 0, {}};
    file.mtime_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    if (file.size < kResidentFrom) return file;
    const base::Fd open(::open(file.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!open) return {};
    if (auto ranges = resident_ranges(open.get(), file.size)) {
      if (ranges->empty()) return {};  // the reads bypassed the cache, or its pages were dropped
      const bool is_whole = ranges->front() == HotRange{0, file.size};
      if (!is_whole) file.ranges = *std::move(ranges);
      return file;
    }
    if (file.size > (touched.mapped ? kWholeMappedMax : kWholeReadMax)) return {};
    return file;
  }

 private:
  bool is_worth_it(const std::string& path, dev_t device) {
    const auto known = kinds_.find(device);
    const FileSystem kind = known != kinds_.end() ? known->second : file_system_of(path);
    kinds_.emplace(device, kind);
    return kind == FileSystem::kShared || (kind == FileSystem::kLocal && !shared_only_);
  }

  bool shared_only_;
  std::map<dev_t, FileSystem> kinds_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

HotProfile record_profile(const std::vector<TouchedFile>& touched, bool shared_only,
                          std::int64_t now_s) {
  HotProfile profile{now_s, {}};
  HotRecorder recorder(shared_only);
  for (const TouchedFile& each : touched) {
    if (profile.files.size() == kHotFilesMax) break;
    if (auto file = recorder.look(each)) profile.files.push_back(*std::move(file));
  }
  return profile;
}

}  // namespace robustrun::bootstrap
