#pragma once
// Folders of this user on this machine in which a process mounts something: BASE/mounts/NAME-N,
// with BASE as in base/io/private_dir.h.
//
// Each is held by a lock (flock) on its file `owner`, which says for people who holds it. The lock
// goes with its process, however that ends: what lies in a folder whose lock is free belongs to
// nobody, and is unmounted and removed by the next one, or taken over by the one of the same name.
// Locks, not pids: those of another container that shares /tmp mean nothing here. All of this
// blocks; any thread will do.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {

class MountFolder {
 public:
  // NAME-0, or with the next number while others hold that. `about`: a line for people, such as
  // the run. What a dead one of this name has left in it, mounts and sockets, is still there.
  static base::Result<MountFolder> take(const std::string& base, const std::string& name,
                                        const std::string& about);
  // The folder at `path`, for a process that lives on in it after its owner's death; nothing while
  // somebody holds it.
  static std::optional<MountFolder> of_nobody(const std::string& path);
  // Without another word the folder stays, with all that is mounted, as one that nobody holds.
  MountFolder(MountFolder&&) = default;
  MountFolder& operator=(MountFolder&&) = default;

  [[nodiscard]] const std::string& path() const { return path_; }
  // A folder in it to mount at, made if it is missing; its path.
  [[nodiscard]] base::Result<std::string> make_inside(const std::string& name) const;
  // Unmounts and removes all of it. `search_path`: as in squash_mount.h.
  base::Status remove(const std::string& search_path);

 private:
  MountFolder(std::string path, base::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  friend std::vector<std::string> remove_stale_mounts(const std::string& base,
                                                      const std::string& search_path,
                                                      const std::string& but_name);

  std::string path_;
  base::Fd lock_;
};

// Unmounts and removes what dead processes of this user left, but for folders of the name
// `but_name` (empty: none), which their successor may take over. Returns what was removed.
std::vector<std::string> remove_stale_mounts(const std::string& base,
                                             const std::string& search_path,
                                             const std::string& but_name = {});

}  // namespace robustrun::bootstrap
