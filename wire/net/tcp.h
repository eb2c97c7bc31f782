#pragma once
// TCP sockets and numeric addresses: no names are ever looked up. For wire/*.cpp alone.
//
// Every socket is non-blocking and CLOEXEC from birth, sends small messages at once and notices a
// peer that is gone (wire/messages/limits.h).

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
// Without the port; IPv4 that came through an IPv6 socket looks like IPv4.
[[nodiscard]] std::string host_text(const sockaddr* address);

// As Listener::open says.
[[nodiscard]] base::Result<base::Fd> listen_tcp(const std::string& host, std::uint16_t port);
[[nodiscard]] std::uint16_t local_port(int fd);
// Under way, or connected already; connect_result() tells once the socket is writable.
[[nodiscard]] base::Result<base::Fd> begin_connect(const TcpAddress& address);
[[nodiscard]] base::Status connect_result(int fd);
[[nodiscard]] ConnectionAddresses addresses_of(int fd);

// "process 4711 (python3)", for the process that listens on `port`, as far as /proc tells us.
[[nodiscard]] std::optional<std::string> port_owner(std::uint16_t port);

}  // namespace robustrun::wire
