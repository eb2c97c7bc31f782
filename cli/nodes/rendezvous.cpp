#include "cli/nodes/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/core/text.h"
#include "cli/nodes/node_range.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::uint16_t kC10dPort = 29400;     // torchrun's
constexpr std::uint16_t kStaticPort = 29500;  // torchrun's
constexpr std::uint16_t kLastPort = 65535;
constexpr base::Nanos kStaticTimeout = std::chrono::minutes(15);  // torchrun's

bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == ':' || c == '-' || c == '%';
  });
}

base::Status check_backend(const Settings& settings) {
  const std::string backend = settings.text(OptionId::kRdzvBackend);
  if (backend == "static" || backend == "c10d") return {};
  const std::string written = settings.written(OptionId::kRdzvBackend);
  if (backend == "etcd" || backend == "etcd-v2") {
    return fail(Errc::kUnavailable, fmt::format("cannot use {}: etcd is not supported; leave the "
                                                "option out, or use c10d or static",
                                                written));
  }
  const std::vector<std::string> known{"static", "c10d"};
  return fail(Errc::kUnavailable,
              fmt::format("cannot use {}: no such backend{}; entry points of torchrun.handlers are "
                          "Python plug-ins, which are not supported; use c10d or static",
                          written, did_you_mean(backend, known)));
}

base::Status check_conf(const Settings& settings) {
  const auto conf = check_rdzv_conf(settings.text(OptionId::kRdzvConf));
  if (conf) return {};
  return cannot_use(settings, OptionId::kRdzvConf, conf.error().code, conf.error().what);
}

Result<Endpoint> endpoint_of(const Settings& settings) {
  const std::string text = settings.text(OptionId::kRdzvEndpoint);
  if (text.empty()) return Endpoint{};
  auto endpoint = parse_endpoint(text);
  if (endpoint) return endpoint;
  return cannot_use(settings, OptionId::kRdzvEndpoint, endpoint.error().code,
                    endpoint.error().what);
}

bool is_static(const Settings& settings) {
  return settings.text(OptionId::kRdzvBackend) == "static" && !settings.flag(OptionId::kStandalone);
}

// MASTER_ADDR and MASTER_PORT of static, as far as they were given.
Result<Endpoint> named_master(const Settings& settings) {
  Endpoint endpoint = RR_TRY(endpoint_of(settings));
  if (!endpoint.host.empty()) return endpoint;
  if (settings.given(OptionId::kMasterAddr)) endpoint.host = settings.text(OptionId::kMasterAddr);
  endpoint.port = static_cast<std::uint16_t>(settings.integer(OptionId::kMasterPort).value_or(0));
  return endpoint;
}

base::Status check_port(const Settings& settings, OptionId source, std::uint16_t port,
                        const Surroundings& around) {
  if (port == 0) return {};
  if (const auto free = around.network->check_port(port); !free) {
    return fail(free.error().code,
                fmt::format("cannot use {}: {}; choose another one, or leave the option out to get "
                            "a free one",
                            settings.written(source), free.error().what));
  }
  return {};
}

void warn_of_ignored(const Settings& settings, Rendezvous& plan) {
  const auto ignored = [&](OptionId id) {
    if (settings.given(id)) {
      plan.warnings.push_back(
          fmt::format("{} is ignored: it is only used with "
                      "--rdzv-backend=static and without --standalone",
                      settings.written(id)));
    }
  };
  if (is_static(settings)) return;
  if (settings.integer(OptionId::kNodeRank).value_or(0) != 0) ignored(OptionId::kNodeRank);
  if (settings.text(OptionId::kRdzvEndpoint).empty()) {
    ignored(OptionId::kMasterAddr);
    ignored(OptionId::kMasterPort);
  }
}

std::string node_address(const Settings& settings, Where where) {
  if (settings.has(OptionId::kLocalAddr)) return settings.text(OptionId::kLocalAddr);
  if (where != Where::kHere) return "";
  return settings.compat() ? "localhost" : "127.0.0.1";
}

bool is_loopback(std::string_view address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

Result<bool> is_here(const std::string& host, const std::vector<std::string>& addresses,
                     const Surroundings& around) {
  if (is_loopback(host) || host == around.host) return true;
  const auto own = RR_TRY(around.network->own_addresses());
  return std::ranges::any_of(addresses, [&](const std::string& address) {
    return is_loopback(address) || std::ranges::find(own, address) != own.end();
  });
}

Result<std::optional<base::Nanos>> conf_time(const Settings& settings, std::string_view key) {
  const auto text = rdzv_conf_value(settings.text(OptionId::kRdzvConf), key);
  if (!text) return std::nullopt;
  if (const auto time = parse_duration(*text)) return time;
  return cannot_use(settings, OptionId::kRdzvConf, Errc::kInvalidArgument,
                    fmt::format("{}={} is not a number of seconds", key, *text));
}

// is_host of c10d, with the booleans that torchrun takes.
Result<std::optional<bool>> conf_is_host(const Settings& settings) {
  auto text = rdzv_conf_value(settings.text(OptionId::kRdzvConf), "is_host");
  if (!text) return std::nullopt;
  std::ranges::transform(*text, text->begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* yes : {"1", "true", "t", "yes", "y"}) {
    if (*text == yes) return true;
  }
  for (const char* no : {"0", "false", "f", "no", "n"}) {
    if (*text == no) return false;
  }
  return cannot_use(settings, OptionId::kRdzvConf, Errc::kInvalidArgument,
                    fmt::format("is_host={} is neither true nor false", *text));
}

// Whether this node leads, and the addresses of the leader.
base::Status plan_part(const Settings& settings, const Surroundings& around, Meeting& meeting) {
  std::optional<bool> leads;
  if (meeting.node_rank) leads = *meeting.node_rank == 0;
  if (!is_static(settings)) leads = RR_TRY(conf_is_host(settings));
  const std::string& host = meeting.control.host;
  auto addresses = around.network->look_up(host);
  // A guest may start before its leader's name is known; it is looked up again later.
  if (addresses) meeting.addresses = *std::move(addresses);
  meeting.part = leads.value_or(false) ? Meeting::Part::kHost : Meeting::Part::kGuest;
  if (!leads && RR_TRY(is_here(host, meeting.addresses, around))) {
    meeting.part = Meeting::Part::kEither;
  }
  return {};
}

// The ports that the leader needs: the supervisor's, and `master_port` of static, where the store
// will be (0: any).
base::Status check_ports(const Surroundings& around, std::uint16_t master_port, Meeting& meeting) {
  if (meeting.part == Meeting::Part::kGuest) return {};
  auto free = around.network->check_port(meeting.control.port);
  if (!free && meeting.part == Meeting::Part::kEither) {
    meeting.part = Meeting::Part::kGuest;
    return {};
  }
  const bool shifted = !free && master_port != 0;
  if (free && master_port != 0) free = around.network->check_port(master_port);
  if (free) return {};
  return fail(free.error().code,
              fmt::format("cannot lead the other nodes from here: {}{}; choose another port on "
                          "every node",
                          free.error().what,
                          shifted ? " (with static the port after MASTER_PORT is needed)" : ""));
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  text = base::trim(text);
  Endpoint endpoint;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) {
      return fail(Errc::kInvalidArgument, "the bracket of the IPv6 address is not closed");
    }
    endpoint.host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (!port.empty() && !port.starts_with(':')) {
      return fail(Errc::kInvalidArgument, "only :port may follow the IPv6 address");
    }
  } else {
    const auto colon = text.rfind(':');
    if (text.find(':') != colon) {
      return fail(Errc::kInvalidArgument,
                  "it has several colons; write an IPv6 address in brackets: [::1]:29400");
    }
    endpoint.host = text.substr(0, colon);
    port = colon == std::string_view::npos ? "" : text.substr(colon);
  }
  if (!is_host(endpoint.host)) {
    return fail(Errc::kInvalidArgument,
                "its host name is empty or has invalid characters; write "
                "host:port");
  }
  if (port.size() > 1) {
    const auto number = parse_integer(port.substr(1));
    if (!number || *number < 0 || *number > 65535) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("'{}' is not a port (0 to 65535); write host:port", port.substr(1)));
    }
    endpoint.port = static_cast<std::uint16_t>(*number);
  }
  return endpoint;
}

base::Status check_rdzv_conf(std::string_view text) {
  text = base::trim(text);
  if (text.empty()) return {};
  for (const std::string_view piece : base::split(text, ',')) {
    const auto equals = piece.find('=');
    const bool has_value =
        equals != std::string_view::npos && !base::trim(piece.substr(equals + 1)).empty();
    if (base::trim(piece.substr(0, equals)).empty() || !has_value) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("'{}' is not key=value; the rendezvous configuration string must be "
                              "in format <key1>=<value1>,...,<keyN>=<valueN>",
                              piece));
    }
  }
  return {};
}

std::optional<std::string> rdzv_conf_value(std::string_view text, std::string_view key) {
  std::optional<std::string> value;
  for (const std::string_view piece : base::split(text, ',')) {
    const auto equals = piece.find('=');
    if (equals == std::string_view::npos || base::trim(piece.substr(0, equals)) != key) continue;
    value = base::trim(piece.substr(equals + 1));
  }
  return value;
}

Result<Rendezvous> plan_rendezvous(const Settings& settings, const Surroundings& around,
                                   Where where) {
  RR_TRY(check_backend(settings));
  RR_TRY(node_counts(settings));
  RR_TRY(check_conf(settings));
  const Endpoint master = RR_TRY(named_master(settings));

  Rendezvous plan;
  const std::string id = settings.text(OptionId::kRdzvId);
  if (settings.given(OptionId::kRdzvId) && !id.empty() && id != kNoRunId) plan.id = id;
  const bool by_endpoint = !settings.text(OptionId::kRdzvEndpoint).empty();
  plan.standalone = settings.flag(OptionId::kStandalone) ||
                    (where == Where::kHere && is_static(settings) && !by_endpoint &&
                     !settings.has(OptionId::kMasterPort));
  plan.node_address = node_address(settings, where);
  warn_of_ignored(settings, plan);
  if (!is_static(settings)) return plan;
  plan.master_addr = master.host;
  plan.master_port = master.port;
  if (where == Where::kMeeting && master.port == 0) plan.master_port = kStaticPort;
  if (where != Where::kHere) return plan;
  if (master.host.empty() && !plan.standalone) {
    plan.master_addr = settings.text(OptionId::kMasterAddr);
  }
  const OptionId source = by_endpoint ? OptionId::kRdzvEndpoint : OptionId::kMasterPort;
  RR_TRY(check_port(settings, source, plan.master_port, around));
  return plan;
}

Result<Meeting> plan_meeting(const Settings& settings, const Surroundings& around) {
  RR_TRY(check_backend(settings));
  RR_TRY(check_conf(settings));
  const auto [least, most] = RR_TRY(node_counts(settings));
  Meeting meeting;
  meeting.control =
      is_static(settings) ? RR_TRY(named_master(settings)) : RR_TRY(endpoint_of(settings));
  if (meeting.control.host.empty()) {
    return cannot_use(settings, OptionId::kNnodes, Errc::kInvalidArgument,
                      "the nodes have no place to meet; start the same command on each with "
                      "--rdzv-backend=c10d --rdzv-endpoint=HOST:PORT, or name the machines with "
                      "--hosts=LIST");
  }
  const std::string id = settings.text(OptionId::kRdzvId);
  meeting.id = id.empty() ? kNoRunId : id;
  std::uint16_t& port = meeting.control.port;
  std::uint16_t master_port = 0;
  if (is_static(settings)) {
    if (port == 0) port = kStaticPort;
    master_port = port;
    port = static_cast<std::uint16_t>(port == kLastPort ? port - 1 : port + 1);
  } else if (port == 0) {
    port = kC10dPort;
  }
  if (is_static(settings) && settings.given(OptionId::kNodeRank)) {
    const std::int64_t rank = settings.integer(OptionId::kNodeRank).value_or(0);
    if (rank >= most) {
      return cannot_use(settings, OptionId::kNodeRank, Errc::kInvalidArgument,
                        fmt::format("with {} nodes the ranks are 0 to {}", most, most - 1));
    }
    meeting.node_rank = static_cast<std::uint32_t>(rank);
  }
  meeting.join_timeout =
      RR_TRY(conf_time(settings, is_static(settings) ? "timeout" : "join_timeout"));
  // With c10d torchrun waits for 10 min, as --wait-for-nodes does by default.
  if (!meeting.join_timeout && is_static(settings) && settings.compat()) {
    meeting.join_timeout = kStaticTimeout;
  }
  meeting.last_call = RR_TRY(conf_time(settings, "last_call_timeout"));
  RR_TRY(plan_part(settings, around, meeting));
  RR_TRY(check_ports(around, master_port, meeting));
  return meeting;
}

}  // namespace robustrun::cli
