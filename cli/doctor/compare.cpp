#include "cli/doctor/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/core/name_ranges.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "base/core/wrap.h"
#include "cli/doctor/render.h"
#include "cli/options/limits.h"

namespace robustrun::cli {
namespace {

// Hosts on which a check comes out alike.
struct Alike {
  Check check;  // of the first of them
  std::vector<std::string> hosts;
};

// Readings, such as free memory, count only where they are the trouble.
const std::string& compared(const Check& check) {
  const bool is_trouble = check.state == CheckState::kWarn || check.state == CheckState::kBad;
  return is_trouble || check.kind.empty() ? check.found : check.kind;
}

bool are_alike(const Check& a, const Check& b) {
  return a.state == b.state && a.advice == b.advice && compared(a) == compared(b);
}

int severity(CheckState state) {
  switch (state) {
    case CheckState::kBad: return 0;
    case CheckState::kWarn: return 1;
    case CheckState::kOk: return 2;
    case CheckState::kAbsent: break;
  }
  return 3;
}

class Comparison {
 public:
  Comparison(std::span<const HostChecks> hosts, int columns, bool colour)
      : hosts_(hosts),
        columns_(static_cast<std::size_t>(std::clamp(columns, kHelpColumnsMin, kHelpColumnsMax))),
        colour_(colour) {}

  std::string text() {
    for (const HostChecks& host : hosts_) {
      if (host.error.empty()) answered_.push_back(&host);
    }
    if (!answered_.empty()) {
      for (const Check& check : answered_.front()->checks) add(check.name);
    }
    add_silent();
    add_names("alike and ok: ", alike_);
    add_names("on no host: ", absent_);
    return out_ + summary();
  }

 private:
  [[nodiscard]] std::vector<Alike> groups_of(const std::string& name) const {
    std::vector<Alike> groups;
    for (const HostChecks* const host : answered_) {
      const auto check = std::ranges::find(host->checks, name, &Check::name);
      if (check == host->checks.end()) continue;
      const auto group = std::ranges::find_if(
          groups, [&](const Alike& one) { return are_alike(one.check, *check); });
      if (group == groups.end()) {
        groups.push_back({*check, {host->host}});
      } else {
        group->hosts.push_back(host->host);
      }
    }
    std::ranges::stable_sort(groups, {},
                             [](const Alike& group) { return severity(group.check.state); });
    return groups;
  }

  void add(const std::string& name) {
    const std::vector<Alike> groups = groups_of(name);
    if (std::ranges::all_of(
            groups, [](const Alike& group) { return group.check.state == CheckState::kAbsent; })) {
      absent_.push_back(name);
      return;
    }
    if (groups.size() == 1 && groups.front().check.state == CheckState::kOk) {
      alike_.push_back(name);
      return;
    }
    std::size_t shown = 0;
    std::size_t hidden = 0;  // hosts
    for (const Alike& group : groups) {
      if (shown == kDoctorGroupsShown) {
        hidden += group.hosts.size();
      } else {
        add_row(group, shown++ == 0 ? name : "");
      }
    }
    if (hidden > 0) {
      out_ += fmt::format("{:{}}{} more differ; --json has all\n", "", kCheckTextColumn,
                          base::counted(hidden, "host"));
    }
  }

  void add_row(const Alike& group, const std::string& name) {
    const Check& check = group.check;
    const bool is_absent = check.state == CheckState::kAbsent;
    const std::string column = is_absent ? "-   " : state_column(check.state, colour_);
    const std::string what = is_absent
                                 ? "none: " + check.found
                                 : (check.state == CheckState::kOk ? compared(check) : check.found);
    out_ += fmt::format("{}  {:18}", column, name) +
            base::wrap_indented(fmt::format("{}: {}", names(group.hosts), what), columns_,
                                kCheckTextColumn) +
            "\n";
    out_ += advice_lines(check, columns_);
  }

  // By reason: a thousand hosts of a switched-off rack are one line.
  void add_silent() {
    std::vector<Alike> groups;
    for (const HostChecks& host : hosts_) {
      if (host.error.empty()) continue;
      const auto group = std::ranges::find_if(
          groups, [&](const Alike& one) { return one.check.found == host.error; });
      if (group == groups.end()) {
        groups.push_back({{"no answer", CheckState::kBad, host.error, ""}, {host.host}});
      } else {
        group->hosts.push_back(host.host);
      }
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      add_row(groups[i], i == 0 ? groups[i].check.name : "");
    }
  }

  [[nodiscard]] std::string names(const std::vector<std::string>& hosts) const {
    return hosts.size() == hosts_.size() && hosts.size() > 1 ? "all" : base::name_ranges(hosts);
  }

  void add_names(const char* title, const std::vector<std::string>& names) {
    if (names.empty()) return;
    out_ += titled_list(title, names, columns_);
  }

  [[nodiscard]] std::string summary() const {
    std::vector<std::string> bad;
    std::size_t warned = 0;
    for (const HostChecks& host : hosts_) {
      if (is_bad(host)) bad.push_back(host.host);
      if (count_of(host.checks, CheckState::kWarn) > 0) ++warned;
    }
    std::string line =
        bad.empty() ? fmt::format("nothing is bad on {}", base::counted(hosts_.size(), "host"))
                    : fmt::format("bad: {} of {}: {}", bad.size(),
                                  base::counted(hosts_.size(), "host"), base::name_ranges(bad));
    if (warned > 0) line += fmt::format("; warnings on {}", base::counted(warned, "host"));
    return base::wrap_indented(line, columns_, 0) + "\n";
  }

  const std::span<const HostChecks> hosts_;
  const std::size_t columns_;
  const bool colour_;
  std::vector<const HostChecks*> answered_;
  std::vector<std::string> alike_, absent_;  // names of checks
  std::string out_;
};

}  // namespace

bool is_bad(const HostChecks& host) {
  return !host.error.empty() || count_of(host.checks, CheckState::kBad) > 0;
}

std::string survey_text(std::span<const HostChecks> hosts, int columns, bool colour) {
  return Comparison(hosts, columns, colour).text();
}

std::string survey_json(std::span<const HostChecks> hosts) {
  std::string list;
  for (const HostChecks& host : hosts) {
    std::string one = host.error.empty() ? doctor_json(host.host, host.checks)
                                         : fmt::format("{{\"host\":{},\"error\":{}}}\n",
                                                       base::json_string(host.host),
                                                       base::json_string(host.error));
    one.pop_back();
    list += (list.empty() ? "" : ",\n") + one;
  }
  return "[" + list + "]\n";
}

}  // namespace robustrun::cli
