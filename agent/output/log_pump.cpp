#include "agent/output/log_pump.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <tuple>

#include "agent/output/line_filter.h"
#include "agent/output/tail_buffer.h"
#include "base/io/bounded_writer.h"

namespace robustrun::agent {
namespace {

using base::BoundedWriter;
using boost::system::error_code;

// A script may print what only its user may read.
constexpr mode_t kLogFileMode = 0600;

// Just after the last line end in `bytes`; 0: none.
std::size_t last_line_end(std::string_view bytes) {
  const std::size_t newline = bytes.rfind('\n');
  const std::size_t from = newline == std::string_view::npos ? 0 : newline + 1;
  const std::size_t overwrite = bytes.substr(from).rfind('\r');
  return overwrite == std::string_view::npos ? from : from + overwrite + 1;
}

class Pump final : public std::enable_shared_from_this<Pump> {
 public:
  Pump(boost::asio::any_io_executor executor, LogPumpOptions options, LogPump::Handlers handlers)
      : source_(executor),
        pause_(executor),
        partial_timer_(executor),
        congestion_timer_(executor),
        options_(std::move(options)),
        handlers_(std::move(handlers)) {}

  base::Status open(base::BlockingPool& pool);
  void close();
  void set_congested(bool congested);
  void drain();
  [[nodiscard]] std::vector<std::string> tail() const { return tail_.lines(options_.tail_lines); }
  [[nodiscard]] std::uint64_t dropped_bytes() const;
  [[nodiscard]] std::size_t held_bytes() const;

 private:
  base::Result<std::unique_ptr<BoundedWriter>> open_file(base::BlockingPool& pool, int lane,
                                                         const std::string& path, int flags);
  [[nodiscard]] bool blocked() const;
  void wait_for_input();
  void pause_reading();
  void read_some();
  ssize_t next(char* to, std::size_t size);
  void hold_rest();
  void enlarge_pipe();
  void note(std::string_view fresh);
  void took(std::string_view fresh, std::string_view with_rest);
  void to_console(std::string_view bytes, bool partial);
  void watch_rest();
  void on_rest_due();
  void end();
  void finish_if_settled();
  void trouble(const std::string& what);

  boost::asio::posix::stream_descriptor source_;
  boost::asio::steady_timer pause_;
  boost::asio::steady_timer partial_timer_;
  boost::asio::steady_timer congestion_timer_;
  LogPumpOptions options_;
  LogPump::Handlers handlers_;
  std::unique_ptr<BoundedWriter> file_;
  std::unique_ptr<BoundedWriter> filter_file_;
  std::optional<LineFilter> filter_;
  TailBuffer tail_;

  std::string rest_;              // an incomplete line, for the console
  bool rest_fresh_ = false;       // it has grown since the timer was set
  bool rest_watched_ = false;
  bool waiting_ = false;          // until the source is readable
  bool pausing_ = false;          // between two small reads
  bool pipe_enlarged_ = false;
  bool congested_ = false;
  bool console_given_up_ = false; // congested for too long: its copy is dropped
  bool console_reported_ = false;
  bool ended_ = false;
  bool finished_ = false;
  bool closed_ = false;
  std::optional<std::size_t> drain_left_;  // bytes to pass on before the end, while draining
  std::string held_;  // the next bytes: noted already, but blocked when they were read
  std::size_t held_taken_ = 0;  // how many of them were passed on
  std::uint64_t console_dropped_ = 0;
};

base::Result<std::unique_ptr<BoundedWriter>> Pump::open_file(base::BlockingPool& pool, int lane,
                                                             const std::string& path, int flags) {
  // Without O_NONBLOCK open() would wait for a reader of a FIFO.
  base::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags,
                     kLogFileMode));
  if (!fd) return base::fail_errno("cannot write the log file " + path, errno);
  RR_TRY(base::set_nonblocking(fd.get(), false));
  BoundedWriter::Options options;
  options.fd = std::move(fd);
  options.name = path;
  options.congested_bytes = kFileCongestedBytes;
  options.queue_bytes_max = kFileQueueBytesMax;
  options.stall_max = options_.limits.file_stall_max;
  options.retry_after = options_.limits.file_retry_after;
  // The writers are members and call nothing after their end, so `this` is alive whenever they
  // call.
  BoundedWriter::Handlers handlers;
  handlers.on_progress = [this] {
    wait_for_input();
    finish_if_settled();
  };
  handlers.on_trouble = [this](const std::string& what) { trouble(what); };
  return std::make_unique<BoundedWriter>(source_.get_executor(), pool,
                                         static_cast<base::BlockingPool::Lane>(lane),
                                         std::move(options), std::move(handlers));
}

base::Status Pump::open(base::BlockingPool& pool) {
  // Descriptors are unique, so each pump has a lane of its own.
  const int lane = options_.source.get();
  RR_ASSERT(lane >= 0);
  if (!options_.file.empty()) file_ = RR_TRY(open_file(pool, lane, options_.file, O_TRUNC));
  if (!options_.filters.empty() && !options_.filter_file.empty()) {
    filter_file_ = RR_TRY(open_file(pool, lane, options_.filter_file, O_APPEND));
    filter_.emplace(std::move(options_.filters), std::move(options_.filter_prefix));
  }
  error_code error;
  source_.assign(options_.source.get(), error);
  if (error) return base::fail_errno("cannot watch a worker's output", error.value());
  std::ignore = options_.source.release();
  source_.non_blocking(true, error);
  wait_for_input();
  return {};
}

void Pump::close() {
  closed_ = true;
  error_code ignored;
  source_.close(ignored);
  pause_.cancel();
  partial_timer_.cancel();
  congestion_timer_.cancel();
  file_.reset();
  filter_file_.reset();
}

bool Pump::blocked() const {
  return (congested_ && !console_given_up_) || (file_ && file_->congested()) ||
         (filter_file_ && filter_file_->congested());
}

// Every path back to reading passes through here.
void Pump::wait_for_input() {
  if (closed_ || ended_ || waiting_ || pausing_ || blocked()) return;
  waiting_ = true;
  const auto go_on = [self = shared_from_this()](const error_code& error) {
    self->waiting_ = false;
    const bool may_read = !error || !self->held_.empty();
    if (may_read && !self->pausing_) self->read_some();
  };
  if (held_.empty()) return source_.async_wait(source_.wait_read, go_on);
  boost::asio::post(source_.get_executor(), [go_on] { go_on({}); });
}

void Pump::pause_reading() {
  pausing_ = true;
  pause_.expires_after(kReadPause);
  pause_.async_wait([self = shared_from_this()](const error_code&) {
    self->pausing_ = false;
    self->wait_for_input();
  });
}

void Pump::read_some() {
  if (closed_ || ended_ || blocked()) return;
  // The incomplete line is put in front of what follows, so that the console gets one piece. On the
  // stack: an idle pump holds no memory.
  std::array<char, kLineBytesMax + kLogReadBytes> buffer;
  std::memcpy(buffer.data(), rest_.data(), rest_.size());
  char* const fresh = buffer.data() + rest_.size();
  const std::size_t wanted = std::min(kLogReadBytes, drain_left_.value_or(kLogReadBytes));
  const bool is_noted = !held_.empty();
  const ssize_t got = wanted == 0 ? 0 : next(fresh, wanted);
  if (got < 0) {
    const int cause = errno;
    if (cause == EINTR || (cause == EAGAIN && !drain_left_)) return wait_for_input();
    if (cause != EAGAIN) trouble(fmt::format("cannot read output: {}", std::strerror(cause)));
    return end();
  }
  if (got == 0) return end();
  const auto size = static_cast<std::size_t>(got);
  if (!is_noted) note({fresh, size});
  took({fresh, size}, {buffer.data(), rest_.size() + size});
  if (closed_) return;
  if (drain_left_) {
    *drain_left_ -= size;
    if (*drain_left_ == 0) return end();
  } else if (size < kBusyReadBytes) {
    return pause_reading();
  } else {
    enlarge_pipe();
  }
  wait_for_input();
}

ssize_t Pump::next(char* to, std::size_t size) {
  if (held_.empty()) return ::read(source_.native_handle(), to, size);
  const std::size_t got = held_.copy(to, size, held_taken_);
  held_taken_ += got;
  if (held_taken_ == held_.size()) std::string().swap(held_);
  return static_cast<ssize_t>(got);
}

// Only for streams that need it: a user's pipes share one limit (pipe-user-pages-soft).
void Pump::enlarge_pipe() {
  if (std::exchange(pipe_enlarged_, true)) return;
  ::fcntl(source_.native_handle(), F_SETPIPE_SZ, static_cast<int>(kBusyPipeBytes));
}

void Pump::note(std::string_view fresh) {
  if (options_.tail_lines > 0) tail_.append(fresh);
  if (handlers_.on_bytes) handlers_.on_bytes(fresh);
}

void Pump::took(std::string_view fresh, std::string_view with_rest) {
  if (file_) file_->append(fresh);
  if (filter_) {
    std::string matches;
    filter_->feed(fresh, matches);
    filter_file_->append(matches);
  }
  if (!options_.to_console) return;
  const std::size_t old = with_rest.size() - fresh.size();
  const std::size_t line_end = last_line_end(fresh);
  const std::size_t whole = line_end == 0 ? 0 : old + line_end;
  const std::string_view rest = with_rest.substr(whole);
  if (rest.size() > kLineBytesMax) {
    rest_.clear();
    return to_console(with_rest, true);
  }
  if (whole == 0) {
    rest_.append(fresh);
  } else {
    rest_.assign(rest);
    to_console(with_rest.substr(0, whole), false);
  }
  rest_fresh_ = true;
  if (!closed_) watch_rest();
}

void Pump::to_console(std::string_view bytes, bool partial) {
  if (console_given_up_) {
    console_dropped_ += bytes.size();
  } else if (handlers_.on_console) {
    handlers_.on_console(bytes, partial);
  }
}

void Pump::watch_rest() {
  if (std::exchange(rest_watched_, true)) return;
  partial_timer_.expires_after(kPartialLineMax / 2);
  partial_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    self->rest_watched_ = false;
    if (!error && !self->closed_) self->on_rest_due();
  });
}

void Pump::on_rest_due() {
  if (rest_.empty()) {
    std::string().swap(rest_);  // frees its memory
  } else if (rest_fresh_ || congested_) {
    rest_fresh_ = false;
    watch_rest();
  } else {
    to_console(std::exchange(rest_, {}), true);
  }
}

void Pump::set_congested(bool congested) {
  if (closed_ || congested == congested_) return;
  congested_ = congested;
  console_given_up_ = false;
  if (!congested) {
    congestion_timer_.cancel();
    return wait_for_input();
  }
  congestion_timer_.expires_after(options_.limits.console_pause_max);
  congestion_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || self->closed_ || !self->congested_) return;
    self->console_given_up_ = true;
    if (!std::exchange(self->console_reported_, true)) {
      self->trouble(
          "the console takes no output: until it does, output goes to the log files only");
    }
    self->wait_for_input();
  });
}

void Pump::drain() {
  if (closed_ || ended_ || drain_left_) return;
  // Everything the worker wrote is in the pipe by now. More can only come from a stray process that
  // holds the pipe open, which is no reason to wait.
  int pending = 0;
  if (::ioctl(source_.native_handle(), FIONREAD, &pending) != 0 || pending < 0) pending = 0;
  drain_left_ = static_cast<std::size_t>(pending);
  if (*drain_left_ == 0) {
    // What is reported next comes after the worker's last words.
    if (!rest_.empty()) to_console(std::exchange(rest_, {}), true);
    boost::asio::post(source_.get_executor(), [self = shared_from_this()] { self->end(); });
    return;
  }
  pause_.cancel();
  pausing_ = false;
  // Now, not later: tail() is called next. At most a pipe's content.
  while (!closed_ && !ended_ && !blocked()) read_some();
  if (!closed_ && !ended_) hold_rest();
}

// The last lines must not wait for a console or a file that takes nothing: what is blocked is noted
// now and passed on later.
void Pump::hold_rest() {
  held_.resize(*drain_left_);
  std::size_t size = 0;
  while (size < held_.size()) {
    const ssize_t got = ::read(source_.native_handle(), held_.data() + size, held_.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  held_.resize(size);
  drain_left_ = size;
  if (held_.empty()) return end();
  note(held_);
  // The pipe is empty, so waiting for it would never end.
  error_code ignored;
  source_.cancel(ignored);
}

void Pump::end() {
  if (closed_ || std::exchange(ended_, true)) return;
  error_code ignored;
  source_.close(ignored);
  pause_.cancel();
  partial_timer_.cancel();
  if (!rest_.empty()) to_console(std::exchange(rest_, {}), true);
  if (closed_) return;
  if (file_) file_->finish();
  if (filter_) {
    std::string matches;
    filter_->finish(matches);
    filter_file_->append(matches);
    filter_file_->finish();
  }
  finish_if_settled();
}

void Pump::finish_if_settled() {
  const auto settled = [](const std::unique_ptr<BoundedWriter>& file) {
    return !file || file->settled();
  };
  if (!ended_ || finished_ || !settled(file_) || !settled(filter_file_)) return;
  finished_ = true;
  congestion_timer_.cancel();
  boost::asio::post(source_.get_executor(), [self = shared_from_this()] {
    if (!self->closed_ && self->handlers_.on_finished) self->handlers_.on_finished();
  });
}

// Posted, like on_finished: the handler may destroy the pump while one of its writers is calling.
void Pump::trouble(const std::string& what) {
  boost::asio::post(source_.get_executor(), [self = shared_from_this(), what] {
    if (!self->closed_ && self->handlers_.on_trouble) self->handlers_.on_trouble(what);
  });
}

std::uint64_t Pump::dropped_bytes() const {
  return console_dropped_ + (file_ ? file_->dropped_bytes() : 0);
}

std::size_t Pump::held_bytes() const {
  return rest_.capacity() + held_.capacity() + (file_ ? file_->held_bytes() : 0) +
         (filter_file_ ? filter_file_->held_bytes() : 0);
}

class PumpHandle final : public LogPump {
 public:
  explicit PumpHandle(std::shared_ptr<Pump> pump) : pump_(std::move(pump)) {}
  ~PumpHandle() override { pump_->close(); }
  void set_congested(bool congested) override { pump_->set_congested(congested); }
  void drain() override { pump_->drain(); }
  [[nodiscard]] std::vector<std::string> tail() const override { return pump_->tail(); }
  [[nodiscard]] std::uint64_t dropped_bytes() const override { return pump_->dropped_bytes(); }
  [[nodiscard]] std::size_t held_bytes() const override { return pump_->held_bytes(); }

 private:
  std::shared_ptr<Pump> pump_;
};

}  // namespace

base::Result<std::unique_ptr<LogPump>> LogPump::open(boost::asio::any_io_executor executor,
                                                     base::BlockingPool& pool,
                                                     LogPumpOptions options, Handlers handlers) {
  auto pump = std::make_shared<Pump>(std::move(executor), std::move(options), std::move(handlers));
  RR_TRY(pump->open(pool));
  return std::unique_ptr<LogPump>(std::make_unique<PumpHandle>(std::move(pump)));
}

}  // namespace robustrun::agent
