#include "launcher/slurm/probe.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "base/io/blocking_pool.h"
#include "base/io/tool.h"
#include "launcher/limits.h"
#include "launcher/ssh/dial.h"

namespace robustrun::launcher {
namespace {

// The value of NAME=VALUE between blanks; empty when it is missing.
std::string_view value_in(std::string_view shown, std::string_view name) {
  for (const std::string_view line : base::split(shown, '\n')) {
    for (const std::string_view word : base::split(line, ' ')) {
      if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
        return word.substr(name.size() + 1);
      }
    }
  }
  return {};
}

std::vector<std::string> numeric_addresses(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  std::vector<std::string> found;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return found;
  for (const addrinfo* entry = list; entry != nullptr && found.size() < kAddressesMax;
       entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      found.emplace_back(text.data());
    }
  }
  ::freeaddrinfo(list);
  return found;
}

struct Where {
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
};

Where find_slurmd(const SlurmOptions& options, const std::string& node) {
  const auto shown =
      base::run_tool({options.commands + "/scontrol", "show", "node", node}, kSlurmAskWait);
  if (!shown) return {};
  const SlurmdAddress address = read_slurmd_address(shown->out);
  if (address.host.empty()) return {};
  return {numeric_addresses(address.host), address.port};
}

}  // namespace

SlurmdAddress read_slurmd_address(std::string_view shown) {
  SlurmdAddress address;
  address.host = value_in(shown, "NodeAddr");
  const auto port = base::parse_int<std::uint16_t>(value_in(shown, "Port"));
  address.port = port ? *port : kSlurmdPort;
  return address;
}

void probe_slurm_node(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
                      const SlurmOptions& options, const std::string& node,
                      std::function<void(bool answers)> done) {
  auto where = std::make_shared<Where>();
  const base::Status submitted = pool.submit(
      kLaneFirst + 1, [where, options, node] { *where = find_slurmd(options, node); },
      [where, executor, done] {
        // A controller that does not answer tells nothing about the node.
        if (where->addresses.empty()) return done(true);
        SshDial::start(executor, where->addresses, where->port, kSlurmdProbeWait,
                       [done](const base::Result<base::Fd>& taken) { done(taken.has_value()); });
      });
  if (!submitted) done(true);
}

}  // namespace robustrun::launcher
