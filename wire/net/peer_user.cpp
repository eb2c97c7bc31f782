#include "wire/net/peer_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/io/fd.h"
#include "base/io/log.h"
#include "wire/net/local_addresses.h"

namespace robustrun::wire {
namespace {

constexpr timeval kPatience{0, 100'000};  // the kernel answers within send(); this is for its bugs
constexpr std::size_t kAnswerBytes = 4096;

// One end of a connection as inet_diag counts it: IPv4 within IPv6 is IPv4.
struct End {
  std::uint8_t family = 0;
  std::array<std::uint32_t, 4> address{};  // network byte order
  std::uint16_t port = 0;  // network byte order
};

std::optional<End> end_of(int connection, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (ask(connection, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  End end;
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    end.family = AF_INET;
    end.address[0] = v4.sin_addr.s_addr;
    end.port = v4.sin_port;
    return end;
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &storage, sizeof v6);
  end.port = v6.sin6_port;
  std::memcpy(end.address.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  end.family = AF_INET6;
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    end.family = AF_INET;
    end.address = {end.address[3], 0, 0, 0};
  }
  return end;
}

struct Order {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

// Asks for the socket that has our remote end as its local one.
Order order_for(const End& local, const End& remote) {
  Order order{};
  order.header.nlmsg_len = sizeof order;
  order.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  order.header.nlmsg_flags = NLM_F_REQUEST;
  order.request.sdiag_family = remote.family;
  order.request.sdiag_protocol = IPPROTO_TCP;
  order.request.idiag_states = ~0U;
  inet_diag_sockid& id = order.request.id;
  id.idiag_sport = remote.port;
  id.idiag_dport = local.port;
  std::memcpy(&id.idiag_src, remote.address.data(), sizeof id.idiag_src);
  std::memcpy(&id.idiag_dst, local.address.data(), sizeof id.idiag_dst);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return order;
}

std::optional<inet_diag_msg> ask_kernel(const Order& order) {
  const base::Fd link(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!link) return std::nullopt;
  static_cast<void>(
      ::setsockopt(link.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience));
  if (::send(link.get(), &order, sizeof order, 0) < 0) return std::nullopt;
  std::array<char, kAnswerBytes> answer{};
  const ssize_t got = ::recv(link.get(), answer.data(), answer.size(), 0);
  nlmsghdr header{};
  inet_diag_msg found{};
  if (got < static_cast<ssize_t>(sizeof header + sizeof found)) return std::nullopt;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;  // an error: no such socket
  std::memcpy(&found, answer.data() + sizeof header, sizeof found);
  // The kernel falls back to a listening socket on that port.
  const inet_diag_sockid& id = order.request.id;
  if (found.id.idiag_sport != id.idiag_sport || found.id.idiag_dport != id.idiag_dport) {
    return std::nullopt;
  }
  return found;
}

}  // namespace

std::optional<uid_t> other_user_at(int connection) {
  if (!is_of_this_machine(addresses_of(connection))) return std::nullopt;
  const auto local = end_of(connection, ::getsockname);
  const auto remote = end_of(connection, ::getpeername);
  if (!local || !remote || local->family != remote->family) return std::nullopt;
  const auto found = ask_kernel(order_for(*local, *remote));
  if (!found) return std::nullopt;
  // A socket that no process has any more keeps no user.
  if (found->idiag_inode == 0) return kUnknownUser;
  if (found->idiag_uid == ::geteuid() || found->idiag_uid == 0) return std::nullopt;
  return found->idiag_uid;
}

std::function<void(uid_t)> note_other_user(std::string purpose) {
  return [purpose = std::move(purpose), is_noted = false](uid_t user) mutable {
    if (user == kUnknownUser || std::exchange(is_noted, true)) return;
    RR_LOG(
        kWarn, {},
        "refused a connection from user {} on this machine: the port for {} serves only the user "
        "of the run",
        user, purpose);
  };
}

}  // namespace robustrun::wire
