#include "wire/net/local_addresses.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "base/core/text.h"
#include "wire/net/tcp.h"

namespace robustrun::wire {
namespace {

struct Found {
  int order = 0;
  std::string text;
};

// Addresses most useful to other machines come first.
int order_of(const ifaddrs& entry) {
  if ((entry.ifa_flags & IFF_LOOPBACK) != 0) return 3;
  if (entry.ifa_addr->sa_family == AF_INET) return 0;
  const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
  return IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) ? 2 : 1;
}

bool is_usable(const ifaddrs& entry) {
  constexpr unsigned kWanted = IFF_UP | IFF_RUNNING;
  return entry.ifa_addr != nullptr && (entry.ifa_flags & kWanted) == kWanted &&
         (entry.ifa_addr->sa_family == AF_INET || entry.ifa_addr->sa_family == AF_INET6);
}

}  // namespace

base::Result<std::vector<std::string>> local_addresses(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return base::fail_errno("cannot list the interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<Found> found;
  std::vector<std::string> names;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (!is_usable(*entry)) continue;
    if (std::ranges::find(names, entry->ifa_name) == names.end()) names.push_back(entry->ifa_name);
    if (!interface.empty() && interface != entry->ifa_name) continue;
    found.push_back({order_of(*entry), host_text(entry->ifa_addr)});
  }
  if (found.empty() && !interface.empty()) {
    return base::fail(base::Errc::kNotFound,
                      "cannot use the interface '" + base::printable(interface) +
                          "': up and with an address are " + base::join(names, ", "));
  }
  std::ranges::stable_sort(found, {}, &Found::order);
  std::vector<std::string> addresses;
  for (Found& each : found) addresses.push_back(std::move(each.text));
  return addresses;
}

std::string_view without_zone(std::string_view address) {
  return address.substr(0, address.find('%'));
}

bool is_of_this_machine(const ConnectionAddresses& addresses) {
  const std::string& from = addresses.remote;
  if (from == addresses.local || from.starts_with("127.") || from == "::1") return true;
  static const auto own = local_addresses();  // of the process's first connections
  return own && std::ranges::find(*own, from) != own->end();
}

}  // namespace robustrun::wire
