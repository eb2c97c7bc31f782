#pragma once
// The private folder of a run on this node, for records and sockets: one per agent below
// base/io/private_dir.h.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::agent {

// Owns the folder: it and its files go with the object. Held by a lock, so that the folder of an
// agent that was killed is known by its free lock and removed by the next one.
class RuntimeDirectory {
 public:
  // Makes it, 0700. kPermission when a parent is somebody else's or open to others: never used
  // then. `environment`: the workers', for XDG_RUNTIME_DIR.
  static base::Result<RuntimeDirectory> make(const std::vector<std::string>& environment,
                                             const std::string& run_id);
  RuntimeDirectory(RuntimeDirectory&&) = default;
  RuntimeDirectory& operator=(RuntimeDirectory&&) = delete;
  ~RuntimeDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  RuntimeDirectory(std::string path, base::Fd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  base::Fd lock_;
};

}  // namespace robustrun::agent
