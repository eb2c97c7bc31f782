#pragma once
// TCP sockets and numeric addresses; names are never looked up. Only for .cpp files of this room.
//
// Every socket is non-blocking and CLOEXEC, sends small messages at once (TCP_NODELAY), and detects
// a dead peer (kTcpUserTimeout, kKeepaliveIdleS).

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

// `host`: "10.0.0.1", "fe80::1%eth0"
[[nodiscard]] base::Result<TcpAddress> parse_address(std::string_view host, std::uint16_t port);
// `endpoint`: "10.0.0.1:4711", "[fe80::1%eth0]:4711"
[[nodiscard]] base::Result<TcpAddress> parse_endpoint(std::string_view endpoint);
// The address as text, without the port. An IPv4-mapped IPv6 address is written as IPv4.
[[nodiscard]] std::string host_text(const sockaddr* address);

// Listens on `host` (numeric; empty: every interface, IPv6 and IPv4) and `port` (0: a free one).
// kConflict: the port is taken; the text names the process that listens there, if /proc shows it.
// kNotFound: no interface has that address.
[[nodiscard]] base::Result<base::Fd> listen_tcp(const std::string& host, std::uint16_t port);
[[nodiscard]] std::uint16_t local_port(int fd);
// Returns a socket whose connect is under way or done. Once the socket is writable,
// connect_result() gives the result.
[[nodiscard]] base::Result<base::Fd> begin_connect(const TcpAddress& address);
[[nodiscard]] base::Status connect_result(int fd);

}  // namespace robustrun::wire
