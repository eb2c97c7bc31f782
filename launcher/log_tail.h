#pragma once
// Follows the lines that another process appends to a file; woken by inotify(7), so an idle file
// costs nothing. To be used on the loop of its executor, which also calls `on_line`.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/core/result.h"

namespace robustrun::launcher {

class LogTail {
 public:
  using OnLine = std::function<void(const std::string& line)>;
  // Starts at the beginning of the file, which must exist. `on_line` receives whole lines without
  // their line ends, cut to kSrunLineBytesMax; it may be called before follow() returns, and must
  // not destroy this object.
  static base::Result<std::unique_ptr<LogTail>> follow(boost::asio::any_io_executor executor,
                                                       const std::string& path, OnLine on_line);
  virtual ~LogTail() = default;
  // Delivers everything up to the end of the file, including an incomplete last line.
  virtual void finish() = 0;
};

}  // namespace robustrun::launcher
