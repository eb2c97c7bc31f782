#pragma once
// The file of --metrics-file: replaced by rename, so that a reader always sees a whole page. A FIFO
// or a character device is written in place.
//
// Used on the driver's loop; a thread writes one page at a time. While the disk is full or fails,
// pages are lost; this is logged once, and once more when the file can be written again. While the
// disk hangs, pages are left out without a line in the log.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/io/blocking_pool.h"
#include "supervisor/outlets/limits.h"

namespace robustrun::supervisor {

class MetricsFile {
 public:
  // Writes at once, then every `interval`; `text` is called from the loop.
  static std::unique_ptr<MetricsFile> open(
      boost::asio::any_io_executor executor, base::BlockingPool& pool,
      base::BlockingPool::Lane lane, std::string path, std::function<std::string()> text,
      std::chrono::milliseconds interval = kMetricsFileInterval);
  virtual ~MetricsFile() = default;
  // Writes the last page, then calls `done` once, from the loop, after kOutletEndMax at most.
  virtual void finish(std::function<void()> done) = 0;
};

}  // namespace robustrun::supervisor
