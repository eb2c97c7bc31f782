#include "base/io/tool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/process/v2/posix/default_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>
#include <cerrno>
#include <climits>
#include <csignal>
#include <optional>

#include "base/core/text.h"
#include "base/io/descriptor_limit.h"
#include "base/io/fd.h"
#include "base/io/limits.h"
#include "base/io/strays.h"

namespace robustrun::base {
namespace {

namespace process = boost::process::v2;
using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// Runs in the child, last, and does the exec itself. Boost.Process 1.81 would not close our
// descriptors, and after a failed exec it would run exit(): our atexit handlers and a second flush
// of our stdio buffers, in the child. Only system calls are allowed here.
struct OwnExec {
  int report_fd;

  error_code on_exec_setup(process::posix::default_launcher& launcher,
                           const process::filesystem::path& executable,
                           const char* const*(&argv)) const {
    ::setpgid(0, 0);  // its own group: the deadline also kills what the tool has started
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    give_inherited_descriptor_limit();
    ::close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
    ::execve(executable.c_str(), const_cast<char* const*>(argv),
             const_cast<char* const*>(launcher.env));
    const int cause = errno;
    static_cast<void>(::write(report_fd, &cause, sizeof cause) == 0);
    ::_exit(127);
  }
};

// One of the tool's output streams.
class Capture {
 public:
  Capture(boost::asio::io_context& context, Fd read_end, std::size_t bytes_max)
      : stream_(context, read_end.release()), bytes_max_(bytes_max) {
    read();
  }

  // The tool is dead: the bytes in the pipe are its own, but a daemon that it started may hold the
  // other end for ever, so this does not wait.
  std::string finish() {
    error_code error;
    stream_.non_blocking(true, error);
    while (!error) keep(stream_.read_some(boost::asio::buffer(chunk_), error));
    return std::move(text_);
  }

 private:
  void read() {
    stream_.async_read_some(boost::asio::buffer(chunk_), [this](error_code error, std::size_t n) {
      keep(n);
      if (!error) read();
    });
  }

  void keep(std::size_t size) {
    text_.append(chunk_.data(), std::min(size, bytes_max_ - text_.size()));
  }

  stream_descriptor stream_;
  const std::size_t bytes_max_;
  std::array<char, 16384> chunk_{};
  std::string text_;
};

ExitStatus from_wait_status(int status) {
  if (WIFEXITED(status)) return {ExitStatus::Kind::kExited, WEXITSTATUS(status), false};
  return {ExitStatus::Kind::kSignaled, WTERMSIG(status), WCOREDUMP(status) != 0};
}

Status check_executable(const std::string& path) {
  struct stat found{};
  if (path.empty() || path[0] != '/' || ::stat(path.c_str(), &found) != 0 ||
      !S_ISREG(found.st_mode) || ::access(path.c_str(), X_OK) != 0) {
    return fail(Errc::kNotFound, "cannot run " + path + ": it is not an executable file");
  }
  return {};
}

// A file in memory: whatever its size, no process has to write while the tool reads.
Result<Fd> open_input(std::string_view input) {
  Fd fd(input.empty() ? ::open("/dev/null", O_RDONLY | O_CLOEXEC)
                      : ::memfd_create("input", MFD_CLOEXEC));
  if (!fd) return fail_errno("cannot make an input", errno);
  if (!input.empty()) RR_TRY(write_all(fd.get(), input));
  if (!input.empty() && ::lseek(fd.get(), 0, SEEK_SET) != 0) {
    return fail_errno("cannot make an input", errno);
  }
  return fd;
}

Result<ToolResult> run_checked(const std::vector<std::string>& argv,
                               std::chrono::milliseconds deadline, std::string_view input,
                               int stop_fd) {
  FdPair out = RR_TRY(make_pipe());
  FdPair err = RR_TRY(make_pipe());
  FdPair report = RR_TRY(make_pipe());
  const Fd in = RR_TRY(open_input(input));

  boost::asio::io_context context(1);
  Capture captured_out(context, std::move(out.first), kToolOutputBytesMax);
  Capture captured_err(context, std::move(err.first), kToolErrorBytesMax);
  stream_descriptor stop(context);
  if (stop_fd >= 0) {
    Fd copy(::fcntl(stop_fd, F_DUPFD_CLOEXEC, 0));
    if (!copy) return fail_errno("cannot watch for a stop", errno);
    stop.assign(copy.release());
  }
  process::posix::default_launcher launch;
  SparedChild known;
  auto tool = launch(context.get_executor(), process::filesystem::path(argv[0]),
                     std::vector<std::string>(argv.begin() + 1, argv.end()),
                     process::process_stdio{in.get(), out.second.get(), err.second.get()},
                     OwnExec{report.second.get()});
  known.is(tool.id());
  out.second.reset();
  err.second.reset();
  report.second.reset();

  std::optional<ExitStatus> status;
  bool late = false;
  boost::asio::steady_timer timer(context, deadline);
  const auto give_up = [&](error_code error) {
    if (error || late) return;
    late = true;
    ::kill(-tool.id(), SIGKILL);  // not reaped yet, so neither pid nor group can be recycled
    timer.expires_after(kToolKillWait);
    timer.async_wait([&](error_code) { context.stop(); });
  };
  timer.async_wait(give_up);
  if (stop.is_open()) stop.async_wait(stream_descriptor::wait_read, give_up);
  tool.async_wait([&](error_code error, int) {
    if (!error) status = from_wait_status(tool.native_exit_code());
    timer.cancel();
    context.stop();
  });
  context.run();
  // Takes what was read before the stop but not delivered yet, so that no bytes are missing.
  context.restart();
  context.poll();
  // The destructor of `tool` would signal a pid that may no longer be ours.
  static_cast<void>(tool.detach());

  if (late) {
    return fail(Errc::kTimeout, "cannot wait longer for " + argv[0] + ": no end within " +
                                    std::to_string(deadline.count()) + " ms; it was killed");
  }
  if (!status) {
    return fail(Errc::kInternal, "cannot learn how " + argv[0] + " ended: it was reaped elsewhere");
  }
  int exec_errno = 0;
  if (::read(report.first.get(), &exec_errno, sizeof exec_errno) == sizeof exec_errno) {
    return fail_errno("cannot run " + argv[0], exec_errno);
  }
  return ToolResult{*status, captured_out.finish(), captured_err.finish()};
}

}  // namespace

Result<ToolResult> run_tool(const std::vector<std::string>& argv,
                            std::chrono::milliseconds deadline, std::string_view input,
                            int stop_fd) {
  RR_ASSERT(!argv.empty());
  RR_TRY(check_executable(argv[0]));
  try {
    return run_checked(argv, deadline, input, stop_fd);
  } catch (const boost::system::system_error& error) {
    return fail_errno("cannot run " + argv[0], error.code().value());
  }
}

Result<std::string> find_executable(const std::string& name, const std::string& path) {
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr) return fail_errno("cannot find " + name, errno);
  // Links stay unresolved: a virtual environment's interpreter is found through its own name.
  const auto absolute = [&](const std::string& file) {
    return file.starts_with('/') ? file : std::string(here) + "/" + file;
  };
  if (name.find('/') != std::string::npos) {
    if (check_executable(absolute(name))) return absolute(name);
    return fail(Errc::kNotFound, "cannot find " + name + ": it is not an executable file");
  }
  for (const std::string_view folder : split(path, ':')) {
    std::string file = folder.empty() ? name : std::string(folder) + "/" + name;
    file = absolute(file);
    if (!name.empty() && check_executable(file)) return file;
  }
  return fail(Errc::kNotFound, "cannot find " + name + " on PATH");
}

}  // namespace robustrun::base
