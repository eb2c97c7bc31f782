#pragma once
// The file of --metrics-file: written anew by rename, so that whoever reads it sees a whole page.
//
// On the driver's loop; written by a thread, one page at a time. A disk that is full or dead costs
// pages, is said once, and said again when it can be written.

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
  // Written at once, then every `interval`; `text` is asked from the loop.
  static std::unique_ptr<MetricsFile> open(
      boost::asio::any_io_executor executor, base::BlockingPool& pool,
      base::BlockingPool::Lane lane, std::string path, std::function<std::string()> text,
      std::chrono::milliseconds interval = kMetricsFileInterval);
  virtual ~MetricsFile() = default;
  // The last page; then `done` once, from the loop, after kOutletFarewellMax at most.
  virtual void finish(std::function<void()> done) = 0;
};

}  // namespace robustrun::supervisor
