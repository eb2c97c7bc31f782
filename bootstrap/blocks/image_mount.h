#pragma once
// A FUSE file system with one file, `image`: a blob's bytes, read-only (libfuse's low-level API).
//
// Its threads only take requests and pass reads on, so one slow block delays nothing else. The
// kernel caches what it has read. Mounted by mount(2) if this is root, otherwise by fusermount3.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/core/result.h"
#include "bootstrap/blocks/blob_reads.h"

struct fuse_session;

namespace robustrun::bootstrap {

// Detaches the mount at `folder` of a server that was killed. kConflict: a live file system is
// mounted there.
base::Status detach_stale_mount(const std::string& folder);

class ImageMount {
 public:
  // Creates the folder if it is missing, detaches a stale mount, and mounts. `reads` must live
  // until the last read is answered. kConflict: a live file system is mounted there.
  static base::Result<std::unique_ptr<ImageMount>> mount(const std::string& folder,
                                                         BlobReads& reads, std::uint64_t length);
  ImageMount(const ImageMount&) = delete;
  ImageMount& operator=(const ImageMount&) = delete;
  ~ImageMount();

  // Whether a process has the image open.
  [[nodiscard]] bool is_busy() const { return opened_ > 0; }
  // Detaches the mount at once. Processes that have the image open can read until this process
  // ends.
  void unmount();
  // Whether the mount has ended, by unmount() or from outside.
  [[nodiscard]] bool is_gone() const { return is_gone_; }

  // From now on the kernel reads kReadAheadKib ahead of sequential readers, if this is root.
  // Before, it reads 128 KiB ahead, because a start jumps around in its libraries and each jump
  // would fetch unneeded data from a slow origin.
  void read_far_ahead();

  // For the functions that serve the kernel's requests.
  [[nodiscard]] BlobReads& reads() { return reads_; }
  [[nodiscard]] std::uint64_t length() const { return length_; }
  void count_open(int change) { opened_ += change; }

 private:
  ImageMount(BlobReads& reads, std::uint64_t length) : reads_(reads), length_(length) {}
  void run_requests();

  BlobReads& reads_;
  const std::uint64_t length_;
  std::string folder_;
  std::string read_ahead_file_;
  fuse_session* session_ = nullptr;
  std::atomic<int> opened_{0};
  std::atomic<bool> is_gone_{false};
  std::atomic<bool> is_mounted_{false};
  std::vector<std::thread> threads_;
};

}  // namespace robustrun::bootstrap
