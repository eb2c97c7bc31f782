#include "agent/evidence/ras_address.h"

#include <algorithm>

#include "agent/evidence/ras_client.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

constexpr const char* kLoopback6 = "::1";

std::vector<std::string> hosts_of(std::string_view name, const std::vector<std::string>& local) {
  if (name == "localhost") return {kRasDefaultAddress, kLoopback6};
  if (name == "0.0.0.0" || name.starts_with("127.")) {
    return {name.starts_with("127.") ? std::string(name) : kRasDefaultAddress};
  }
  if (name == "::" || name == kLoopback6) return {kLoopback6};
  if (std::ranges::find(local, name) != local.end()) return {std::string(name)};
  return {};
}

}  // namespace

std::optional<RasAddress> read_ras_address(std::string_view text,
                                           const std::vector<std::string>& local) {
  if (text.empty()) return RasAddress{hosts_of("localhost", local), kRasDefaultPort};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = base::parse_int<std::uint16_t>(text.substr(colon + 1));
  std::string_view name = text.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  RasAddress address{hosts_of(name, local), port.value_or(0)};
  if (address.port == 0 || address.hosts.empty()) return std::nullopt;
  return address;
}

std::string ras_address_text(std::uint16_t port) {
  return kRasDefaultAddress + (":" + std::to_string(port));
}

}  // namespace robustrun::agent
