#pragma once
// A squashfs image as a folder of this machine: read-only, nosuid, nodev.
//
// By the kernel over a loop device where that is allowed and works (root, and a kernel that knows
// the compressor), else by squashfuse_ll, or squashfuse, as a child of this process. All of this
// blocks as long as the image's file system does, and so runs on a pool; any thread will do.

#include <chrono>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {

struct SquashMountPlan {
  std::string image;   // a squashfs (squash_image.h)
  std::string folder;  // empty, absolute, ours
  std::string path;    // of the environment, where squashfuse and fusermount3 are looked for
  std::chrono::milliseconds within = kMountMax;  // until squashfuse serves it
  bool by_kernel = true;  // false: by squashfuse even where the kernel could
};

// One that is mounted. It stays so when the object goes: who forgets to unmount() it, or dies,
// leaves that to the clean-up (mount_folder.h).
class SquashMount {
 public:
  // kNotFound: neither way is possible here, and why; kTimeout, kUnavailable: squashfuse did not
  // manage. All with a whole sentence.
  static base::Result<SquashMount> make(const SquashMountPlan& plan);
  SquashMount(SquashMount&&) noexcept;
  SquashMount& operator=(SquashMount&&) noexcept;
  ~SquashMount();

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] bool is_by_kernel() const { return helper_ == nullptr; }
  // At once: who still has files of it open keeps them, where the kernel serves them.
  base::Status unmount();

 private:
  class Helper;  // squashfuse
  SquashMount(std::string folder, std::string path, std::unique_ptr<Helper> helper);

  std::string folder_;
  std::string path_;
  std::unique_ptr<Helper> helper_;
};

// Undoes all that is mounted at `folder` and below it, lazily. FUSE connections are aborted first:
// who waits for a server that is stopped or dead gets an error, and can then be killed.
// `path`: as above. Nothing mounted there: fine.
base::Status unmount_all(const std::string& folder, const std::string& path);

// The first half alone: nobody who reads there waits any longer.
void abort_fuse_below(const std::string& folder);

// Something is mounted at exactly `folder`.
[[nodiscard]] bool is_mounted(const std::string& folder);

}  // namespace robustrun::bootstrap
