#include "supervisor/control_client.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/core/text.h"
#include "supervisor/control_server.h"
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

// True when there is something to read, or the peer is gone.
bool readable(int fd, base::Nanos until) {
  const base::SystemClock clock;
  for (;;) {
    pollfd watched{fd, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.now());
    const auto timeout = std::clamp<std::int64_t>(left.count(), 0, 1'000'000);
    const int ready = ::poll(&watched, 1, static_cast<int>(timeout));
    if (ready > 0) return true;
    if (clock.now() >= until) return false;
  }
}

std::unexpected<base::Error> gone() {
  return base::fail(Errc::kUnavailable, "the run's supervisor is gone");
}

}  // namespace

base::Result<ControlClient> ControlClient::connect(const std::string& run_directory) {
  const auto ended = [&](const std::string& why) {
    return base::fail(Errc::kNotFound,
                      fmt::format("cannot reach the run in {}: {}; it has ended, its supervisor "
                                  "was killed, or it runs on another machine",
                                  run_directory, why));
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  auto path = base::read_file(control_file(run_directory), sizeof address.sun_path);
  if (!path) return ended("it has no file 'control'");
  const std::string_view name = base::trim(*path);
  if (name.empty() || name.size() >= sizeof address.sun_path) {
    return ended("its file 'control' names no socket");
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return base::fail_errno("cannot make a socket", errno);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return ended("nobody listens at its socket");
  }
  RR_TRY(refuse_strangers(fd.get()));
  return ControlClient(std::move(fd));
}

base::Result<ControlFields> ControlClient::ask(const ControlFields& request) {
  const std::string body = write_control_message(request);
  const auto length = static_cast<std::uint32_t>(body.size());
  std::string frame;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    frame += static_cast<char>((length >> shift) & 0xFF);
  }
  frame += body;
  if (::send(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(frame.size())) {
    return gone();
  }
  const std::string answer = RR_TRY(read_answer(base::SystemClock().now() + kControlAnswerMax));
  ControlFields fields = RR_TRY(read_control_message(answer));
  if (fields["type"] == "error") return base::fail(Errc::kInvalidArgument, fields["message"]);
  return fields;
}

base::Result<std::string> ControlClient::read_answer(base::Nanos until) {
  std::string frame;
  std::size_t wanted = kLengthBytes;
  while (frame.size() < wanted) {
    if (!readable(fd_.get(), until)) {
      return base::fail(Errc::kTimeout, "the run's supervisor does not answer");
    }
    char buffer[4096];
    const ssize_t got =
        ::recv(fd_.get(), buffer, std::min(sizeof buffer, wanted - frame.size()), 0);
    if (got <= 0) return gone();
    frame.append(buffer, static_cast<std::size_t>(got));
    if (frame.size() == kLengthBytes) {
      std::uint32_t length = 0;
      for (std::size_t i = kLengthBytes; i-- > 0;) {
        length = length << 8 | static_cast<unsigned char>(frame[i]);
      }
      if (length > kControlMessageBytesMax) {
        return base::fail(Errc::kCorrupt, "the run's supervisor answers nonsense");
      }
      wanted += length;
    }
  }
  return frame.substr(kLengthBytes);
}

bool ControlClient::wait(base::Nanos time) {
  // Nobody speaks without being asked: what can be read is the end.
  return !readable(fd_.get(), base::SystemClock().now() + time);
}

}  // namespace robustrun::supervisor
