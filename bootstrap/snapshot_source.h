#pragma once
// Another way to a snapshot than to build it: from nodes that have it. Asked before a node builds
// one; blocks, on a thread of a pool.

#include <string>

#include "base/core/result.h"

namespace robustrun::bootstrap {

class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  // Makes CACHE/deps/KEY.sqfs and its about file, as snapshot_store.h has them. False: nobody has
  // it. An error is one of the way: the node builds then.
  virtual base::Result<bool> fetch(const std::string& cache, const std::string& key) = 0;
};

}  // namespace robustrun::bootstrap
