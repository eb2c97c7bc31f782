#include "cli/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/core/text.h"
#include "cli/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::int64_t kNodesMax = 1'000'000;

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

base::Status check_nodes(const Settings& settings) {
  const std::string written = settings.written(OptionId::kNnodes);
  const auto nodes = parse_nnodes(settings.text(OptionId::kNnodes));
  if (!nodes) {
    return fail(nodes.error().code, fmt::format("cannot use {}: {}", written, nodes.error().what));
  }
  if (nodes->second > 1) {
    return fail(Errc::kUnavailable,
                fmt::format("cannot use {}: not yet: more than one node; this version runs jobs on "
                            "one machine (--nnodes=1)",
                            written));
  }
  const bool is_static = settings.text(OptionId::kRdzvBackend) == "static";
  const auto rank = settings.integer(OptionId::kNodeRank).value_or(0);
  if (rank > 0 && is_static && !settings.flag(OptionId::kStandalone)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot use {}: there is one node, and its rank is 0",
                            settings.written(OptionId::kNodeRank)));
  }
  return {};
}

Result<Endpoint> endpoint_of(const Settings& settings) {
  const std::string text = settings.text(OptionId::kRdzvEndpoint);
  if (text.empty()) return Endpoint{};
  auto endpoint = parse_endpoint(text);
  if (endpoint) return endpoint;
  return fail(endpoint.error().code,
              fmt::format("cannot use {}: {}", settings.written(OptionId::kRdzvEndpoint),
                          endpoint.error().what));
}

base::Status check_port(const Settings& settings, OptionId source, std::uint16_t port,
                        const Surroundings& around) {
  if (port == 0) return {};
  if (const auto free = around.machine->check_port(port); !free) {
    return fail(free.error().code,
                fmt::format("cannot use {}: {}; choose another one, or leave the option out to get "
                            "a free one",
                            settings.written(source), free.error().what));
  }
  return {};
}

void warn_of_ignored(const Settings& settings, bool is_static, Rendezvous& plan) {
  const auto ignored = [&](OptionId id) {
    if (settings.given(id)) {
      plan.warnings.push_back(
          fmt::format("{} is ignored: it is only used with "
                      "--rdzv-backend=static and without --standalone",
                      settings.written(id)));
    }
  };
  if (is_static) return;
  if (settings.integer(OptionId::kNodeRank).value_or(0) != 0) ignored(OptionId::kNodeRank);
  if (settings.text(OptionId::kRdzvEndpoint).empty()) {
    ignored(OptionId::kMasterAddr);
    ignored(OptionId::kMasterPort);
  }
}

}  // namespace

Result<std::pair<std::uint32_t, std::uint32_t>> parse_nnodes(std::string_view text) {
  const auto pieces = base::split(text, ':');
  const auto least = parse_integer(pieces.front());
  const auto most = parse_integer(pieces.back());
  if (pieces.size() > 2 || !least || !most) {
    return fail(Errc::kInvalidArgument,
                fmt::format("nnodes={} is not in \"MIN:MAX\" format; write 2 or 1:4", text));
  }
  if (*least < 1 || *least > *most || *most > kNodesMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("min_nodes must be > 0 and <= max_nodes, got min_nodes={}, "
                            "max_nodes={}",
                            *least, *most));
  }
  return std::pair(static_cast<std::uint32_t>(*least), static_cast<std::uint32_t>(*most));
}

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
    endpoint.host = text.substr(0, colon);
    port = colon == std::string_view::npos ? "" : text.substr(colon);
  }
  if (!is_host(endpoint.host)) {
    return fail(Errc::kInvalidArgument,
                "its host name is empty or has characters that none can "
                "have; write host:port");
  }
  if (port.size() > 1) {
    const auto number = parse_integer(port.substr(1));
    if (!number || *number < 0 || *number > 65535) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("'{}' is no port (0 to 65535); write host:port", port.substr(1)));
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

Result<Rendezvous> plan_rendezvous(const Settings& settings, const Surroundings& around) {
  RR_TRY(check_backend(settings));
  RR_TRY(check_nodes(settings));
  if (auto conf = check_rdzv_conf(settings.text(OptionId::kRdzvConf)); !conf) {
    return fail(
        conf.error().code,
        fmt::format("cannot use {}: {}", settings.written(OptionId::kRdzvConf), conf.error().what));
  }
  const Endpoint endpoint = RR_TRY(endpoint_of(settings));

  Rendezvous plan;
  const std::string id = settings.text(OptionId::kRdzvId);
  if (settings.given(OptionId::kRdzvId) && !id.empty() && id != "none") plan.id = id;
  const bool is_static =
      settings.text(OptionId::kRdzvBackend) == "static" && !settings.flag(OptionId::kStandalone);
  plan.standalone = settings.flag(OptionId::kStandalone) ||
                    (is_static && endpoint.host.empty() && !settings.has(OptionId::kMasterPort));
  plan.node_address = settings.has(OptionId::kLocalAddr) ? settings.text(OptionId::kLocalAddr)
                      : settings.compat()                ? "localhost"
                                                         : "127.0.0.1";
  warn_of_ignored(settings, is_static, plan);
  if (!is_static) return plan;
  if (!endpoint.host.empty()) {
    plan.master_addr = endpoint.host;
    plan.master_port = endpoint.port;
    RR_TRY(check_port(settings, OptionId::kRdzvEndpoint, plan.master_port, around));
    return plan;
  }
  if (settings.given(OptionId::kMasterAddr) || !plan.standalone) {
    plan.master_addr = settings.text(OptionId::kMasterAddr);
  }
  plan.master_port =
      static_cast<std::uint16_t>(settings.integer(OptionId::kMasterPort).value_or(0));
  RR_TRY(check_port(settings, OptionId::kMasterPort, plan.master_port, around));
  return plan;
}

}  // namespace robustrun::cli
