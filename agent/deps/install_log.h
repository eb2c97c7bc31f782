#pragma once
// What an installer writes: all of it in a file of the run, its last lines for an error.

#include <string>
#include <string_view>

#include "base/core/ids.h"
#include "base/io/fd.h"

namespace robustrun::agent {

class InstallLog {
 public:
  // DIRECTORY/deps.nodeN.log; no file without a directory. Made with the first piece.
  InstallLog(const std::string& directory, base::NodeId node);

  [[nodiscard]] const std::string& path() const { return path_; }
  void write(std::string_view piece);  // blocks: for one thread alone
  void keep(std::string_view piece);   // the rest: for the loop
  // The last lines that say anything, on one line; printable.
  [[nodiscard]] std::string tail() const;

 private:
  std::string directory_;
  std::string path_;
  base::Fd file_;
  std::string end_;
};

}  // namespace robustrun::agent
