#pragma once
// Takes all space of a file system for a while, for drills.
//
// The file loses its name while it is empty, so that its space is free again however this process
// ends. On the loop; allocation happens on the pool. Refused: the file system of /, more than
// kDiskFillBytesMax of free space, or more than kMemoryFillBytesMax where files are in memory.

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

  // `done` is called once, from the loop, with the bytes taken. kConflict while a fill is under
  // way.
  using Done = std::function<void(base::Result<std::uint64_t> bytes)>;
  void fill(const std::string& folder, base::Nanos duration, Done done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
