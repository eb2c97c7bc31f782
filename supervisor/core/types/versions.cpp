#include "supervisor/core/types/versions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/result.h"
#include "base/core/text.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

const char* to_string(Version::State state) {
  switch (state) {
    case Version::State::kPending: return "pending";
    case Version::State::kReplaced: return "replaced";
    case Version::State::kApplied: return "applied";
    case Version::State::kProven: return "proven";
    case Version::State::kRolledBack: return "rolled back";
  }
  return "unknown";
}

std::optional<std::uint32_t> Versions::older(bool proven_only) const {
  for (std::uint32_t number = present; number-- > 0;) {
    if (all[number].state == Version::State::kProven) return number;
  }
  if (proven_only) return std::nullopt;
  for (std::uint32_t number = present; number-- > 0;) {
    const Version& version = all[number];
    if (version.failed || version.state == Version::State::kReplaced) continue;
    if (version.state != Version::State::kRolledBack) return number;
  }
  return std::nullopt;
}

bool Versions::take(const UpdateRequested& asked, base::Nanos at) {
  const bool is_new = asked.version == all.size();
  if (all.empty() || asked.version > all.size() || (is_new && all.size() >= kVersionsMax)) {
    return false;
  }
  if (asked.version == next && !is_new) return false;
  if (is_changing() && all[next].state == Version::State::kPending) {
    all[next].state = Version::State::kReplaced;
  }
  if (is_new) {
    Version& version = all.emplace_back();
    version.asked_at = at;
    version.changes = asked.changes;
    version.digest = asked.digest;
  }
  next = asked.version;
  now = asked.now && is_changing();
  due.reset();
  if (asked.within > base::Nanos{} && is_changing()) due = at + asked.within;
  return true;
}

bool Versions::use_next(base::Attempt attempt) {
  RR_ASSERT(next < all.size());
  const bool changed = is_changing();
  present = next;
  now = false;
  due.reset();
  Version& version = all[present];
  if (!version.attempt) version.attempt = attempt;
  if (version.state != Version::State::kProven) version.state = Version::State::kApplied;
  return changed;
}

void Versions::go_back(std::uint32_t target, std::string why) {
  RR_ASSERT(target < present);
  all[present].state = Version::State::kRolledBack;
  all[present].why = std::move(why);
  next = target;
  now = false;
  due.reset();
}

std::string Versions::name(std::uint32_t number) const {
  RR_ASSERT(number < all.size());
  return fmt::format(
      "version {} ({})", number,
      number == 0 ? "as the run was started" : base::join(all[number].changes, "; "));
}

}  // namespace robustrun::supervisor
