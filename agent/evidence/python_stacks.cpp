#include "agent/evidence/python_stacks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "agent/evidence/process_look.h"
#include "agent/node/limits.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

base::Result<base::Fd> open_stack_file(const std::string& path) {
  // The file is the worker's own: it must neither block us nor lead elsewhere.
  base::Fd file(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return base::fail_errno("its stack file cannot be read", errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return base::fail(base::Errc::kCorrupt, "its stack file is not a regular file");
  }
  return file;
}

std::size_t size_of(const base::Fd& file) {
  struct stat status{};
  const bool known = ::fstat(file.get(), &status) == 0 && status.st_size > 0;
  return known ? static_cast<std::size_t>(status.st_size) : 0;
}

std::string read_from(const base::Fd& file, std::size_t begin) {
  std::string text(std::min(std::max(size_of(file), begin) - begin, kStackDumpBytesMax), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), static_cast<off_t>(begin));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

class Looks final : public std::enable_shared_from_this<Looks> {
 public:
  Looks(const asio::any_io_executor& executor, Suspect suspect, PythonStacks::Done done)
      : suspect_(std::move(suspect)),
        done_(std::move(done)),
        deadline_(executor),
        next_(executor),
        poll_(executor) {}

  void start(std::chrono::milliseconds within) {
    if (std::string why = cannot_look(); !why.empty()) return finish_later(std::move(why));
    deadline_.expires_after(within);
    deadline_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->on_deadline();
    });
    next_.expires_after(suspect_.apart);
    ask();
  }

  void drop() {
    done_ = nullptr;
    deadline_.cancel();
    next_.cancel();
    poll_.cancel();
  }

 private:
  std::string cannot_look();
  void ask();
  void poll_later();
  void on_poll();
  void on_dump();
  void wait_for_second();
  void on_deadline();
  void finish_later(std::string why) {
    asio::post(poll_.get_executor(),
               [self = shared_from_this(), why = std::move(why)] { self->finish(why); });
  }
  void finish(const std::string& why) {
    answer_.missing = why;
    const PythonStacks::Done done = std::exchange(done_, nullptr);
    drop();
    if (done) done(std::move(answer_));
  }

  const Suspect suspect_;
  PythonStacks::Done done_;
  asio::steady_timer deadline_, next_, poll_;
  base::Fd file_;
  std::size_t begin_ = 0;    // of the awaited dump, in the file
  std::size_t size_ = 0;     // of the file, at the last poll
  unsigned quiet_polls_ = 0;  // in a row without growth
  bool is_second_ = false;
  PythonStacks::Answer answer_;
};

// Empty: a signal may be sent now.
std::string Looks::cannot_look() {
  if (suspect_.stack_file.empty() || suspect_.stack_signal == 0 || !suspect_.signal) {
    return "the worker was started without our handler";
  }
  const SignalState state = signal_state(suspect_.pid, suspect_.stack_signal);
  if (state.is_stopped) return "the worker is stopped";
  if (!state.is_caught) return "the worker has no handler installed";
  if (state.is_pending) return "the worker has not taken the signal of an earlier look";
  auto file = open_stack_file(suspect_.stack_file);
  if (!file) return std::move(file).error().what;
  file_ = *std::move(file);
  return {};
}

void Looks::ask() {
  begin_ = size_of(file_);
  // The worker appends at the file's end, wherever that is.
  if (begin_ > kStackFileBytesMax && ::ftruncate(file_.get(), 0) == 0) begin_ = 0;
  size_ = begin_;
  quiet_polls_ = 0;
  suspect_.signal(suspect_.stack_signal);
  poll_later();
}

void Looks::poll_later() {
  poll_.expires_after(kStackPoll);
  poll_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error && self->done_) self->on_poll();
  });
}

// The end of a dump is not marked: it is what looks like an end and stays so for a while.
void Looks::on_poll() {
  const std::size_t size = size_of(file_);
  quiet_polls_ = size == size_ ? quiet_polls_ + 1 : 0;
  size_ = size;
  if (size >= begin_ + kStackDumpBytesMax) return on_dump();
  if (size <= begin_ || quiet_polls_ < kStackQuietPolls) return poll_later();
  if (quiet_polls_ < kStackQuietPollsMax && !ends_like_dump(read_from(file_, begin_))) {
    return poll_later();
  }
  on_dump();
}

void Looks::on_dump() {
  StackDump dump = parse_faulthandler(read_from(file_, begin_));
  if (dump.stacks.empty()) return finish("the output of the worker's handler cannot be parsed");
  if (!is_second_) {
    answer_.dump = std::move(dump);
    return wait_for_second();
  }
  const tracer::ThreadStack* const before = main_stack(answer_.dump.stacks);
  const tracer::ThreadStack* const now = main_stack(dump.stacks);
  answer_.moved = before != nullptr && now != nullptr && before->frames != now->frames;
  // The first look stays the answer: the worker's collectives were read at the same moment.
  finish(answer_.dump.cut ? "with so many threads the main thread's stack is not written" : "");
}

void Looks::wait_for_second() {
  next_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || !self->done_) return;
    if (const std::string why = self->cannot_look(); !why.empty()) {
      return self->finish("no second look: " + why);
    }
    self->is_second_ = true;
    self->ask();
  });
}

void Looks::on_deadline() {
  if (!answer_.dump.stacks.empty()) return finish("no second look in time");
  finish(size_ > begin_ ? "the worker's handler did not finish in time"
                        : "the worker has not taken the signal in time");
}

class PythonStacksOwner final : public PythonStacks {
 public:
  explicit PythonStacksOwner(std::shared_ptr<Looks> looks) : looks_(std::move(looks)) {}
  ~PythonStacksOwner() override { looks_->drop(); }
  PythonStacksOwner(const PythonStacksOwner&) = delete;
  PythonStacksOwner& operator=(const PythonStacksOwner&) = delete;

 private:
  std::shared_ptr<Looks> looks_;
};

}  // namespace

std::unique_ptr<PythonStacks> PythonStacks::start(asio::any_io_executor executor,
                                                  const Suspect& suspect,
                                                  std::chrono::milliseconds within, Done done) {
  auto looks = std::make_shared<Looks>(executor, suspect, std::move(done));
  looks->start(within);
  return std::make_unique<PythonStacksOwner>(std::move(looks));
}

}  // namespace robustrun::agent
