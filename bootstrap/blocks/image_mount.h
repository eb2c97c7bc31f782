#pragma once
// A FUSE file system with one file, `image`: a blob's bytes, read-only (libfuse's low level).
//
// Its threads take requests and hand reads on: one slow block delays nothing else. The kernel keeps
// what it has read. As root it is mounted by mount(2), else by fusermount3.

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

// Detaches what a server left at `folder` that was killed. kConflict: something living is mounted
// there.
base::Status detach_stale_mount(const std::string& folder);

class ImageMount {
 public:
  // Makes the folder when it is missing, and mounts. `reads` must outlive the process' last read.
  static base::Result<std::unique_ptr<ImageMount>> mount(const std::string& folder,
                                                         BlobReads& reads, std::uint64_t length);
  ImageMount(const ImageMount&) = delete;
  ImageMount& operator=(const ImageMount&) = delete;
  ~ImageMount();

  // Somebody has the image open.
  [[nodiscard]] bool is_busy() const { return opened_ > 0; }
  // Takes it out of the tree of folders at once; who has the image open may read on until the
  // process ends.
  void unmount();
  // Somebody else unmounted it.
  [[nodiscard]] bool is_gone() const { return is_gone_; }

  // From now on the kernel reads kReadAheadKib ahead of who reads on and on, where this is root. It
  // begins with 128 KiB: a start jumps about in its libraries, and each jump would read what nobody
  // asked for, from an origin that is slow.
  void read_far_ahead();

  // What the kernel's requests are answered from.
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
