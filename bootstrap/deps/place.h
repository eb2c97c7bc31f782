#pragma once
// A local folder in which a snapshot is built, or unpacked if it cannot be mounted:
// TMP/robustrun-UID/deps/KEY-ID/tree. Blocks.
//
// A process locks the folder: exclusively while it writes the tree, shared while it uses the tree.
// The kernel releases the lock when the process ends. A tree is complete once a mark exists (the
// file `whole` beside it); a tree with neither mark nor lock was left by a process that died. The
// path is the same on every machine with the same TMPDIR, because some installations contain it.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {

// TMP/robustrun-UID/deps, where TMP is TMPDIR in `environment` (NAME=VALUE entries), or /tmp.
[[nodiscard]] std::string places_folder(const std::vector<std::string>& environment);

class SnapshotPlace {
 public:
  // Creates the folder without locking it.
  static base::Result<SnapshotPlace> open(const std::string& places, const std::string& name);

  [[nodiscard]] std::string tree() const { return path_ + "/tree"; }
  [[nodiscard]] std::string file(std::string_view name) const;  // beside the tree
  // Whether the tree is complete.
  [[nodiscard]] bool is_whole() const;
  // Take the exclusive lock, or the shared one. Return false if another process's lock prevents it.
  [[nodiscard]] bool lock_alone();
  [[nodiscard]] bool lock_shared();
  // Empties the tree. This and the next two calls require the exclusive lock.
  base::Status clear();
  base::Status mark_whole();
  void remove();

 private:
  SnapshotPlace(std::string path, base::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  base::Fd lock_;
};

// Removes places that no process has locked: those without a mark, and of the others all but the
// newest kPlacesKept. Does not remove places of the key `but_key`.
void remove_unused_places(const std::string& places, const std::string& but_key);

}  // namespace robustrun::bootstrap
