#pragma once
// Folders of this user on this machine in which a process mounts file systems: BASE/mounts/NAME-N,
// with BASE as in base/io/private_dir.h.
//
// The process that owns a folder holds a lock (flock) on its file `owner`, which names the process
// for people. The kernel releases the lock when the process ends. A folder whose lock is free is
// abandoned: the next process takes it over if it wants the same name, or else unmounts everything
// in it and removes it. Locks are used instead of pids, because /tmp may be shared with another
// container, whose pids mean nothing here. All calls block and may be made by any thread.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {

class MountFolder {
 public:
  // Takes NAME-0, or the folder with the next number whose lock is free. `about`: a line for
  // people, such as the run. Mounts and sockets of a dead owner are still in the folder. kLimit:
  // all kMountFoldersMax numbers are taken.
  static base::Result<MountFolder> take(const std::string& base, const std::string& name,
                                        const std::string& about);
  // Takes the folder at `path` if its owner is dead; nullopt if a process holds it or it is gone.
  // For a process that outlives the owner.
  static std::optional<MountFolder> take_abandoned(const std::string& path);
  // Destroying the object only releases the lock: the folder and its mounts stay, abandoned.
  MountFolder(MountFolder&&) = default;
  MountFolder& operator=(MountFolder&&) = default;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Returns the path of a mount point in the folder, created if missing.
  [[nodiscard]] base::Result<std::string> make_inside(const std::string& name) const;
  // Unmounts everything in the folder and removes the folder. `search_path`: where to find
  // fusermount3, like PATH.
  base::Status remove(const std::string& search_path);

 private:
  MountFolder(std::string path, base::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  friend std::vector<std::string> remove_stale_mounts(const std::string& base,
                                                      const std::string& search_path,
                                                      const std::string& but_name);

  std::string path_;
  base::Fd lock_;
};

// Unmounts and removes the abandoned folders of this user, except those named `but_name`, which a
// successor may take over. Returns the folders removed.
std::vector<std::string> remove_stale_mounts(const std::string& base,
                                             const std::string& search_path,
                                             const std::string& but_name = {});

}  // namespace robustrun::bootstrap
