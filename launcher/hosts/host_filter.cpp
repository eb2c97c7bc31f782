#include "launcher/hosts/host_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/core/text.h"
#include "launcher/hosts/host_list.h"
#include "launcher/hosts/limits.h"

namespace robustrun::launcher {
namespace {

using base::Errc;
using base::fail;
using base::Result;

using Slots = std::set<std::uint32_t>;          // empty: all of the host
using Chosen = std::map<std::string, Slots>;    // by name

Result<Slots> parse_slots(std::string_view text) {
  Slots slots;
  for (const std::string_view piece : base::split(text, ',')) {
    const auto slot = base::parse_int<std::uint32_t>(piece);
    if (!slot || *slot >= kDevicesMax) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("'{}' is not a slot (0 to {}); write HOST:0,1,2",
                              base::printable(piece), kDevicesMax - 1));
    }
    slots.insert(*slot);
  }
  return slots;
}

std::unexpected<base::Error> unknown(const std::string& name, const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const Host& host : hosts) names.push_back(host.name);
  const std::string guess = base::nearest(name, names);
  return fail(Errc::kNotFound, fmt::format("{} is not among the hosts{}", name,
                                           guess.empty() ? "" : " (did you mean " + guess + "?)"));
}

// Whether `text` has a comma that is not within the brackets of "node[1,3]".
bool lists_hosts(std::string_view text) {
  bool is_inside = false;
  return std::ranges::any_of(text, [&is_inside](char c) {
    if (c == '[' || c == ']') is_inside = c == '[';
    return c == ',' && !is_inside;
  });
}

// Adds one piece between two "@".
base::Status add_piece(std::string_view piece, Chosen& chosen) {
  // The colon after the name; colons of an IPv6 address come before the closing bracket.
  const auto close = piece.rfind(']');
  const auto colon = piece.find(':', close == std::string_view::npos ? 0 : close);
  Slots slots;
  if (colon != std::string_view::npos) {
    if (lists_hosts(piece.substr(0, colon))) {
      return fail(Errc::kInvalidArgument,
                  "a comma does not tell whose the slots are; separate the hosts with @");
    }
    slots = RR_TRY(parse_slots(piece.substr(colon + 1)));
  }
  for (const Host& host : RR_TRY(expand_host_list(piece.substr(0, colon)))) {
    if (!chosen.emplace(host.name, slots).second) {
      return fail(Errc::kConflict, fmt::format("{} is named twice", host.name));
    }
    if (chosen.size() > kHostsMax) {
      return fail(Errc::kLimit, fmt::format("more than {} hosts", kHostsMax));
    }
  }
  return {};
}

Result<Chosen> parse_filter(const std::vector<Host>& hosts, std::string_view filter) {
  if (filter.size() > kHostListBytesMax) {
    return fail(Errc::kLimit, fmt::format("it is longer than {} bytes", kHostListBytesMax));
  }
  Chosen chosen;
  const auto pieces = base::split(filter, '@');
  for (const std::string_view piece : pieces) {
    const auto added = add_piece(piece, chosen);
    if (!added && pieces.size() > 1) {
      return fail(added.error().code,
                  fmt::format("in '{}' {}", base::printable(piece), added.error().what));
    }
    if (!added) return std::unexpected(added.error());
  }
  std::set<std::string_view> names;
  for (const Host& host : hosts) names.insert(host.name);
  for (const auto& [name, slots] : chosen) {
    if (!names.contains(name)) return unknown(name, hosts);
  }
  return chosen;
}

// The number of workers that `slots` stand for; they must be 0, 1 … without a gap.
Result<std::uint32_t> count_of(const Host& host, const Slots& slots) {
  if (*slots.rbegin() + 1 == slots.size()) return static_cast<std::uint32_t>(slots.size());
  return fail(
      Errc::kUnavailable,
      fmt::format("{}: workers on slots {} alone cannot be had: the slots must begin with 0 "
                  "and have no gap; set CUDA_VISIBLE_DEVICES for all hosts instead",
                  host.name, fmt::join(slots, ",")));
}

base::Status check_slots(const Host& host, const Slots& slots) {
  if (host.slots == 0 || *slots.rbegin() < host.slots) return {};
  return fail(Errc::kInvalidArgument, fmt::format("{} has slots 0 to {}, and no slot {}", host.name,
                                                  host.slots - 1, *slots.rbegin()));
}

// The number of workers left on `host` without `slots`; 0: none.
Result<std::uint32_t> count_without(const Host& host, const Slots& slots) {
  if (host.slots == 0) {
    return fail(Errc::kInvalidArgument,
                fmt::format("nothing says how many slots {} has; write slots=N in the host file",
                            host.name));
  }
  Slots left;
  for (std::uint32_t slot = 0; slot < host.slots; ++slot) {
    if (!slots.contains(slot)) left.insert(slot);
  }
  if (left.empty()) return 0;
  return count_of(host, left);
}

}  // namespace

Result<std::vector<Host>> include_hosts(const std::vector<Host>& hosts, std::string_view filter) {
  const Chosen chosen = RR_TRY(parse_filter(hosts, filter));
  std::vector<Host> kept;
  for (Host host : hosts) {
    const auto found = chosen.find(host.name);
    if (found == chosen.end()) continue;
    if (!found->second.empty()) {
      RR_TRY(check_slots(host, found->second));
      host.slots = RR_TRY(count_of(host, found->second));
    }
    kept.push_back(std::move(host));
  }
  return kept;
}

Result<std::vector<Host>> exclude_hosts(const std::vector<Host>& hosts, std::string_view filter) {
  const Chosen chosen = RR_TRY(parse_filter(hosts, filter));
  std::vector<Host> kept;
  for (Host host : hosts) {
    const auto found = chosen.find(host.name);
    if (found != chosen.end()) {
      if (found->second.empty()) continue;
      RR_TRY(check_slots(host, found->second));
      host.slots = RR_TRY(count_without(host, found->second));
      if (host.slots == 0) continue;
    }
    kept.push_back(std::move(host));
  }
  if (kept.empty()) return fail(Errc::kInvalidArgument, "no host is left");
  return kept;
}

}  // namespace robustrun::launcher
