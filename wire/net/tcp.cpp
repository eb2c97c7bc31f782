#include "wire/net/tcp.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>

#include "base/core/text.h"
#include "wire/messages/limits.h"
#include "wire/net/port_owner.h"

namespace robustrun::wire {
namespace {

using base::Errc;
using base::fail;
using base::fail_errno;

constexpr int kFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

base::Status set_option(int fd, int level, int name, int value) {
  if (::setsockopt(fd, level, name, &value, sizeof value) == 0) return {};
  return fail_errno("cannot prepare a socket", errno);
}

// Accepted sockets inherit these options from the listening one.
base::Status set_tcp_options(int fd) {
  struct Option {
    int level;
    int name;
    int value;
  };
  const Option options[] = {
      {IPPROTO_TCP, TCP_NODELAY, 1},
      {SOL_SOCKET, SO_KEEPALIVE, 1},
      {IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleS},
      {IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveIntervalS},
      {IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kTcpUserTimeout.count())}};
  for (const Option& option : options) {
    if (auto set = set_option(fd, option.level, option.name, option.value); !set) return set;
  }
  return {};
}

TcpAddress any_address(int family, std::uint16_t port) {
  TcpAddress address;
  address.storage.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = htons(port);
    address.size = sizeof(sockaddr_in6);
  } else {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(port);
    address.size = sizeof(sockaddr_in);
  }
  return address;
}

std::unexpected<base::Error> cannot_listen(const std::string& host, std::uint16_t port,
                                           int os_errno) {
  const std::string where =
      "cannot listen on port " + std::to_string(port) + (host.empty() ? "" : " of " + host);
  if (os_errno == EADDRINUSE) {
    const auto owner = port_owner(port);
    return fail(Errc::kConflict, where + ": " + owner.value_or("another process") +
                                     " listens there; stop it, or choose another port");
  }
  if (os_errno == EADDRNOTAVAIL) {
    return fail(Errc::kNotFound, where + ": no interface of this machine has that address");
  }
  return fail_errno(where, os_errno);
}

base::Result<base::Fd> listen_at(const TcpAddress& address, const std::string& host,
                                 std::uint16_t port) {
  base::Fd fd(::socket(address.storage.ss_family, kFlags, 0));
  if (!fd) return cannot_listen(host, port, errno);
  if (auto set = set_tcp_options(fd.get()); !set) return std::unexpected(std::move(set).error());
  if (auto set = set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1); !set) {
    return std::unexpected(std::move(set).error());
  }
  if (address.storage.ss_family == AF_INET6) {
    if (auto set = set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0); !set) {
      return std::unexpected(std::move(set).error());
    }
  }
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 ||
      ::listen(fd.get(), kListenBacklog) != 0) {
    return cannot_listen(host, port, errno);
  }
  return fd;
}

}  // namespace

base::Result<TcpAddress> parse_address(std::string_view host, std::uint16_t port) {
  const auto wrong = [host] {
    return fail(Errc::kInvalidArgument,
                "cannot use the address '" + base::printable(host) + "': it is not numeric");
  };
  if (host.size() >= INET6_ADDRSTRLEN + IF_NAMESIZE) return wrong();
  TcpAddress address = any_address(AF_INET, port);
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (::inet_pton(AF_INET, std::string(host).c_str(), &v4->sin_addr) == 1) return address;
  address = any_address(AF_INET6, port);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  const std::size_t percent = host.find('%');
  if (::inet_pton(AF_INET6, std::string(host.substr(0, percent)).c_str(), &v6->sin6_addr) != 1) {
    return wrong();
  }
  if (percent == std::string_view::npos) return address;
  const std::string zone(host.substr(percent + 1));
  v6->sin6_scope_id = ::if_nametoindex(zone.c_str());
  if (v6->sin6_scope_id == 0) {
    return fail(Errc::kNotFound, "cannot use the address '" + base::printable(host) +
                                     "': this machine has no interface of that name");
  }
  return address;
}

base::Result<TcpAddress> parse_endpoint(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string_view::npos) {
    return fail(Errc::kInvalidArgument, "cannot use the endpoint '" + base::printable(endpoint) +
                                            "': expected ADDRESS:PORT");
  }
  const std::uint16_t port = RR_TRY(base::parse_int<std::uint16_t>(endpoint.substr(colon + 1)));
  std::string_view host = endpoint.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return parse_address(host, port);
}

std::string host_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    return text;
  }
  if (address->sa_family != AF_INET6) return "?";
  const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
    constexpr std::size_t kMappedPrefixBytes = 12;
    ::inet_ntop(AF_INET, v6->sin6_addr.s6_addr + kMappedPrefixBytes, text, sizeof text);
    return text;
  }
  ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
  char zone[IF_NAMESIZE] = "";
  if (v6->sin6_scope_id == 0 || ::if_indextoname(v6->sin6_scope_id, zone) == nullptr) return text;
  return std::string(text) + "%" + zone;
}

base::Result<base::Fd> listen_tcp(const std::string& host, std::uint16_t port) {
  if (!host.empty()) return listen_at(RR_TRY(parse_address(host, port)), host, port);
  auto both = listen_at(any_address(AF_INET6, port), host, port);
  if (both || both.error().code == Errc::kConflict) return both;
  return listen_at(any_address(AF_INET, port), host, port);  // a kernel without IPv6
}

std::uint16_t local_port(int fd) {
  TcpAddress address;
  address.size = sizeof address.storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) {
    return 0;
  }
  // The port is at the same offset in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

base::Result<base::Fd> begin_connect(const TcpAddress& address) {
  base::Fd fd(::socket(address.storage.ss_family, kFlags, 0));
  if (!fd) return fail_errno("cannot make a socket", errno);
  if (auto set = set_tcp_options(fd.get()); !set) return std::unexpected(std::move(set).error());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 &&
      errno != EINPROGRESS) {
    return fail_errno("cannot connect", errno);
  }
  return fd;
}

base::Status connect_result(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return fail_errno("cannot connect", error);
  return {};
}

ConnectionAddresses addresses_of(int fd) {
  const auto text = [fd](auto* query) {
    TcpAddress address;
    address.size = sizeof address.storage;
    auto* const generic = reinterpret_cast<sockaddr*>(&address.storage);
    return query(fd, generic, &address.size) == 0 ? host_text(generic) : std::string("?");
  };
  return {.local = text(&::getsockname), .remote = text(&::getpeername)};
}

}  // namespace robustrun::wire
