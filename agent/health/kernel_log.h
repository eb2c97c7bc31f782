#pragma once
// Reads the lines that are added to the kernel's log. Never blocks.
//
// A read of /dev/kmsg gives one record, a read of a test's file or FIFO any number of bytes.
// Records that the kernel overwrites before they are read are lost; this is not an error.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::agent {

inline constexpr const char* kKernelLogPath = "/dev/kmsg";

class KernelLog {
 public:
  // kOs, with EPERM, ENOENT, …: the log cannot be read (kernel.dmesg_restrict, a container).
  static base::Result<KernelLog> open(const std::string& path);

  // The complete new lines, without line ends, from at most kKernelReadsPerLook reads. Lines longer
  // than kKernelLineBytesMax are skipped.
  std::vector<std::string> read_lines();

 private:
  explicit KernelLog(base::Fd fd) : fd_(std::move(fd)) {}
  base::Fd fd_;
  std::string rest_;  // an incomplete line
  bool too_long_ = false;
};

}  // namespace robustrun::agent
