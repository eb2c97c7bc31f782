#pragma once
// Writes the output of an installer to a file, and keeps its last lines for an error message.

#include <string>
#include <string_view>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::agent {

class InstallLog {
 public:
  // Writes DIRECTORY/deps.nodeN.log, created with the first piece; no file if `directory` is empty.
  InstallLog(const std::string& directory, base::NodeId node);

  [[nodiscard]] const std::string& path() const { return path_; }
  void write(std::string_view piece);  // to the file; blocks; on one thread at a time
  void keep(std::string_view piece);  // for tail(); on the loop
  // The last non-empty lines, joined to one printable line.
  [[nodiscard]] std::string tail() const;
  // Why an installer failed, with tail() and path(). `error`: of AskedProgram, with kInstallMax.
  [[nodiscard]] std::string why_failed(const base::Error& error) const;

 private:
  std::string directory_;
  std::string path_;
  base::Fd file_;
  std::string end_;
};

}  // namespace robustrun::agent
