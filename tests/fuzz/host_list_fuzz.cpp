// Lists of hosts and filters: whatever is accepted can be given to ssh as an argument, and read
// again as what it is.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/core/text.h"
#include "launcher/hosts/host_filter.h"
#include "launcher/hosts/host_list.h"
#include "launcher/hosts/limits.h"

namespace {

using namespace robustrun::launcher;

void must(bool claim) {
  if (!claim) std::abort();
}

void check_hosts(const std::vector<Host>& hosts) {
  must(!hosts.empty() && hosts.size() <= kHostsMax);
  for (const Host& host : hosts) {
    must(!host.name.empty() && host.name.size() <= kHostListBytesMax);
    must(host.name.front() != '-' && !host.user.starts_with('-'));
    must(host.name.find_first_of(" \t\r\n,'\"$;") == std::string::npos);
    if (hosts.size() > 64) continue;
    const auto again = parse_host_list(to_text(host));
    must(again.has_value() && again->size() == 1 && again->front() == host);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto hosts = parse_host_list(text);
  if (!hosts) {
    must(!hosts.error().what.empty());
    must(robustrun::base::printable(hosts.error().what) == hosts.error().what);
  } else {
    check_hosts(*hosts);
    sort_naturally(*hosts);
    must(check_distinct(*hosts).has_value());
  }
  static const auto cluster = parse_host_list("n[1-9],gpu-[a,b],[::1]").value();
  for (const bool include : {true, false}) {
    const auto left = include ? include_hosts(cluster, text) : exclude_hosts(cluster, text);
    if (left) must(!left->empty() && left->size() <= cluster.size());
    if (!left) must(robustrun::base::printable(left.error().what) == left.error().what);
  }
  return 0;
}
