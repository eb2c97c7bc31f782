#pragma once
// A folder of this machine's own disk where a snapshot is built, or unpacked where nothing can be
// mounted: TMP/robustrun-UID/deps/KEY-ID/tree. Blocks.
//
// Held by a lock, which goes with its process: alone while it is written, together with others
// while it is used. A tree counts once its mark is there; what has none was left by somebody who
// died. Its path is the same on every machine with the same TMPDIR, as some installations need.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {

// `environment`: NAME=VALUE, where TMPDIR is looked for; /tmp without it.
[[nodiscard]] std::string places_folder(const std::vector<std::string>& environment);

class SnapshotPlace {
 public:
  // Makes the folder; nobody is kept out yet.
  static base::Result<SnapshotPlace> open(const std::string& places, const std::string& name);

  [[nodiscard]] std::string tree() const { return path_ + "/tree"; }
  [[nodiscard]] std::string file(std::string_view name) const;  // beside the tree
  [[nodiscard]] bool is_whole() const;
  // For us alone, or for all who only read. False: somebody has it.
  [[nodiscard]] bool lock_alone();
  [[nodiscard]] bool lock_shared();
  // An empty tree; for who has it alone, as are the next two.
  base::Status clear();
  base::Status mark_whole();
  void remove();

 private:
  SnapshotPlace(std::string path, base::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  base::Fd lock_;
};

// Removes places that nobody uses: those without a mark, and of the others all but the newest
// kPlacesKept. Those of other keys than `but_key` alone.
void remove_unused_places(const std::string& places, const std::string& but_key);

}  // namespace robustrun::bootstrap
