#pragma once
// The output of an installer: all of it in a file of the run, its last lines for an error.

#include <string>
#include <string_view>

#include "base/core/ids.h"
#include "base/io/fd.h"

namespace robustrun::agent {

class InstallLog {
 public:
  // Writes DIRECTORY/deps.nodeN.log, created with the first piece; no file if `directory` is empty.
  InstallLog(const std::string& directory, base::NodeId node);

  [[nodiscard]] const std::string& path() const { return path_; }
  void write(std::string_view piece);  // to the file; blocks: for one thread alone
  void keep(std::string_view piece);  // for tail(); on the loop
  // The last non-empty lines, joined to one printable line.
  [[nodiscard]] std::string tail() const;

 private:
  std::string directory_;
  std::string path_;
  base::Fd file_;
  std::string end_;
};

}  // namespace robustrun::agent
