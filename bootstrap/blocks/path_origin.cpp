#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/io/fd.h"
#include "bootstrap/blocks/origin.h"

namespace robustrun::bootstrap {
namespace {

class PathOrigin final : public Origin {
 public:
  PathOrigin(std::string path, Blob blob, base::Fd fd, const base::Clock& clock)
      : path_(std::move(path)), blob_(std::move(blob)), fd_(std::move(fd)), clock_(clock) {}

  [[nodiscard]] const Blob& blob() const override { return blob_; }

  base::Result<base::Nanos> read(std::uint64_t offset, std::span<char> bytes) override {
    const base::Nanos since = clock_.now();
    base::Nanos first{};
    while (!bytes.empty()) {
      const ssize_t got =
          ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return base::fail_errno(fmt::format("cannot read '{}'", path_), errno);
      if (got == 0) return changed();
      if (first == base::Nanos{}) first = clock_.now() - since;
      bytes = bytes.subspan(static_cast<std::size_t>(got));
      offset += static_cast<std::uint64_t>(got);
    }
    RR_TRY(check_unchanged());
    return first;
  }

 private:
  base::Status check_unchanged() {
    struct stat status{};
    if (::fstat(fd_.get(), &status) != 0) {
      return base::fail_errno(fmt::format("cannot look at '{}'", path_), errno);
    }
    const auto mtime = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    const bool is_same = static_cast<std::uint64_t>(status.st_size) == blob_.length &&
                         path_validator(mtime) == blob_.validator;
    if (!is_same) return changed();
    return {};
  }

  [[nodiscard]] std::unexpected<base::Error> changed() const {
    return base::fail(base::Errc::kConflict,
                      fmt::format("cannot read '{}': it changed while it was served; give a new "
                                  "image a new name",
                                  path_));
  }

  std::string path_;
  Blob blob_;
  base::Fd fd_;
  const base::Clock& clock_;
};

}  // namespace

bool is_worth_retrying(const base::Error& error) {
  if (error.code != base::Errc::kOs) {
    return error.code == base::Errc::kUnavailable || error.code == base::Errc::kTimeout;
  }
  for (const int lasting : {ENOENT, EACCES, EPERM, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG}) {
    if (error.os_errno == lasting) return false;
  }
  return true;
}

base::Result<std::unique_ptr<Origin>> open_path_origin(const std::string& path,
                                                       const base::Clock& clock) {
  Blob blob = RR_TRY(blob_of_file(path));
  base::Fd fd = RR_TRY(base::open_regular(path));
  // Other nodes read the neighbouring blocks: no read-ahead here.
  static_cast<void>(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM));
  return std::make_unique<PathOrigin>(path, std::move(blob), std::move(fd), clock);
}

base::Result<std::unique_ptr<Origin>> open_origin(const std::string& source,
                                                  const base::Clock& clock) {
  if (is_http_source(source)) return open_http_origin(source);
  return open_path_origin(source, clock);
}

}  // namespace robustrun::bootstrap
