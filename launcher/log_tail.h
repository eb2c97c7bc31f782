#pragma once
// The lines of a file, as another process appends them; woken by inotify(7), so that nothing is
// done while nothing is written. On the loop of its executor.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/core/result.h"

namespace robustrun::launcher {

class LogTail {
 public:
  using OnLine = std::function<void(const std::string& line)>;
  // From the file's beginning; it must be there. `on_line` gets whole lines without their ends,
  // cut to kSrunLineBytesMax, and must not end this object.
  static base::Result<std::unique_ptr<LogTail>> follow(boost::asio::any_io_executor executor,
                                                       const std::string& path, OnLine on_line);
  virtual ~LogTail() = default;
  // What is there now, to the end of the file, with a last line that has no end.
  virtual void finish() = 0;
};

}  // namespace robustrun::launcher
