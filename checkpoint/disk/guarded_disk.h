#pragma once
// A disk whose calls fail with ETIMEDOUT when they take longer than the patience of its
// MountThreads. For small files, because it copies what it writes. Used by one thread.

#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/mount_threads.h"

namespace robustrun::checkpoint {

class GuardedDisk final : public Disk {
 public:
  // Both must outlive this object.
  GuardedDisk(Disk& disk, MountThreads& threads) : disk_(disk), threads_(threads) {}

  base::Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                                   std::uint64_t bytes) override;
  base::Status rename(const std::string& from, const std::string& to) override;
  base::Status remove(const std::string& path) override;
  base::Status make_folder(const std::string& path) override;
  base::Status sync_folder(const std::string& path) override;

 private:
  Disk& disk_;
  MountThreads& threads_;
};

}  // namespace robustrun::checkpoint
