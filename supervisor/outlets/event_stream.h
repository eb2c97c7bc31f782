#pragma once
// Where the lines of --events go: a file that is appended to, or a descriptor of our caller.
//
// On the driver's loop, which never waits for it: writing is a thread's, memory is bounded, and
// what a full disk or a slow reader does not take is dropped, counted, and said: once in the log,
// and in a line of its own at that place. A reader that went away misses nothing more.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/io/blocking_pool.h"
#include "base/io/fd.h"

namespace robustrun::supervisor {

class EventStream {
 public:
  // For open(): the file, made 0600 if it is not there, or a copy of our caller's descriptor. A
  // pipe with a name needs a reader already.
  static base::Result<base::Fd> open_file(const std::string& path);
  static base::Result<base::Fd> open_descriptor(int fd);

  static std::unique_ptr<EventStream> open(boost::asio::any_io_executor executor,
                                           base::BlockingPool& pool, base::BlockingPool::Lane lane,
                                           base::Fd fd, std::string name);
  virtual ~EventStream() = default;
  // A whole line, without its end.
  virtual void append(std::string_view line) = 0;
  // Calls `done` once when all is written or given up, from the loop.
  virtual void finish(std::function<void()> done) = 0;
};

}  // namespace robustrun::supervisor
