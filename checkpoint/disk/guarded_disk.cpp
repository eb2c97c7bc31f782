#include "checkpoint/disk/guarded_disk.h"

#include <memory>

namespace robustrun::checkpoint {
namespace {

using base::Result;
using base::Status;

class GuardedFile final : public OutputFile {
 public:
  GuardedFile(std::shared_ptr<OutputFile> file, MountThreads& threads, std::size_t mount)
      : file_(std::move(file)), threads_(threads), mount_(mount) {}
  GuardedFile(const GuardedFile&) = delete;
  GuardedFile& operator=(const GuardedFile&) = delete;
  // Closing may hang as well.
  ~GuardedFile() override {
    (void)threads_.call(mount_, [file = std::move(file_)]() mutable -> Status {
      file.reset();
      return {};
    });
  }

  Status write(std::uint64_t offset, std::string_view bytes) override {
    return threads_.call(mount_, [file = file_, offset, copy = std::string(bytes)] {
      return file->write(offset, copy);
    });
  }
  Status sync() override {
    return threads_.call(mount_, [file = file_] { return file->sync(); });
  }

 private:
  std::shared_ptr<OutputFile> file_;
  MountThreads& threads_;
  std::size_t mount_;
};

}  // namespace

Result<std::unique_ptr<OutputFile>> GuardedDisk::create(const std::string& path,
                                                        std::uint64_t bytes) {
  const std::size_t mount = threads_.mount_of(path);
  auto file = RR_TRY(
      threads_.call(mount, [&disk = disk_, path, bytes] { return disk.create(path, bytes); }));
  return std::make_unique<GuardedFile>(std::move(file), threads_, mount);
}

Status GuardedDisk::rename(const std::string& from, const std::string& to) {
  return threads_.call(threads_.mount_of(to),
                       [&disk = disk_, from, to] { return disk.rename(from, to); });
}

Status GuardedDisk::remove(const std::string& path) {
  return threads_.call(threads_.mount_of(path),
                       [&disk = disk_, path] { return disk.remove(path); });
}

Status GuardedDisk::make_folder(const std::string& path) {
  return threads_.call(threads_.mount_of(path),
                       [&disk = disk_, path] { return disk.make_folder(path); });
}

Status GuardedDisk::sync_folder(const std::string& path) {
  return threads_.call(threads_.mount_of(path),
                       [&disk = disk_, path] { return disk.sync_folder(path); });
}

}  // namespace robustrun::checkpoint
