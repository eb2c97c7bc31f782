#pragma once
// Mounts a squashfs image on a folder: read-only, nosuid, nodev.
//
// The kernel mounts it through a loop device if this process is root and the kernel supports the
// compressor. Otherwise squashfuse_ll or squashfuse mounts it, as a child of this process. All
// calls block as long as the image's file system does, so make them on a pool's threads.

#include <chrono>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {

struct SquashMountPlan {
  std::string image;   // a squashfs image (squash_image.h)
  std::string folder;  // empty, absolute, owned by this user
  std::string path;    // where to find squashfuse and fusermount3, like PATH
  std::chrono::milliseconds within = kMountMax;  // time limit for squashfuse
  bool by_kernel = true;  // false: use squashfuse even if the kernel could
};

// A mounted image. Destroying the object does not unmount the image; without unmount(), the
// clean-up of mount_folder.h unmounts it later.
class SquashMount {
 public:
  // kNotFound: the kernel did not mount the image and squashfuse is not installed. kOs: /dev/fuse
  // cannot be opened. kTimeout, kUnavailable: squashfuse failed. The text of an error is a whole
  // sentence with the cause.
  static base::Result<SquashMount> make(const SquashMountPlan& plan);
  SquashMount(SquashMount&&) noexcept;
  SquashMount& operator=(SquashMount&&) noexcept;
  ~SquashMount();

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] bool is_by_kernel() const { return helper_ == nullptr; }
  // Unmounts at once. Processes can go on reading files that they have open only if the kernel
  // serves the image.
  base::Status unmount();

 private:
  class Helper;  // squashfuse
  SquashMount(std::string folder, std::string path, std::unique_ptr<Helper> helper);

  std::string folder_;
  std::string path_;
  std::unique_ptr<Helper> helper_;
};

// Unmounts everything at and below `folder`, lazily. FUSE connections are aborted first, so that
// processes waiting for a stopped or dead server get an error and can be killed. `path`: as in
// SquashMountPlan. Succeeds if nothing is mounted there.
base::Status unmount_all(const std::string& folder, const std::string& path);

// Only aborts the FUSE connections, so that no reader waits any longer.
void abort_fuse_below(const std::string& folder);

// Whether something is mounted exactly at `folder`.
[[nodiscard]] bool is_mounted(const std::string& folder);

}  // namespace robustrun::bootstrap
