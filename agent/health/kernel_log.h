#pragma once
// Follows the kernel's log from its end on. Never blocks.
//
// /dev/kmsg gives one record with each read; a test's file or FIFO any bytes, so that lines are put
// together here. What the kernel overwrote before it was read is lost, which is no error.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::agent {

inline constexpr const char* kKernelLogPath = "/dev/kmsg";

class KernelLog {
 public:
  // kPermission, kNotFound, …: it cannot be read here (kernel.dmesg_restrict, a container).
  static base::Result<KernelLog> open(const std::string& path);

  // Lines that are there, without their ends; at most kKernelReadsPerLook reads of them. Longer
  // ones than kKernelLineBytesMax are left out.
  std::vector<std::string> read_lines();

 private:
  explicit KernelLog(base::Fd fd) : fd_(std::move(fd)) {}
  base::Fd fd_;
  std::string rest_;  // of a line whose end has not come
  bool too_long_ = false;
};

}  // namespace robustrun::agent
