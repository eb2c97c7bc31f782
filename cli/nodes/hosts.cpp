#include "cli/nodes/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/options/values.h"
#include "launcher/hosts/host_file.h"
#include "launcher/hosts/host_filter.h"
#include "launcher/hosts/host_list.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using launcher::Host;
using Hosts = std::vector<Host>;

bool says(const Settings& settings, OptionId id) { return !settings.text(id).empty(); }

// --hosts or --hostfile; nullopt: neither. If both are given, the one of higher precedence.
Result<std::optional<OptionId>> source_of(const Settings& settings) {
  // Without this, --hosts="$HOSTS" with an unset variable would run on this machine alone.
  for (const OptionId id : {OptionId::kHosts, OptionId::kHostfile}) {
    if (settings.get(id).origin != Origin::kCommandLine || says(settings, id)) continue;
    return cannot_use(settings, id, Errc::kInvalidArgument,
                      "it is empty; name hosts, or leave the option out");
  }
  const bool list = says(settings, OptionId::kHosts);
  const bool file = says(settings, OptionId::kHostfile);
  if (!list && !file) return std::nullopt;
  if (list != file) return list ? OptionId::kHosts : OptionId::kHostfile;
  const Origin of_list = settings.get(OptionId::kHosts).origin;
  const Origin of_file = settings.get(OptionId::kHostfile).origin;
  if (of_list != of_file) return of_list > of_file ? OptionId::kHosts : OptionId::kHostfile;
  return cannot_use(settings, OptionId::kHosts, Errc::kInvalidArgument,
                    fmt::format("{} names hosts as well; leave one of them out",
                                settings.written(OptionId::kHostfile)));
}

Result<Hosts> read_hosts(const Settings& settings, OptionId source, const Surroundings& around) {
  const std::string text = settings.text(source);
  if (source == OptionId::kHosts) {
    auto hosts = launcher::parse_host_list(text);
    if (!hosts) return cannot_use(settings, source, hosts.error().code, hosts.error().what);
    return hosts;
  }
  const auto bytes = around.machine->read_file(text);
  if (!bytes) return cannot_use(settings, source, bytes.error().code, bytes.error().what);
  return launcher::parse_host_file(*bytes, text);
}

// Refuses options that need hosts.
base::Status check_no_hosts(const Settings& settings) {
  for (const OptionId id : {OptionId::kInclude, OptionId::kExclude, OptionId::kRank0}) {
    if (!says(settings, id)) continue;
    return cannot_use(settings, id, Errc::kInvalidArgument,
                      "no hosts are named; add --hosts=LIST or --hostfile=FILE");
  }
  return {};
}

Result<Hosts> filtered(const Settings& settings, Hosts hosts) {
  for (const OptionId id : {OptionId::kInclude, OptionId::kExclude}) {
    if (!says(settings, id)) continue;
    const auto filter =
        id == OptionId::kInclude ? &launcher::include_hosts : &launcher::exclude_hosts;
    auto left = filter(hosts, settings.text(id));
    if (!left) return cannot_use(settings, id, left.error().code, left.error().what);
    hosts = *std::move(left);
  }
  return hosts;
}

base::Status put_first(const Settings& settings, Hosts& hosts) {
  if (!says(settings, OptionId::kRank0)) return {};
  const std::string wanted = settings.text(OptionId::kRank0);
  const auto found = std::ranges::find_if(hosts, [&](const Host& host) {
    return host.name == wanted || launcher::to_text(host) == wanted;
  });
  if (found == hosts.end()) {
    std::vector<std::string> names;
    for (const Host& host : hosts) names.push_back(host.name);
    return cannot_use(settings, OptionId::kRank0, Errc::kNotFound,
                      "it is not among the hosts" + did_you_mean(wanted, names));
  }
  std::rotate(hosts.begin(), found, found + 1);
  return {};
}

// --nproc-per-node, if given, overrides slots=, but may not exceed it.
base::Status apply_workers(const Settings& settings, Hosts& hosts) {
  if (!settings.given(OptionId::kNprocPerNode)) return {};
  const auto workers = parse_integer(settings.text(OptionId::kNprocPerNode));
  for (Host& host : hosts) {
    if (workers && host.slots != 0 && *workers > host.slots) {
      return cannot_use(settings, OptionId::kNprocPerNode, Errc::kInvalidArgument,
                        fmt::format("{} has {}; lower it, or raise slots= in the host file",
                                    host.name, base::counted(host.slots, "slot")));
    }
    host.slots = 0;
  }
  return {};
}

}  // namespace

bool names_hosts(const Settings& settings) {
  return says(settings, OptionId::kHosts) || says(settings, OptionId::kHostfile);
}

bool leaves_hosts_open(const Settings& settings) {
  return !settings.compat() && !names_hosts(settings) && !settings.flag(OptionId::kStandalone) &&
         settings.text(OptionId::kRdzvEndpoint).empty() && !settings.given(OptionId::kMasterAddr) &&
         !settings.given(OptionId::kNodeRank);
}

bool is_this_machine(const Host& host, const Surroundings& around) {
  constexpr std::array<std::string_view, 3> kLoopback = {"localhost", "127.0.0.1", "[::1]"};
  if (!host.user.empty() || host.port != 0) return false;
  return host.name == around.host || std::ranges::find(kLoopback, host.name) != kLoopback.end();
}

Result<Hosts> plan_hosts(const Settings& settings, const Surroundings& around, Hosts allocation) {
  const auto source = RR_TRY(source_of(settings));
  if (!source && allocation.empty()) {
    RR_TRY(check_no_hosts(settings));
    return Hosts{};
  }
  auto named = source ? RR_TRY(read_hosts(settings, *source, around)) : std::move(allocation);
  auto hosts = RR_TRY(filtered(settings, std::move(named)));
  launcher::sort_naturally(hosts);
  RR_TRY(put_first(settings, hosts));
  RR_TRY(apply_workers(settings, hosts));
  return hosts;
}

}  // namespace robustrun::cli
