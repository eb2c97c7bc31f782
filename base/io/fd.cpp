#include "base/io/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/io/limits.h"

namespace robustrun::base {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void Fd::reset() {
  // Never retried after EINTR: Linux has already closed the descriptor.
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<FdPair> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  return FdPair{Fd(ends[0]), Fd(ends[1])};
}

Result<FdPair> make_socket_pair(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno("cannot make a socket pair", errno);
  }
  return FdPair{Fd(ends[0]), Fd(ends[1])};
}

Status set_nonblocking(int fd, bool on) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return fail_errno("cannot read the flags of a descriptor", errno);
  const int wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
  if (wanted != flags && ::fcntl(fd, F_SETFL, wanted) != 0) {
    return fail_errno("cannot set the flags of a descriptor", errno);
  }
  return {};
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno("cannot write", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;

std::unexpected<Error> too_long(const std::string& path, std::size_t limit) {
  return fail(Errc::kLimit,
              "cannot read " + path + ": it is longer than " + std::to_string(limit) + " bytes");
}

Status wait_for_input(int fd, const std::string& path) {
  pollfd input{fd, POLLIN, 0};
  const int ready = ::poll(&input, 1, static_cast<int>(kInputWait.count()));
  if (ready > 0 || (ready < 0 && errno == EINTR)) return {};
  if (ready < 0) return fail_errno("cannot read " + path, errno);
  return fail(Errc::kTimeout, "cannot read " + path + ": this pipe brought nothing for " +
                                  std::to_string(kInputWait.count() / 1000) + " s");
}

Result<std::string> read_all(const Fd& fd, const std::string& path, std::size_t limit,
                             bool is_pipe) {
  // Sizes of /proc files and of growing files are unreliable: read until the end.
  std::string bytes;
  std::string chunk(kChunk, '\0');
  while (true) {
    if (is_pipe) RR_TRY(wait_for_input(fd.get(), path));
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || (is_pipe && errno == EAGAIN))) continue;
    if (got < 0) return fail_errno("cannot read " + path, errno);
    if (got == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(got) > limit) return too_long(path, limit);
    bytes.append(chunk, 0, static_cast<std::size_t>(got));
  }
}

// The null device: an empty file for those who want none.
bool is_null(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == ::makedev(1, 3);
}

// `links`: O_NOFOLLOW or 0. Pipes are read if `takes_pipes`.
Result<std::string> read_bounded(const std::string& path, std::size_t limit, int links,
                                 bool takes_pipes) {
  // Without O_NONBLOCK open() would wait for a FIFO's writer.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | links));
  if (!fd) return fail_errno("cannot read " + path, errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno("cannot look at " + path, errno);
  if (S_ISDIR(status.st_mode)) return fail_errno("cannot read " + path, EISDIR);
  const bool is_pipe = S_ISFIFO(status.st_mode) && takes_pipes;
  if (!S_ISREG(status.st_mode) && !is_pipe && !is_null(status)) {
    return fail(Errc::kCorrupt, "cannot read " + path + ": it is not a regular file");
  }
  // Below a chunk the size says nothing: that of a counter in /sys is 4096.
  if (S_ISREG(status.st_mode) && std::cmp_greater(status.st_size, std::max(limit, kChunk))) {
    return too_long(path, limit);
  }
  return read_all(fd, path, limit, is_pipe);
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit, Links links) {
  return read_bounded(path, limit, links == Links::kRefuse ? O_NOFOLLOW : 0, false);
}

Result<std::string> read_input(const std::string& path, std::size_t limit) {
  return read_bounded(path, limit, 0, true);
}

Result<Fd> open_regular(const std::string& path, Links links) {
  const int no_links = links == Links::kRefuse ? O_NOFOLLOW : 0;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | no_links));
  if (!fd) return fail_errno("cannot read " + path, errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno("cannot look at " + path, errno);
  if (S_ISREG(status.st_mode)) return fd;
  return fail(Errc::kCorrupt, "cannot read " + path + ": it is not a regular file");
}

Status write_file_atomically(const std::string& path, std::string_view bytes, unsigned mode) {
  std::string temporary = path + ".XXXXXX";
  const Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return fail_errno("cannot write " + path, errno);
  Status status = write_all(fd.get(), bytes);
  if (status && ::fchmod(fd.get(), static_cast<mode_t>(mode)) != 0) {
    status = fail_errno("cannot set the mode", errno);
  }
  if (status && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = fail_errno("cannot rename", errno);
  }
  if (status) return {};
  ::unlink(temporary.c_str());
  return fail_errno("cannot write " + path, status.error().os_errno);
}

namespace {

// A link to /proc, as /dev/stdout, leads to what a process has open: its name is not replaced.
bool leads_into_proc(const std::string& path) {
  constexpr std::string_view kProc = "/proc/";
  if (path.starts_with(kProc) || path.starts_with("/dev/fd/")) return true;
  std::array<char, kProc.size()> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size == static_cast<ssize_t>(kProc.size()) &&
         std::string_view(target.data(), target.size()) == kProc;
}

Status wait_for_room(int fd, const std::string& path) {
  pollfd output{fd, POLLOUT, 0};
  const int ready = ::poll(&output, 1, static_cast<int>(kOutputWait.count()));
  if (ready > 0 || (ready < 0 && errno == EINTR)) return {};
  if (ready < 0) return fail_errno("cannot write " + path, errno);
  return fail(Errc::kTimeout, "cannot write " + path + ": its reader took nothing for " +
                                  std::to_string(kOutputWait.count() / 1000) + " s");
}

// A reader that goes away is an error of write(). Of the whole process, for as long as it lives.
class IgnoredSigpipe {
 public:
  IgnoredSigpipe() {
    struct sigaction ignored{};
    ignored.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignored, &before_);
  }
  ~IgnoredSigpipe() { ::sigaction(SIGPIPE, &before_, nullptr); }
  IgnoredSigpipe(const IgnoredSigpipe&) = delete;
  IgnoredSigpipe& operator=(const IgnoredSigpipe&) = delete;

 private:
  struct sigaction before_{};
};

Status write_in_place(const std::string& path, std::string_view bytes) {
  const IgnoredSigpipe ignored;
  // Without O_NONBLOCK open() would wait for a FIFO's reader. O_APPEND: behind what stdout has
  // already written to the same file.
  const Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status{};
  if (!fd && errno == ENXIO && ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode)) {
    return fail(Errc::kUnavailable,
                "cannot write " + path + ": no process reads it; start its reader first");
  }
  if (!fd) return fail_errno("cannot write " + path, errno);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail_errno("cannot write " + path, errno);
    RR_TRY(wait_for_room(fd.get(), path));
  }
  return {};
}

}  // namespace

Status write_output(const std::string& path, std::string_view bytes, unsigned mode) {
  struct stat status{};
  const bool is_special = ::stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode) &&
                          (!S_ISREG(status.st_mode) || leads_into_proc(path));
  if (!is_special) return write_file_atomically(path, bytes, mode);
  if (S_ISBLK(status.st_mode)) {
    return fail(Errc::kInvalidArgument,
                "cannot write " + path + ": it is a disk, whose data would be lost; name a file");
  }
  return write_in_place(path, bytes);
}

Status make_directories(const std::string& path, unsigned mode) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), static_cast<mode_t>(mode)) == 0) continue;
    const int cause = errno;
    struct stat found{};
    if (::stat(part.c_str(), &found) == 0) {
      if (S_ISDIR(found.st_mode)) continue;
      return fail_errno("cannot make the folder " + path, ENOTDIR);
    }
    return fail_errno("cannot make the folder " + path, cause);
  }
  return {};
}

}  // namespace robustrun::base
