#pragma once
// TCP sockets and numeric addresses; names are never looked up. Only for .cpp files of this room.
//
// Every socket is created non-blocking and CLOEXEC, sends small messages at once and detects a dead
// peer (wire/messages/limits.h).

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "wire/net/local_addresses.h"

namespace robustrun::wire {

struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// "10.0.0.1", "fe80::1%eth0"
[[nodiscard]] base::Result<TcpAddress> parse_address(std::string_view host, std::uint16_t port);
// "10.0.0.1:4711", "[fe80::1%eth0]:4711"
[[nodiscard]] base::Result<TcpAddress> parse_endpoint(std::string_view endpoint);
// Without the port; an IPv4 address that came through an IPv6 socket is shown as IPv4.
[[nodiscard]] std::string host_text(const sockaddr* address);

// See Listener::open.
[[nodiscard]] base::Result<base::Fd> listen_tcp(const std::string& host, std::uint16_t port);
[[nodiscard]] std::uint16_t local_port(int fd);
// The connect is under way or done; connect_result() gives its result once the socket is writable.
[[nodiscard]] base::Result<base::Fd> begin_connect(const TcpAddress& address);
[[nodiscard]] base::Status connect_result(int fd);

}  // namespace robustrun::wire
