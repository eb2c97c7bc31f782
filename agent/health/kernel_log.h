#pragma once
// Follows the kernel's log from its end on. Never blocks.
//
// /dev/kmsg gives one record per read; a test's file or FIFO gives any bytes, so lines are put
// together here. Records that the kernel overwrote before they were read are lost, which is no
// error.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::agent {

inline constexpr const char* kKernelLogPath = "/dev/kmsg";

class KernelLog {
 public:
  // kOs, with EPERM, ENOENT, …: it cannot be read here (kernel.dmesg_restrict, a container).
  static base::Result<KernelLog> open(const std::string& path);

  // The complete lines that are there, without their ends, from at most kKernelReadsPerLook reads.
  // Lines longer than kKernelLineBytesMax are skipped.
  std::vector<std::string> read_lines();

 private:
  explicit KernelLog(base::Fd fd) : fd_(std::move(fd)) {}
  base::Fd fd_;
  std::string rest_;  // an incomplete line
  bool too_long_ = false;
};

}  // namespace robustrun::agent
