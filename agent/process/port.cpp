#include "agent/process/port.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstring>
#include <optional>

#include "agent/node/limits.h"
#include "agent/process/port_holder.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

using base::Errc;

constexpr unsigned kPortMax = 65'535;
constexpr unsigned kFirstUserPort = 1024;
constexpr unsigned kFirstQuietPort = 10'000;  // few well-known services lie above it
// The default ports of another torchrun's own store.
constexpr unsigned kTorchrunPorts[] = {29'400, 29'500};

struct PortRange {
  unsigned first = 0;
  unsigned last = 0;
};

// Parses "32768\t60999", "9148-9150" or "8080"; nullopt: malformed.
std::optional<PortRange> parse_range(std::string_view text) {
  text = base::trim(text);
  const std::size_t cut = text.find_first_of("-\t ");
  const auto first = base::parse_int<unsigned>(text.substr(0, cut));
  const auto last = cut == std::string_view::npos
                        ? first
                        : base::parse_int<unsigned>(base::trim(text.substr(cut + 1)));
  if (!first || !last) return std::nullopt;
  return PortRange{*first, std::min(*last, kPortMax)};
}

std::string read_setting(const char* name) {
  auto text = base::read_file(std::string("/proc/sys/net/ipv4/") + name, kSysfsBytesMax);
  return text ? *std::move(text) : std::string();
}

// Binds one socket of one family; a missing family (no IPv6 on this machine) is no error.
base::Result<base::Fd> bind_any(int family, std::uint16_t port, bool reuse) {
  base::Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) {
    if (errno == EAFNOSUPPORT) return base::Fd();
    return base::fail_errno("cannot make a socket", errno);
  }
  const int on = 1;
  if (reuse) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address{};
  socklen_t size = 0;
  if (family == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    std::memcpy(&address, &any, size = sizeof any);
  } else {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(port);
    std::memcpy(&address, &any, size = sizeof any);
  }
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return fd;
  if (errno == EADDRNOTAVAIL) return base::Fd();
  return base::fail_errno(fmt::format("cannot bind port {}", port), errno);
}

base::Status try_bind(std::uint16_t port, bool reuse) {
  const base::Fd v4 = RR_TRY(bind_any(AF_INET, port, reuse));
  const base::Fd v6 = RR_TRY(bind_any(AF_INET6, port, reuse));
  if (v4 || v6) return {};
  return base::fail(Errc::kUnavailable,
                    "cannot bind a port: this machine has neither IPv4 nor IPv6");
}

}  // namespace

std::vector<std::uint16_t> candidate_ports(std::string_view ephemeral, std::string_view reserved) {
  std::bitset<kPortMax + 1> excluded;
  const auto exclude = [&excluded](std::string_view text) {
    const std::optional<PortRange> range = parse_range(text);
    if (!range) return;
    for (unsigned port = range->first; port <= range->last; ++port) excluded.set(port);
  };
  for (const std::string_view piece : base::split(reserved, ',')) exclude(piece);
  for (const unsigned port : kTorchrunPorts) excluded.set(port);
  const auto without_ephemeral = excluded;
  exclude(ephemeral);

  const auto from = [&excluded](unsigned first) {
    std::vector<std::uint16_t> ports;
    for (unsigned port = first; port <= kPortMax; ++port) {
      if (!excluded.test(port)) ports.push_back(static_cast<std::uint16_t>(port));
    }
    return ports;
  };
  std::vector<std::uint16_t> ports = from(kFirstQuietPort);
  if (ports.size() < kPortCandidatesMin) ports = from(kFirstUserPort);
  if (ports.size() < kPortCandidatesMin) {
    // The machine gives nearly every port to outgoing connections: ephemeral ports must do.
    excluded = without_ephemeral;
    ports = from(kFirstQuietPort);
  }
  return ports;
}

base::Result<std::uint16_t> reserve_port(base::Rng& rng) {
  const auto ports =
      candidate_ports(read_setting("ip_local_port_range"), read_setting("ip_local_reserved_ports"));
  std::string last_failure = "the administrator reserves all of them";
  for (unsigned draw = 0; draw < kPortDrawsMax && !ports.empty(); ++draw) {
    const std::uint16_t port = ports[rng.below(ports.size())];
    const base::Status bound = try_bind(port, false);
    if (bound) return port;
    last_failure = bound.error().what;
  }
  return base::fail(Errc::kUnavailable,
                    "cannot find a free TCP port: " + last_failure + "; give one by --master-port");
}

base::Status check_port_free(std::uint16_t port) {
  const base::Status bound = try_bind(port, true);
  if (bound) return {};
  if (bound.error().os_errno == EACCES) {
    return base::fail_errno(fmt::format("cannot use port {} (below 1024 only root can)", port),
                            EACCES);
  }
  if (bound.error().os_errno != EADDRINUSE) return bound;
  const std::optional<PortHolder> holder = port_holder(port);
  std::string what = fmt::format("port {} is in use", port);
  if (holder && holder->pid != 0) {
    what += fmt::format(" by pid {} ({})", holder->pid, base::printable(holder->command));
  }
  if (holder) {
    what += holder->pid != 0 ? " of user " : " by a process of user ";
    what += base::printable(holder->user);
  }
  return std::unexpected(base::Error{Errc::kConflict, EADDRINUSE, std::move(what)});
}

}  // namespace robustrun::agent
