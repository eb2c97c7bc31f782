// What `ssh -G` prints: any bytes give settings within the limits or an error.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/core/text.h"
#include "launcher/hosts/limits.h"
#include "launcher/ssh/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun::launcher;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto settings = parse_ssh_settings(text, "/home/ada", "ada");
  if (!settings) {
    const std::string& what = settings.error().what;
    if (what.empty() || robustrun::base::printable(what) != what) std::abort();
    return 0;
  }
  const std::string& reason = settings->needs_openssh;
  if (settings->hostname.empty() || settings->port == 0) std::abort();
  if (settings->identity_files.size() > kSshConfigFilesMax) std::abort();
  if (!settings->jump_host.empty() && reason.empty()) std::abort();
  if (robustrun::base::printable(reason) != reason) std::abort();
  return 0;
}
