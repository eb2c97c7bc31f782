#include "agent/health/nic_health.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "agent/health/limits.h"
#include "agent/node/environment.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

namespace fs = std::filesystem;
using wire::NodeHealth;

constexpr std::size_t kCounterBytesMax = 4096;

std::string sysfs_text(const fs::path& path) {
  const auto text = base::read_file(path.string(), kCounterBytesMax);
  return text ? std::string(base::trim(*text)) : std::string();
}

std::uint64_t sysfs_count(const fs::path& path) {
  return base::parse_int<std::uint64_t>(sysfs_text(path)).value_or(0);
}

std::vector<fs::path> folder_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end;
       !error && it != end && entries.size() < kNicsMax; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::ranges::sort(entries);
  return entries;
}

// Interfaces of default routes: lines of /proc/net/route whose destination is 0.
std::set<std::string> default_routes(const std::string& root) {
  std::set<std::string> found;
  const auto text = base::read_file(root + "/proc/net/route", kHealthFileBytesMax);
  if (!text) return found;
  for (const std::string_view line : base::split(*text, '\n')) {
    const auto columns = base::split(line, '\t');
    if (columns.size() > 1 && base::trim(columns[1]) == "00000000") {
      found.emplace(base::trim(columns[0]));
    }
  }
  return found;
}

// Prefixes of names, in NCCL's syntax: "eth,ib0", "=eth0". "^docker" excludes names and does not
// say which ones are used.
std::vector<std::string> named_by_job(const std::vector<std::string>& environment) {
  std::vector<std::string> found;
  const Environment variables(environment);
  for (const char* const name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    const std::string value = variables.get(name).value_or("");
    if (value.starts_with('^')) continue;
    for (std::string_view each : base::split(value, ',')) {
      if (each.starts_with('=')) each.remove_prefix(1);
      if (!each.empty()) found.emplace_back(each);
    }
  }
  return found;
}

class LinkReader {
 public:
  LinkReader(const std::string& root, const std::vector<std::string>& environment)
      : sys_(root + "/sys/class"),
        routed_(default_routes(root)),
        named_(named_by_job(environment)) {}

  void read_interfaces() {
    for (const fs::path& path : folder_entries(sys_ / "net")) {
      if (is_watched(path)) add(interface_reading(path));
    }
  }

  void read_ports() {
    for (const fs::path& adapter : folder_entries(sys_ / "infiniband")) {
      for (const fs::path& port : folder_entries(adapter / "ports")) {
        if (sysfs_text(port / "link_layer") == "Ethernet") continue;  // reported by its interface
        const std::string state = sysfs_text(port / "state");
        if (state.empty()) continue;
        LinkReading reading;
        reading.name = fmt::format("{}/{}", adapter.filename().string(), port.filename().string());
        reading.up = state.ends_with("ACTIVE");
        reading.downs = sysfs_count(port / "counters/link_downed");
        for (const char* const name :
             {"symbol_error", "port_rcv_errors", "link_error_recovery",
              "local_link_integrity_errors", "excessive_buffer_overrun_errors"}) {
          reading.errors += sysfs_count(port / "counters" / name);
        }
        add(std::move(reading));
      }
    }
  }

  [[nodiscard]] std::vector<LinkReading> take() { return std::move(readings_); }

 private:
  [[nodiscard]] bool is_watched(const fs::path& interface) const {
    constexpr const char* kInfiniband = "32";  // ARPHRD_INFINIBAND: reported by its port
    if (sysfs_text(interface / "type") == kInfiniband) return false;
    const std::string name = interface.filename();
    if (name == "lo") return false;
    const bool is_used =
        routed_.contains(name) || std::ranges::any_of(named_, [&](const std::string& beginning) {
          return name.starts_with(beginning);
        });
    std::error_code ignored;
    const bool is_physical = fs::exists(interface / "device", ignored) &&
                             !fs::exists(interface / "device/physfn", ignored);
    return is_used || is_physical;
  }

  static LinkReading interface_reading(const fs::path& path) {
    LinkReading reading;
    reading.name = path.filename();
    // The carrier of a disabled interface cannot be read; some drivers know no operstate.
    const std::string state = sysfs_text(path / "operstate");
    reading.up = sysfs_text(path / "carrier") == "1" && state != "down" &&
                 state != "lowerlayerdown" && state != "notpresent";
    const std::string downs = sysfs_text(path / "carrier_down_count");  // since Linux 4.16
    reading.downs = downs.empty() ? sysfs_count(path / "carrier_changes") / 2
                                  : base::parse_int<std::uint64_t>(downs).value_or(0);
    const fs::path statistics = path / "statistics";
    reading.errors = sysfs_count(statistics / "rx_errors") + sysfs_count(statistics / "tx_errors");
    reading.drops = sysfs_count(statistics / "rx_dropped");
    return reading;
  }

  void add(LinkReading reading) {
    if (readings_.size() < kNicsMax) readings_.push_back(std::move(reading));
  }

  fs::path sys_;
  std::set<std::string> routed_;
  std::vector<std::string> named_;
  std::vector<LinkReading> readings_;
};

NodeHealth of_link(const LinkReading& link, std::string_view words, bool over = false) {
  return {NodeHealth::Source::kNetwork, base::printable(link.name),
          fmt::format("{}: {}", base::printable(link.name), words), 0, over};
}

// A counter that decreased was reset.
std::uint64_t growth(std::uint64_t before, std::uint64_t now) {
  return now >= before ? now - before : now;
}

class NicProbe final : public HealthProbe {
 public:
  NicProbe(std::string root, std::vector<std::string> environment)
      : root_(std::move(root)), environment_(std::move(environment)) {}
  std::vector<NodeHealth> look(base::Nanos) override {
    return history_.take(read_links(root_, environment_));
  }

 private:
  std::string root_;
  std::vector<std::string> environment_;
  LinkHistory history_;
};

}  // namespace

std::vector<LinkReading> read_links(const std::string& root,
                                    const std::vector<std::string>& environment) {
  LinkReader reader(root, environment);
  reader.read_interfaces();
  reader.read_ports();
  return reader.take();
}

void LinkHistory::compare(Link& link, const LinkReading& now, std::vector<NodeHealth>& found) {
  const LinkReading& before = link.last;
  const bool lost = before.up && !now.up;
  // The counter of an interface without carrier_down_count may be one behind.
  const std::uint64_t downs =
      std::max<std::uint64_t>(growth(before.downs, now.downs), lost ? 1 : 0);
  const std::uint64_t flaps = downs - (lost ? 1 : 0);
  // An unused port may train for ever.
  if (flaps > 0 && (before.up || now.up)) {
    found.push_back(of_link(now, flaps == 1 ? "its link went down and came up again (flap)"
                                            : fmt::format("its link went down and came up again "
                                                          "{} times (flap)",
                                                          flaps)));
  }
  if (lost) {
    found.push_back(of_link(now, "its link is down"));
    link.down_reported = true;
  } else if (now.up && std::exchange(link.down_reported, false)) {
    found.push_back(of_link(now, "its link is up again", true));
  }
  const std::uint64_t errors = growth(before.errors, now.errors);
  const std::uint64_t drops = growth(before.drops, now.drops);
  if (errors >= kNicErrorsMin || drops >= kNicDropsMin) {
    link.quiet_looks = 0;
    if (!std::exchange(link.errors_reported, true)) {
      found.push_back(
          of_link(now, fmt::format("its counters of errors grow: {} errors, {} drops in {} s",
                                   errors, drops, kNicInterval.count())));
    }
  } else if (link.errors_reported && ++link.quiet_looks >= kNicQuietLooks) {
    link.errors_reported = false;
    found.push_back(of_link(now, "its error counters no longer grow", true));
  }
}

std::vector<NodeHealth> LinkHistory::take(std::vector<LinkReading> readings) {
  std::vector<NodeHealth> found;
  std::set<std::string> seen;
  for (LinkReading& now : readings) {
    seen.insert(now.name);
    const auto [entry, is_new] = links_.try_emplace(now.name);
    if (!is_new) compare(entry->second, now, found);
    entry->second.last = std::move(now);
  }
  // An adapter that is gone from the bus takes its interface with it.
  for (auto link = links_.begin(); link != links_.end();) {
    const bool is_gone = !seen.contains(link->first);
    if (is_gone && (link->second.last.up || link->second.down_reported)) {
      link->second.last.up = false;
      if (!std::exchange(link->second.down_reported, true)) {
        found.push_back(of_link(link->second.last, "the interface is gone: its link is down"));
      }
    }
    link = is_gone && !link->second.down_reported ? links_.erase(link) : std::next(link);
  }
  return found;
}

WatchedProbe nic_probe(const std::string& root, const std::vector<std::string>& environment) {
  return {NodeHealth::Source::kNetwork, "network interfaces", kNicInterval,
          std::make_shared<NicProbe>(root, environment)};
}

}  // namespace robustrun::agent
