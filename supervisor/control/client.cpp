#include "supervisor/control/client.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/core/text.h"
#include "supervisor/control/file.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

using base::Errc;

constexpr std::size_t kLengthBytes = 4;

base::Status refuse_strangers(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid()) {
    return {};
  }
  return base::fail(Errc::kPermission, "cannot talk to the run: its socket is another user's");
}

// Whether the process with this number has ended (proc_pid_stat(5)). If one is there, it may be
// another process.
bool is_dead(std::int32_t pid) {
  if (pid <= 0) return false;
  const auto stat = base::read_file(fmt::format("/proc/{}/stat", pid), kControlFileBytesMax);
  if (!stat) return stat.error().os_errno == ENOENT || stat.error().os_errno == ESRCH;
  const std::size_t name_end = stat->rfind(") ");
  return name_end != std::string::npos && stat->substr(name_end + 2).starts_with('Z');
}

std::unexpected<base::Error> gone() {
  return base::fail(Errc::kUnavailable, "the run's supervisor is gone");
}

}  // namespace

base::Result<ControlClient> ControlClient::connect(const std::string& run_directory) {
  std::string where = "it has ended, its supervisor was killed, or it runs on another machine";
  const auto ended = [&](base::Errc code, const std::string& why) {
    return base::fail(code,
                      fmt::format("cannot reach the run in {}: {}; {}", run_directory, why, where));
  };
  const auto file = read_control_file(run_directory);
  if (!file) {
    const bool refused = file.error().code == Errc::kPermission;
    return ended(refused ? Errc::kPermission : Errc::kNotFound, file.error().what);
  }
  if (!file->host.empty() && file->host != this_host()) {
    where = fmt::format("it runs on {} (pid {}), or did", base::printable(file->host), file->pid);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, file->socket.data(), file->socket.size());
  // Not blocking: a supervisor that is stopped takes no connections.
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return base::fail_errno("cannot make a socket", errno);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EAGAIN) {
      return base::fail(Errc::kTimeout,
                        "the run's supervisor takes no connection: it is stopped, "
                        "or too many are talking to it");
    }
    const int os_errno = errno;
    if (os_errno != EACCES && file->host == this_host() && is_dead(file->pid)) {
      where = fmt::format("`robustrun resume {}` takes it over",
                          base::printable(run_directory.substr(run_directory.rfind('/') + 1)));
      return ended(Errc::kNotFound, fmt::format("its supervisor, pid {}, was killed", file->pid));
    }
    return ended(os_errno == EACCES ? Errc::kPermission : Errc::kNotFound,
                 "no process listens on its socket");
  }
  RR_TRY(refuse_strangers(fd.get()));
  ControlClient client(std::move(fd));
  client.watch_peer();
  return client;
}

// Its number counts only because it has our connection still open afterwards.
void ControlClient::watch_peer() {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) return;
  base::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
  pollfd watched{fd_.get(), POLLIN, 0};
  if (!pidfd || ::poll(&watched, 1, 0) != 0) return;
  peer_ = std::move(pidfd);
  peer_pid_ = peer.pid;
}

base::Result<bool> ControlClient::readable(int fd, base::Nanos until) const {
  const base::SystemClock clock;
  for (;;) {
    pollfd watched[2] = {{fd, POLLIN, 0}, {interrupt_fd_, POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.now());
    const auto timeout = std::clamp<std::int64_t>(left.count(), 0, 1'000'000);
    const int ready = ::poll(watched, 2, static_cast<int>(timeout));
    if (ready > 0 && watched[1].revents != 0) {
      return base::fail(Errc::kCancelled, "interrupted");
    }
    if (ready > 0) return true;
    if (clock.now() >= until) return false;
  }
}

base::Result<ControlFields> ControlClient::ask(const ControlFields& request) {
  const std::string answer = RR_TRY(ask_text(request));
  ControlFields fields = RR_TRY(read_control_message(answer));
  if (fields["type"] == "error") return base::fail(Errc::kInvalidArgument, fields["message"]);
  return fields;
}

base::Result<std::string> ControlClient::ask_text(const ControlFields& request) {
  const std::string body = write_control_message(request);
  const auto length = static_cast<std::uint32_t>(body.size());
  std::string frame;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    frame += static_cast<char>((length >> shift) & 0xFF);
  }
  frame += body;
  // A server that is busy has closed the connection, and said so before.
  const ssize_t sent = ::send(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  if (sent < 0 ? errno != EPIPE && errno != ECONNRESET : std::cmp_less(sent, frame.size())) {
    return gone();
  }
  return read_answer(base::SystemClock().now() + answer_max_);
}

base::Result<std::string> ControlClient::read_answer(base::Nanos until) {
  std::string frame;
  std::size_t wanted = kLengthBytes;
  while (frame.size() < wanted) {
    if (!RR_TRY(readable(fd_.get(), until))) {
      return base::fail(Errc::kTimeout, "the run's supervisor does not answer");
    }
    char buffer[65536];
    const ssize_t got =
        ::recv(fd_.get(), buffer, std::min(sizeof buffer, wanted - frame.size()), 0);
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) return gone();
    frame.append(buffer, static_cast<std::size_t>(got));
    if (frame.size() == kLengthBytes) {
      std::uint32_t length = 0;
      for (std::size_t i = kLengthBytes; i-- > 0;) {
        length = length << 8 | static_cast<unsigned char>(frame[i]);
      }
      if (length > kControlAnswerBytesMax) {
        return base::fail(Errc::kCorrupt, "the run's supervisor answers nonsense");
      }
      wanted += length;
    }
  }
  return frame.substr(kLengthBytes);
}

bool ControlClient::wait(base::Nanos time) {
  // The server never sends without a request: anything that can be read is the end.
  const auto gone = readable(fd_.get(), base::SystemClock().now() + time);
  return gone && !*gone;
}

base::Status ControlClient::wait_for_end(base::Nanos time) {
  // A pidfd can be read when its process has ended.
  const int fd = peer_ ? peer_.get() : fd_.get();
  if (RR_TRY(readable(fd, base::SystemClock().now() + time))) return {};
  return base::fail(Errc::kTimeout, "the run has not ended yet");
}

}  // namespace robustrun::supervisor
