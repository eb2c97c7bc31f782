#include "agent/evidence/worker_sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fmt/core.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "agent/node/folder.h"
#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

using Inodes = std::set<std::uint64_t>;

// include/net/tcp_states.h; sockets that have ended or only listen are skipped.
enum TcpState : std::uint32_t {
  kEstablished = 1,
  kSynSent = 2,
  kFinWait1 = 4,
  kFinWait2 = 5,
  kCloseWait = 8,
  kLastAck = 9,
  kClosing = 11
};
constexpr std::uint32_t kStates = 1U << kEstablished | 1U << kSynSent | 1U << kFinWait1 |
                                  1U << kFinWait2 | 1U << kCloseWait | 1U << kLastAck |
                                  1U << kClosing;

void add_inodes(pid_t pid, Inodes& inodes) {
  constexpr std::string_view kSocket = "socket:[";
  const std::string path = fmt::format("/proc/{}/fd", pid);
  const Folder folder(::opendir(path.c_str()));
  if (!folder) return;
  while (const dirent* const entry = ::readdir(folder.get())) {
    std::array<char, 64> target{};
    const ssize_t size =
        ::readlinkat(::dirfd(folder.get()), entry->d_name, target.data(), target.size());
    std::string_view text(target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (!text.starts_with(kSocket) || !text.ends_with(']')) continue;
    text.remove_prefix(kSocket.size());
    text.remove_suffix(1);
    const auto inode = base::parse_int<std::uint64_t>(text);
    if (inode && inodes.size() < kSocketInodesMax) inodes.insert(*inode);
  }
}

// Copies a header and what follows it: the kernel aligns to 4 bytes only.
template <class T>
std::optional<T> take(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

bool is_remote(const tracer::SocketState& socket) {
  return !socket.peer.starts_with("127.") && !socket.peer.starts_with("[::1]");
}

using Endpoints = std::pair<std::string_view, std::string_view>;
std::map<Endpoints, const tracer::SocketState*> by_endpoints(
    std::span<const tracer::SocketState> sockets) {
  std::map<Endpoints, const tracer::SocketState*> found;
  for (const tracer::SocketState& each : sockets) found[{each.local, each.peer}] = &each;
  return found;
}

std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

std::string endpoint(const __be32 (&words)[4], std::uint8_t family, __be16 port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  in6_addr v6{};
  static_assert(sizeof v6 == sizeof words);
  std::memcpy(&v6, words, sizeof v6);
  const bool is_mapped = family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6);
  const bool is_v6 = family == AF_INET6 && !is_mapped;
  const void* const address = is_mapped ? static_cast<const void*>(&words[3]) : &words[0];
  ::inet_ntop(is_v6 ? AF_INET6 : AF_INET, address, text.data(), text.size());
  const unsigned number = ntohs(port);
  return is_v6 ? fmt::format("[{}]:{}", text.data(), number)
               : fmt::format("{}:{}", text.data(), number);
}

void add_info(std::string_view bytes, tracer::SocketState& socket) {
  tcp_info info{};  // older kernels fill less of it
  std::memcpy(&info, bytes.data(), std::min(bytes.size(), sizeof info));
  socket.bytes_acked = info.tcpi_bytes_acked;
  socket.bytes_received = info.tcpi_bytes_received;
  socket.retransmits = info.tcpi_retransmits;
  socket.unacked = info.tcpi_unacked;
  socket.last_received = std::chrono::milliseconds(info.tcpi_last_data_recv);
  socket.last_sent = std::chrono::milliseconds(info.tcpi_last_data_sent);
  socket.busy = std::chrono::microseconds(info.tcpi_busy_time -
                                          std::min(info.tcpi_busy_time, info.tcpi_rwnd_limited));
}

void add_socket(std::string_view message, const Inodes& inodes,
                std::vector<tracer::SocketState>& sockets) {
  const auto found = take<inet_diag_msg>(message);
  if (!found || !inodes.contains(found->idiag_inode)) return;
  tracer::SocketState socket;
  socket.local = endpoint(found->id.idiag_src, found->idiag_family, found->id.idiag_sport);
  socket.peer = endpoint(found->id.idiag_dst, found->idiag_family, found->id.idiag_dport);
  socket.send_queue = found->idiag_wqueue;
  socket.recv_queue = found->idiag_rqueue;
  while (const auto attribute = take<rtattr>(message)) {
    if (attribute->rta_len < sizeof(rtattr)) break;
    const std::size_t size = attribute->rta_len - sizeof(rtattr);
    if (attribute->rta_type == INET_DIAG_INFO) add_info(message.substr(0, size), socket);
    message.remove_prefix(std::min(aligned(size), message.size()));
  }
  sockets.push_back(std::move(socket));
}

base::Result<base::Fd> ask_kernel(std::uint8_t family) {
  base::Fd link(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!link) return base::fail_errno("cannot ask the kernel for sockets", errno);
  const timeval patience{0, std::chrono::microseconds(kSocketAnswerMax).count()};
  static_cast<void>(::setsockopt(link.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience));
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } order{};
  order.header.nlmsg_len = sizeof order;
  order.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  order.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  order.request.sdiag_family = family;
  order.request.sdiag_protocol = IPPROTO_TCP;
  order.request.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  order.request.idiag_states = kStates;
  if (::send(link.get(), &order, sizeof order, 0) < 0) {
    return base::fail_errno("cannot ask the kernel for sockets", errno);
  }
  return link;
}

// Takes one read's bytes; true: that was the last read.
base::Result<bool> take_messages(std::string_view bytes, const Inodes& inodes,
                                 std::vector<tracer::SocketState>& sockets) {
  while (bytes.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size()) break;
    std::string_view body = bytes.substr(sizeof header, header.nlmsg_len - sizeof header);
    if (header.nlmsg_type == NLMSG_DONE) return true;
    if (header.nlmsg_type == NLMSG_ERROR) {
      const auto error = take<nlmsgerr>(body);
      return base::fail_errno("the kernel does not report sockets", error ? -error->error : EIO);
    }
    if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY) add_socket(body, inodes, sockets);
    bytes.remove_prefix(std::min(aligned(header.nlmsg_len), bytes.size()));
  }
  return false;
}

base::Status add_sockets(std::uint8_t family, const Inodes& inodes,
                         std::vector<tracer::SocketState>& sockets) {
  const base::Fd link = RR_TRY(ask_kernel(family));
  std::string buffer(kSocketAnswerBytes, '\0');
  for (unsigned i = 0; i < kSocketReadsMax; ++i) {
    const ssize_t got = ::recv(link.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return base::fail_errno("the kernel does not report sockets", errno);
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    if (RR_TRY(take_messages(bytes, inodes, sockets))) return {};
  }
  return base::fail(base::Errc::kLimit, "the machine has too many sockets");
}

}  // namespace

base::Result<std::vector<tracer::SocketState>> sockets_of(std::span<const pid_t> tree) {
  Inodes inodes;
  for (const pid_t pid : tree) add_inodes(pid, inodes);
  std::vector<tracer::SocketState> sockets;
  if (inodes.empty()) return sockets;
  RR_TRY(add_sockets(AF_INET, inodes, sockets));
  // A kernel without IPv6 has no such sockets.
  static_cast<void>(add_sockets(AF_INET6, inodes, sockets));
  std::ranges::stable_sort(sockets, {}, [](const tracer::SocketState& each) {
    return std::pair(each.send_queue + each.recv_queue == 0, each.last_sent);
  });
  if (sockets.size() > kSocketsMax) sockets.resize(kSocketsMax);
  return sockets;
}

void compare_sockets(std::span<const tracer::SocketState> before,
                     std::vector<tracer::SocketState>& after, base::Nanos apart) {
  const auto known = by_endpoints(before);
  for (tracer::SocketState& each : after) {
    const auto found = known.find({each.local, each.peer});
    if (found == known.end()) continue;
    const tracer::SocketState& old = *found->second;
    // Less than before: another connection between the same ports.
    if (each.bytes_acked < old.bytes_acked || each.busy < old.busy) continue;
    each.watched = apart;
    each.acked_meanwhile = each.bytes_acked - old.bytes_acked;
    each.busy_meanwhile = each.busy - old.busy;
    each.nothing_acked = old.send_queue > 0 && each.send_queue > 0 && each.acked_meanwhile == 0;
  }
}

bool carry_data(std::span<const tracer::SocketState> before,
                std::span<const tracer::SocketState> after) {
  const auto known = by_endpoints(before);
  return std::ranges::any_of(after, [&](const tracer::SocketState& each) {
    if (!is_remote(each)) return false;
    const auto found = known.find({each.local, each.peer});
    if (each.send_queue > 0 || found == known.end()) return true;
    const tracer::SocketState& old = *found->second;
    return each.bytes_acked + each.bytes_received >
           old.bytes_acked + old.bytes_received + kIdleSocketBytes;
  });
}

base::Result<bool> descendants_are_connected(std::span<const pid_t> tree) {
  if (tree.size() < 2) return false;
  const auto theirs = RR_TRY(sockets_of(tree.subspan(1)));
  const auto own = RR_TRY(sockets_of(tree.first(1)));
  const auto inherited = by_endpoints(own);
  return std::ranges::any_of(theirs, [&](const tracer::SocketState& each) {
    return is_remote(each) && !inherited.contains({each.local, each.peer});
  });
}

}  // namespace robustrun::agent
