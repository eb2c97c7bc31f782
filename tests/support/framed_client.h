#pragma once
// The other end of a request socket, as rude as a test wants it: bytes go out as they are, and
// nothing blocks, because the server's loop runs in between.

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/io/fd.h"
#include "tests/support/loop.h"

namespace robustrun::test {

inline std::string framed(const std::string& body) {
  const auto size = static_cast<std::uint32_t>(body.size());
  std::string out(sizeof size, '\0');
  std::memcpy(out.data(), &size, sizeof size);  // little endian, as every machine we run on
  return out + body;
}

class FramedClient {
 public:
  FramedClient(Loop& loop, const std::string& path) : loop_(loop) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.data(), path.size());
    const auto* const any = reinterpret_cast<const sockaddr*>(&address);
    connected_ = ::connect(fd_.get(), any, sizeof address) == 0;
  }
  [[nodiscard]] bool connected() const { return connected_; }

  // False when the other end is closed before all is out.
  bool send(const std::string& bytes) {
    std::size_t sent = 0;
    bool broken = false;
    REQUIRE(loop_.run_until([&] {
      const ssize_t n = ::send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n > 0) sent += static_cast<std::size_t>(n);
      broken = n < 0 && errno != EAGAIN;
      return broken || sent == bytes.size();
    }));
    return !broken;
  }
  // The next answer; nothing when the connection ends instead.
  std::string answer() {
    std::uint32_t size = 0;
    REQUIRE(loop_.run_until([&] {
      receive();
      if (received_.size() >= sizeof size) std::memcpy(&size, received_.data(), sizeof size);
      return closed_ || (received_.size() >= sizeof size && received_.size() - sizeof size >= size);
    }));
    if (received_.size() < sizeof size || received_.size() - sizeof size < size) return {};
    const std::string body = received_.substr(sizeof size, size);
    received_.erase(0, sizeof size + size);
    return body;
  }
  std::string ask(const std::string& body) { return send(framed(body)) ? answer() : ""; }
  [[nodiscard]] bool is_closed() {
    return loop_.run_until([this] {
      receive();
      return closed_;
    });
  }
  [[nodiscard]] bool seems_open() {
    receive();
    return !closed_;
  }
  void shut() { fd_.reset(); }

 private:
  void receive() {
    char buffer[4096];
    const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (n > 0) received_.append(buffer, static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EAGAIN)) closed_ = true;
  }

  Loop& loop_;
  base::Fd fd_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  std::string received_;
  bool connected_ = false;
  bool closed_ = false;
};

}  // namespace robustrun::test
