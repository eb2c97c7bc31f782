#include "agent/faults/disk_filler.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "agent/node/limits.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

struct Filling {
  std::string folder;
  base::Fd file;
  base::Result<std::uint64_t> bytes = std::uint64_t{0};
};

// Subvolumes and bind mounts have other devices than /, but its room.
bool is_on_the_systems_disk(const std::string& folder) {
  struct stat own{};
  struct stat root{};
  if (::stat(folder.c_str(), &own) != 0 || ::stat("/", &root) != 0) return false;
  if (own.st_dev == root.st_dev) return true;
  struct statfs own_room{};
  struct statfs root_room{};
  if (::statfs(folder.c_str(), &own_room) != 0 || ::statfs("/", &root_room) != 0) return false;
  return own_room.f_type == root_room.f_type && own_room.f_blocks == root_room.f_blocks &&
         own_room.f_bfree == root_room.f_bfree;
}

base::Result<std::uint64_t> free_space(const std::string& folder) {
  if (is_on_the_systems_disk(folder)) {
    return base::fail(base::Errc::kInvalidArgument,
                      fmt::format("cannot fill the disk of {}: / is on it, too; use --log-dir on a "
                                  "small file system of its own, such as a tmpfs",
                                  folder));
  }
  struct statfs info{};
  if (::statfs(folder.c_str(), &info) != 0) {
    return base::fail_errno("cannot fill the disk of " + folder, errno);
  }
  const std::uint64_t free =
      static_cast<std::uint64_t>(info.f_bavail) * static_cast<std::uint64_t>(info.f_bsize);
  const bool in_memory = info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
  const std::uint64_t most = in_memory ? kMemoryFillBytesMax : kDiskFillBytesMax;
  if (free <= most) return free;
  return base::fail(base::Errc::kLimit,
                    fmt::format("cannot fill the disk of {}: {} GiB are free{}, at most {} are "
                                "taken; use --log-dir on a smaller file system",
                                folder, free >> 30, in_memory ? " in memory" : "", most >> 30));
}

base::Result<base::Fd> open_nameless(const std::string& folder) {
  const std::string path = fmt::format("{}/.robustrun-disk-full-{}", folder, ::getpid());
  base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return base::fail_errno("cannot make the file " + path, errno);
  if (::unlink(path.c_str()) != 0) return base::fail_errno("cannot remove " + path, errno);
  return file;
}

// Ever smaller pieces, until not even a page is left: the file system's bookkeeping takes some.
base::Result<std::uint64_t> take_all(int file, std::uint64_t piece) {
  std::uint64_t taken = 0;
  while (piece >= kDiskFillPieceMin && taken < 2 * kDiskFillBytesMax) {
    if (::fallocate(file, 0, static_cast<off_t>(taken), static_cast<off_t>(piece)) == 0) {
      taken += piece;
    } else if (errno == ENOSPC || errno == EDQUOT) {
      piece /= 2;
    } else if (errno != EINTR) {
      return base::fail_errno("cannot take the free space of the disk", errno);
    }
  }
  return taken;
}

void fill_now(Filling& filling) {
  filling.bytes = [&]() -> base::Result<std::uint64_t> {
    const std::uint64_t free = RR_TRY(free_space(filling.folder));
    filling.file = RR_TRY(open_nameless(filling.folder));
    return take_all(filling.file.get(), free);
  }();
  if (!filling.bytes) filling.file.reset();
}

}  // namespace

class DiskFiller::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::any_io_executor executor, base::BlockingPool& pool)
      : pool_(pool), end_(executor) {}

  void fill(const std::string& folder, base::Nanos duration, Done done) {
    if (filling_) {
      return done(
          base::fail(base::Errc::kConflict, "cannot fill the disk: that is being done already"));
    }
    filling_ = std::make_shared<Filling>();
    filling_->folder = folder;
    const auto submitted = pool_.submit(
        kDiskFillLane, [filling = filling_] { fill_now(*filling); },
        [self = shared_from_this(), duration, done] { self->filled(duration, done); });
    if (!submitted) {
      filling_.reset();
      done(std::unexpected(submitted.error()));
    }
  }

  void close() {
    end_.cancel();
    filling_.reset();
  }

 private:
  void filled(base::Nanos duration, const Done& done) {
    if (!filling_) return;  // closed meanwhile
    const auto bytes = filling_->bytes;
    if (!bytes) {
      filling_.reset();
      return done(bytes);
    }
    end_.expires_after(duration);
    end_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      auto self = error ? nullptr : weak.lock();
      if (self) self->free();
    });
    done(bytes);
  }

  // Freeing gigabytes may take long.
  void free() {
    auto filling = std::exchange(filling_, nullptr);
    const auto submitted = pool_.submit(kDiskFillLane, [filling] { filling->file.reset(); }, [] {});
    if (!submitted) filling->file.reset();
  }

  base::BlockingPool& pool_;
  boost::asio::steady_timer end_;
  std::shared_ptr<Filling> filling_;
};

DiskFiller::DiskFiller(boost::asio::any_io_executor executor, base::BlockingPool& pool)
    : impl_(std::make_shared<Impl>(executor, pool)) {}
DiskFiller::~DiskFiller() { impl_->close(); }
void DiskFiller::fill(const std::string& folder, base::Nanos duration, Done done) {
  impl_->fill(folder, duration, std::move(done));
}

}  // namespace robustrun::agent
