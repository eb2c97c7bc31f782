#include "supervisor/outlets/event_stream.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "base/core/text.h"
#include "base/io/log.h"
#include "supervisor/outlets/limits.h"

namespace robustrun::supervisor {
namespace {

std::string line_of_gap(std::uint64_t bytes, std::string_view cause) {
  return fmt::format(R"({{"event":"gap","dropped_bytes":{},"text":{}}})", bytes,
                     base::json_string(cause));
}

}  // namespace

EventStream::EventStream(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
                         base::BlockingPool::Lane lane, base::Fd fd, std::string name)
    : end_timer_(executor) {
  base::BoundedWriter::Options options;
  options.fd = std::move(fd);
  options.name = std::move(name);
  options.congested_bytes = kEventsCongestedBytes;
  options.queue_bytes_max = kEventsQueueBytesMax;
  options.stall_max = kEventsStallMax;
  options.retry_after = kEventsRetryAfter;
  options.gap_line = line_of_gap;
  base::BoundedWriter::Handlers handlers;
  handlers.on_progress = [this] { settle(false); };
  handlers.on_trouble = [](const std::string& what) { RR_LOG(kWarn, {}, "{}", what); };
  writer_.emplace(executor, pool, lane, std::move(options), std::move(handlers));
}

void EventStream::append(std::string_view line) {
  if (writer_->begin(line.size() + 1) == base::BoundedWriter::Room::kNone) return;
  writer_->queue().append(line).push_back('\n');
  writer_->commit();
}

void EventStream::finish(std::function<void()> done) {
  done_ = std::move(done);
  writer_->finish();
  end_timer_.after(kOutletEndMax, [this] { settle(true); });
  settle(false);
}

void EventStream::settle(bool give_up) {
  if (!done_ || !(give_up || writer_->settled())) return;
  end_timer_.cancel();
  // Posted: the writer may be in the middle of telling us.
  boost::asio::post(end_timer_.get_executor(), std::exchange(done_, {}));
}

base::Result<base::Fd> EventStream::open_file(const std::string& path) {
  // Without O_NONBLOCK open() would wait for a reader of a named pipe.
  base::Fd fd(::open(path.c_str(),
                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600));
  if (!fd && errno == ENXIO) {
    return base::fail(base::Errc::kUnavailable, "cannot write events to " + path +
                                                    ": this pipe has no reader; start its reader "
                                                    "first");
  }
  if (!fd) return base::fail_errno("cannot write events to " + path, errno);
  RR_TRY(base::set_nonblocking(fd.get(), false));
  return fd;
}

base::Result<base::Fd> EventStream::open_descriptor(int fd) {
  base::Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy)
    return base::fail_errno(fmt::format("cannot write events to descriptor {}", fd), errno);
  return copy;
}

}  // namespace robustrun::supervisor
