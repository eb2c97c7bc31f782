#pragma once
// A local folder in which a snapshot is built, or unpacked if it cannot be mounted:
// TMP/robustrun-UID/deps/KEY-ID/tree. Blocks.
//
// Protected by a lock that ends with its process: exclusive while the tree is written, shared while
// it is used. A tree counts once its mark exists; one without mark and lock was left by a process
// that died. The path is the same on every machine with the same TMPDIR, as some installations
// need.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {

// `environment`: NAME=VALUE entries; TMPDIR is looked up in it, with the default /tmp.
[[nodiscard]] std::string places_folder(const std::vector<std::string>& environment);

class SnapshotPlace {
 public:
  // Creates the folder without locking it.
  static base::Result<SnapshotPlace> open(const std::string& places, const std::string& name);

  [[nodiscard]] std::string tree() const { return path_ + "/tree"; }
  [[nodiscard]] std::string file(std::string_view name) const;  // beside the tree
  [[nodiscard]] bool is_whole() const;
  // Take the exclusive lock, or the shared one for reading. Return false if another process's lock
  // excludes that.
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

// Removes unused places: those without a mark, and of the others all but the newest kPlacesKept.
// Places of the key `but_key` are spared.
void remove_unused_places(const std::string& places, const std::string& but_key);

}  // namespace robustrun::bootstrap
