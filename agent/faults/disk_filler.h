#pragma once
// Takes all space of a file system for a while, for drills.
//
// The space belongs to a file without a name, so that it is free again however this process ends.
// Used on the loop; allocation happens on the pool. These file systems are refused: the one of /,
// one with more than kDiskFillBytesMax of free space, and one in memory (tmpfs) with more than
// kMemoryFillBytesMax.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/blocking_pool.h"

namespace robustrun::agent {

class DiskFiller {
 public:
  DiskFiller(boost::asio::any_io_executor executor, base::BlockingPool& pool);
  ~DiskFiller();   // frees the space
  DiskFiller(const DiskFiller&) = delete;
  DiskFiller& operator=(const DiskFiller&) = delete;

  // Gets the number of bytes taken. Called once, perhaps at once; not after this object is
  // destroyed. kConflict: a fill is under way. kInvalidArgument, kLimit: refused.
  using Done = std::function<void(base::Result<std::uint64_t> bytes)>;
  // Takes the space of the file system of `folder`, and frees it after `duration`.
  void fill(const std::string& folder, base::Nanos duration, Done done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
