#pragma once
// The destination of --events: a file that is appended to, or a descriptor of our caller.
//
// Used on the driver's loop, which never waits: a thread writes, and memory is bounded. Lines that
// a full disk or a slow reader does not take are dropped and counted. Each gap is marked by a line
// in the stream; the trouble is logged once. After a reader has gone, nothing more is written.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/io/blocking_pool.h"
#include "base/io/bounded_writer.h"
#include "base/io/fd.h"
#include "base/io/timer.h"

namespace robustrun::supervisor {

class EventStream {
 public:
  // Opens the file for the constructor, and creates it if needed (0600). A named pipe must have a
  // reader already.
  static base::Result<base::Fd> open_file(const std::string& path);
  // Copies a descriptor of our caller for the constructor.
  static base::Result<base::Fd> open_descriptor(int fd);

  EventStream(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
              base::BlockingPool::Lane lane, base::Fd fd, std::string name);
  // A whole line, without its end.
  void append(std::string_view line);
  // Calls `done` once, from the loop, when everything is written or given up, after kOutletEndMax
  // at most.
  void finish(std::function<void()> done);

 private:
  void settle(bool give_up);

  base::Timer end_timer_;
  std::function<void()> done_;
  std::optional<base::BoundedWriter> writer_;
};

}  // namespace robustrun::supervisor
