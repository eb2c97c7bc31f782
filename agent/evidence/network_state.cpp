#include "agent/evidence/network_state.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

namespace fs = std::filesystem;

// Trimmed; empty when it cannot be read.
std::string value_of(const fs::path& path) {
  const auto text = base::read_file(path.string(), kSysfsBytesMax);
  return text ? std::string(base::trim(*text)) : std::string();
}

// "10.0.0.1:4711" and "[fd00::1]:4711" without their ports.
std::string_view host_of(std::string_view endpoint) {
  endpoint = endpoint.substr(0, endpoint.rfind(':'));
  const bool is_v6 = endpoint.size() >= 2 && endpoint.starts_with('[') && endpoint.ends_with(']');
  return is_v6 ? endpoint.substr(1, endpoint.size() - 2) : endpoint;
}

bool is_loopback(std::string_view host) { return host == "::1" || host.starts_with("127."); }

bool is_up(const fs::path& interface) {
  const std::string flags = value_of(interface / "flags");
  if (!flags.starts_with("0x")) return true;
  unsigned value = 0;
  std::from_chars(flags.data() + 2, flags.data() + flags.size(), value, 16);
  return (value & IFF_UP) != 0;
}

// Empty: nothing is known to be wrong.
std::string trouble_of(const fs::path& interface) {
  if (!is_up(interface)) return "is down";
  if (value_of(interface / "carrier") == "0") return "no carrier";
  const std::string state = value_of(interface / "operstate");
  if (state == "down" || state == "lowerlayerdown") return state;
  return {};
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::ranges::sort(entries, [](const fs::path& a, const fs::path& b) {
    return base::natural_less(a.string(), b.string());
  });
  return entries;
}

class Links {
 public:
  explicit Links(const std::string& root) : sys_(root + "/sys/class") {}

  void look_at_interfaces(std::span<const tracer::SocketState> connections,
                          std::span<const InterfaceAddress> addresses);
  void look_at_adapters();
  [[nodiscard]] std::vector<std::string> take() { return std::move(found_); }

 private:
  void add(const std::string& name, std::string_view trouble) {
    if (found_.size() < kLinksMax) found_.push_back(fmt::format("{}: {}", name, trouble));
  }

  fs::path sys_;
  std::vector<std::string> found_;
};

void Links::look_at_interfaces(std::span<const tracer::SocketState> connections,
                               std::span<const InterfaceAddress> addresses) {
  std::set<std::string> used, with_address;
  for (const InterfaceAddress& each : addresses) with_address.insert(each.interface);
  std::set<std::string_view> hosts;
  for (const tracer::SocketState& each : connections) hosts.insert(host_of(each.local));
  for (const std::string_view host : hosts) {
    const auto holder = std::ranges::find(addresses, host, &InterfaceAddress::address);
    if (holder != addresses.end()) {
      used.insert(holder->interface);
    } else if (!is_loopback(host) && !host.empty()) {
      add(std::string(host), "no interface has this address any more");
    }
  }
  for (const fs::path& interface : entries_of(sys_ / "net")) {
    const std::string name = interface.filename();
    std::error_code ignored;
    const bool matters = used.contains(name) ||
                         (with_address.contains(name) && fs::exists(interface / "device", ignored));
    if (!matters) continue;
    if (const std::string trouble = trouble_of(interface); !trouble.empty()) add(name, trouble);
  }
}

void Links::look_at_adapters() {
  for (const fs::path& adapter : entries_of(sys_ / "infiniband")) {
    for (const fs::path& port : entries_of(adapter / "ports")) {
      const std::string state = value_of(port / "state");  // "4: ACTIVE"
      const std::string lost = value_of(port / "counters" / "link_downed");
      if (state.empty() || state.ends_with("ACTIVE") || lost == "0") continue;
      const std::size_t colon = state.find(": ");
      add(adapter.filename().string() + "/" + port.filename().string(),
          base::printable(state.substr(colon == state.npos ? 0 : colon + 2)));
    }
  }
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  std::vector<InterfaceAddress> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const int family = entry->ifa_addr == nullptr ? AF_UNSPEC : entry->ifa_addr->sa_family;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* address = nullptr;
    if (family == AF_INET) {
      address = &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr;
    } else if (family == AF_INET6) {
      address = &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    }
    if (address == nullptr) continue;
    ::inet_ntop(family, address, text.data(), text.size());
    found.push_back({entry->ifa_name, text.data()});
  }
  return found;
}

std::vector<std::string> broken_links(std::span<const tracer::SocketState> connections,
                                      std::span<const InterfaceAddress> addresses,
                                      const std::string& root) {
  Links links(root);
  links.look_at_interfaces(connections, addresses);
  links.look_at_adapters();
  return links.take();
}

}  // namespace robustrun::agent
