#pragma once
// The private folder of a run on this node, for records and sockets: one per agent, below the
// folder of base/io/private_dir.h.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::agent {

// Owns the folder and removes it with its files. A lock marks it as in use: the folder of an agent
// that was killed is recognised by its free lock and removed by the next agent.
class RuntimeDirectory {
 public:
  // Creates it with mode 0700. kPermission when a parent belongs to another user or is open to
  // others: it is never used then. `environment`: the workers', for XDG_RUNTIME_DIR.
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
