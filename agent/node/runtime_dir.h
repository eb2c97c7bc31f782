#pragma once
// The private folder of one agent for records and sockets of its run, below the folder of
// base/io/private_dir.h.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::agent {

// Owns the folder, and removes it with its files in the destructor. The folder is locked while its
// agent lives. If the agent is killed, the next agent finds the folder without a lock and removes
// it.
class RuntimeDirectory {
 public:
  // Creates the folder with mode 0700. kPermission: the folder above belongs to another user or is
  // open to others. `environment`: of the workers; XDG_RUNTIME_DIR is looked up in it.
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
