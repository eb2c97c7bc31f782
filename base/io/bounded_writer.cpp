#include "base/io/bounded_writer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <climits>
#include <cstring>

namespace robustrun::base {
namespace {

// Stalls are noticed in steps of stall_max / kStallTicks.
constexpr int kStallTicks = 4;
constexpr std::size_t kFileSliceBytes = std::size_t{256} << 10;

// What the loop and the writing thread share.
struct Target {
  Fd fd;
  Fd stop;  // eventfd; readable: the writer gives up. Only where poll() means anything
  std::atomic<std::uint64_t> progress{0};
};

struct Write {
  std::shared_ptr<Target> target;
  std::string bytes;
  std::size_t written = 0;
  int os_errno = 0;
};

// Returns false when asked to stop. Errors of the descriptor count as writable: write() then
// reports them.
bool wait_writable(const Target& target) {
  pollfd fds[2] = {{target.fd.get(), POLLOUT, 0}, {target.stop.get(), POLLIN, 0}};
  while (::poll(fds, 2, -1) < 0) {
    if (errno != EINTR) return false;
  }
  return fds[1].revents == 0;
}

// A pipe that polls writable takes PIPE_BUF bytes without blocking, and never mixed with bytes of
// other processes. Cut at line ends, so that lines stay whole. (Small writes are also the fastest,
// because the pipe's pages stay in the cache.)
std::size_t pipe_slice(std::string_view rest) {
  if (rest.size() <= PIPE_BUF) return rest.size();
  const std::size_t line_end = rest.substr(0, PIPE_BUF).rfind('\n');
  return line_end == std::string_view::npos ? std::size_t{PIPE_BUF} : line_end + 1;
}

void run(Write& job) {
  Target& target = *job.target;
  const bool polls = static_cast<bool>(target.stop);
  while (job.written < job.bytes.size()) {
    if (polls && !wait_writable(target)) return;
    const std::string_view rest = std::string_view(job.bytes).substr(job.written);
    const std::size_t slice = polls ? pipe_slice(rest) : std::min(rest.size(), kFileSliceBytes);
    const ssize_t got = ::write(target.fd.get(), rest.data(), slice);
    if (got < 0) {
      // EAGAIN: another process that shares the descriptor has made it non-blocking.
      if (errno == EINTR || (errno == EAGAIN && polls)) continue;
      job.os_errno = errno;
      return;
    }
    job.written += static_cast<std::size_t>(got);
    target.progress.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
  }
}

bool pollable(int fd) {
  struct stat found{};
  if (::fstat(fd, &found) != 0) return false;
  return S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode) || ::isatty(fd) == 1;
}

// Our own lines about missing bytes, within the worker's output.
struct Notes {
  std::size_t bytes = 0;        // of the lines themselves
  std::uint64_t announced = 0;  // bytes that these lines report as missing
};

}  // namespace

struct BoundedWriter::State : std::enable_shared_from_this<State> {
  State(boost::asio::any_io_executor executor, BlockingPool& blocking, BlockingPool::Lane on,
        Options wanted, Handlers callbacks)
      : watch(executor),
        pool(blocking),
        lane(on),
        options(std::move(wanted)),
        handlers(std::move(callbacks)),
        target(std::make_shared<Target>()) {
    target->fd = std::move(options.fd);
    if (pollable(target->fd.get())) target->stop = Fd(::eventfd(0, EFD_CLOEXEC));
  }

  void drop(std::size_t size) {
    missing += size;
    dropped += size;
  }

  // Drops the queue; the bytes that its notes reported will be reported again.
  void drop_queue() {
    drop(queue.size() - notes.bytes);
    missing += notes.announced;
    notes = {};
    queue.clear();
    congested = false;
  }

  void trouble(bool& told, const std::string& what) {
    if (!std::exchange(told, true) && !closed && handlers.on_trouble) handlers.on_trouble(what);
  }

  void report_progress() {
    if (!closed && handlers.on_progress) handlers.on_progress();
  }

  void append_note() {
    const std::size_t before = queue.size();
    const std::string line =
        options.gap_line
            ? options.gap_line(missing, cause)
            : fmt::format("[robustrun: {} bytes of output are missing here: {}]", missing, cause);
    queue += fmt::format("{}{}\n", at_line_start ? "" : "\n", line);
    notes.bytes += queue.size() - before;
    notes.announced += std::exchange(missing, 0);
    at_line_start = true;
  }

  void release() {  // assigning an empty string would keep the memory
    std::string().swap(spare);
    std::string().swap(queue);
  }

  // A loop that waits for its last timers must not wait for this one.
  void release_if_finished() {
    if (!finishing || busy) return;
    watch.cancel();
    release();
  }

  void start();
  std::string cause_of(const Write& job);
  void ended(Write& job, const std::string& why);
  void arm_watch();
  void on_watch();

  boost::asio::steady_timer watch;
  BlockingPool& pool;
  const BlockingPool::Lane lane;
  Options options;
  Handlers handlers;
  std::shared_ptr<Target> target;
  SystemClock clock;

  std::string queue;
  std::string spare;              // the other buffer, while no write holds it
  std::size_t in_flight_held = 0; // capacity of the buffer being written
  std::uint64_t in_flight_until = 0;  // value of `progress` once all of them are written
  bool busy = false;
  bool watching = false;
  bool congested = false;
  bool stalled = false;
  bool dead = false;
  bool finishing = false;
  bool closed = false;
  bool at_line_start = true;
  bool told_stall = false;
  bool told_error = false;
  Nanos retry_at{};               // not 0: the last write failed
  std::string cause;              // of the last loss
  std::uint64_t missing = 0;      // dropped and not yet announced by a line
  Notes notes;                    // in the queue
  Notes notes_in_flight;
  std::uint64_t dropped = 0;
  std::uint64_t seen_progress = 0;
  int quiet_ticks = 0;
};

void BoundedWriter::State::start() {
  RR_ASSERT(!busy);
  if (queue.empty()) return;
  auto job = std::make_shared<Write>();
  job->target = target;
  job->bytes.swap(queue);
  queue.swap(spare);
  in_flight_held = job->bytes.capacity();
  in_flight_until = target->progress.load(std::memory_order_relaxed) + job->bytes.size();
  notes_in_flight = std::exchange(notes, {});
  quiet_ticks = 0;
  busy = true;
  // The job must not keep this state alive: an abandoned thread may end after the loop is gone.
  const Status submitted = pool.submit(
      lane, [job] { run(*job); },
      [weak = weak_from_this(), job] {
        const auto self = weak.lock();
        if (!self) return;
        self->ended(*job, self->cause_of(*job));
        self->report_progress();
      });
  if (submitted) {
    arm_watch();
  } else {
    ended(*job, submitted.error().what);
  }
}

std::string BoundedWriter::State::cause_of(const Write& job) {
  dead = job.os_errno == EPIPE || job.os_errno == ECONNRESET;
  return job.os_errno == 0 ? std::string() : std::strerror(job.os_errno);
}

void BoundedWriter::State::ended(Write& job, const std::string& why) {
  busy = false;
  stalled = false;
  const std::size_t lost = job.bytes.size() - job.written;
  const std::size_t payload = job.bytes.size() - notes_in_flight.bytes;
  job.bytes.clear();
  spare.swap(job.bytes);
  if (lost == 0) {
    retry_at = {};
    if (congested && queue.size() <= options.congested_bytes / 2) congested = false;
    if (finishing && queue.empty() && missing > 0) append_note();
    start();
    release_if_finished();
    return;
  }
  // A note usually stands at the front: it is lost only when nothing at all was written.
  if (job.written == 0) missing += notes_in_flight.announced;
  drop(std::min(lost, payload));
  drop_queue();
  cause = why;
  at_line_start = false;
  retry_at = clock.now() + options.retry_after;
  release_if_finished();
  if (dead) return;  // there is no reader left to tell
  trouble(told_error, fmt::format("cannot write {}: {}; its output is dropped until it takes "
                                  "bytes again",
                                  options.name, why));
}

void BoundedWriter::State::arm_watch() {
  if (std::exchange(watching, true)) return;
  watch.expires_after(options.stall_max / kStallTicks);
  watch.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!self) return;
    self->watching = false;
    if (!error) self->on_watch();
  });
}

void BoundedWriter::State::on_watch() {
  if (!busy) return release();
  arm_watch();
  const std::uint64_t progress = target->progress.load(std::memory_order_relaxed);
  if (std::exchange(seen_progress, progress) != progress) {
    quiet_ticks = 0;
    stalled = false;
    return;
  }
  if (++quiet_ticks < kStallTicks || stalled) return;
  stalled = true;
  congested = false;
  cause = fmt::format("{} took no bytes for {:.3g} s", options.name,
                      std::chrono::duration<double>(options.stall_max).count());
  trouble(told_stall, cause + "; what does not fit into memory is dropped");
  report_progress();
}

BoundedWriter::BoundedWriter(boost::asio::any_io_executor executor, BlockingPool& pool,
                             BlockingPool::Lane lane, Options options, Handlers handlers)
    : state_(std::make_shared<State>(std::move(executor), pool, lane, std::move(options),
                                     std::move(handlers))) {
  RR_ASSERT(state_->options.queue_bytes_max >= state_->options.congested_bytes);
}

BoundedWriter::~BoundedWriter() {
  state_->closed = true;
  state_->watch.cancel();
  const std::uint64_t stop = 1;
  if (state_->target->stop) {
    RR_ASSERT(::write(state_->target->stop.get(), &stop, sizeof stop) == sizeof stop);
  }
}

void BoundedWriter::append(std::string_view bytes) {
  if (bytes.empty() || begin(bytes.size()) == Room::kNone) return;
  state_->queue.append(bytes);
  commit();
}

BoundedWriter::Room BoundedWriter::begin(std::size_t size) {
  State& state = *state_;
  const bool failing = state.retry_at != Nanos{};
  if (state.queue.size() >= state.options.queue_bytes_max) {
    if (state.cause.empty()) state.cause = state.options.name + " is too slow";
  } else if (!state.dead && !(failing && state.clock.now() < state.retry_at)) {
    if (state.missing == 0) return Room::kFree;
    state.append_note();
    return Room::kAfterGap;
  }
  state.drop(size);
  return Room::kNone;
}

std::string& BoundedWriter::queue() { return state_->queue; }

void BoundedWriter::commit() {
  State& state = *state_;
  if (state.queue.empty()) return;
  state.at_line_start = state.queue.back() == '\n';
  if (!state.busy) {
    state.start();
  } else if (!state.stalled && state.queue.size() >= state.options.congested_bytes) {
    state.congested = true;
  }
}

bool BoundedWriter::congested() const { return state_->congested; }

bool BoundedWriter::settled() const {
  return state_->stalled || (!state_->busy && state_->queue.empty());
}

void BoundedWriter::finish() {
  State& state = *state_;
  state.finishing = true;
  if (!state.busy && !state.dead && state.missing > 0) {
    state.append_note();
    state.start();
  }
  state.release_if_finished();
}

std::uint64_t BoundedWriter::dropped_bytes() const { return state_->dropped; }

std::uint64_t BoundedWriter::queued_bytes() const {
  const State& state = *state_;
  const std::uint64_t progress = state.target->progress.load(std::memory_order_relaxed);
  return state.queue.size() + (state.busy ? state.in_flight_until - progress : 0);
}

Status BoundedWriter::redirect(const Fd& fd) {
  RR_ASSERT(!state_->target->stop);
  // A write(2) that is under way keeps the old file open until it is done.
  if (::dup3(fd.get(), state_->target->fd.get(), O_CLOEXEC) >= 0) return {};
  return fail_errno("cannot redirect " + state_->options.name, errno);
}

bool BoundedWriter::reader_gone() const { return state_->dead; }

std::size_t BoundedWriter::held_bytes() const {
  const State& state = *state_;
  return state.queue.capacity() + state.spare.capacity() + (state.busy ? state.in_flight_held : 0);
}

}  // namespace robustrun::base
