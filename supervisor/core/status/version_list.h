#pragma once
// A run's versions for people and scripts: `robustrun update --list`. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/types/versions.h"

namespace robustrun::supervisor {

struct VersionRow {
  std::uint32_t number = 0;
  Version::State state = Version::State::kPending;
  base::Nanos asked{};                  // Unix time
  std::vector<std::string> changes;  // in words; empty: as the run was started
  std::string code_digest;  // empty: this version brought no code
  std::optional<std::uint32_t> attempt;  // the first attempt that had it
  bool present = false;  // the workers have it, or had it last
  bool next = false;  // the next attempt gets it
  std::string why;  // why the version was given up; empty: it was not
  template <class V>
  void fields(V& v) {
    v(1, "number", number);
    v(2, "state", state);
    v(3, "asked", asked);
    v(4, "changes", changes);
    v(5, "code_digest", code_digest);
    v(6, "attempt", attempt);
    v(7, "present", present);
    v(8, "next", next);
    v(9, "why", why);
  }
};

struct VersionList {
  std::vector<VersionRow> versions;  // by number
  template <class V>
  void fields(V& v) {
    v(1, "versions", versions);
  }
};

// `wall_clock`: Unix time minus the supervisor's clock.
[[nodiscard]] VersionList list_versions(const Versions& versions, base::Nanos wall_clock);
// One JSON object, without a newline.
[[nodiscard]] std::string versions_json(const VersionList& list);
// A line for each version, with times in UTC.
[[nodiscard]] std::string versions_text(const VersionList& list);

}  // namespace robustrun::supervisor
