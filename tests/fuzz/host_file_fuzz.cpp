// Host files: any bytes give hosts within the limits, or an error of one line that names one.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/core/text.h"
#include "launcher/hosts/host_file.h"
#include "launcher/hosts/host_list.h"
#include "launcher/hosts/limits.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun::launcher;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto hosts = parse_host_file(text, "hosts");
  if (!hosts) {
    const std::string& what = hosts.error().what;
    if (!what.starts_with("hosts:") || robustrun::base::printable(what) != what) std::abort();
    return 0;
  }
  if (hosts->empty() || hosts->size() > kHostsMax || !check_distinct(*hosts)) std::abort();
  for (const Host& host : *hosts) {
    if (host.name.empty() || host.name.front() == '-' || host.slots > kSlotsMax) std::abort();
  }
  return 0;
}
