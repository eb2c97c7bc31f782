#pragma once
// Where the time of a run went, and its effective training time ratio: productive time over wall
// time (ETTR, ByteRobust, arXiv 2509.16293, section 2: over the whole run, and in windows of an
// hour). Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct Facts;
struct JournalEntry;

enum class Spent : std::uint8_t {
  kStarting,     // until the first training step
  kProductive,   // training, as far as it was not done again later
  kStalled,      // ranks waited for one that came by itself, or had not come when the run ended
  kDetecting,    // something had failed, and nobody knew
  kLocalizing,   // it was known, and not yet decided what to do
  kRestarting,   // until the next first step
  kRecomputing,  // steps that had been done before the failure
  kEnding,       // after the last decision of a run that did not succeed
  kRunning,      // the script's own code, in a run of which no step is known
};
inline constexpr std::uint8_t kSpentKinds = 9;
[[nodiscard]] std::string_view to_string(Spent spent);

// Since the run's start.
struct Stretch {
  std::string spent;
  base::Nanos from{};
  base::Nanos to{};
  template <class V>
  void fields(V& v) {
    v(1, "spent", spent);
    v(2, "from", from);
    v(3, "to", to);
  }
};

struct TimeShare {
  std::string spent;
  base::Nanos duration{};
  template <class V>
  void fields(V& v) {
    v(1, "spent", spent);
    v(2, "duration", duration);
  }
};

struct TimeReport {
  std::optional<double> ettr;              // 0 to 1; none: no step is known, or it took no time
  std::optional<double> ettr_last_hour;    // runs of an hour and more
  std::optional<double> ettr_worst_hour;
  std::vector<TimeShare> shares;  // what there was; together the run's duration, exactly
  std::vector<Stretch> timeline;  // in order, without gaps
  template <class V>
  void fields(V& v) {
    v(1, "ettr", ettr);
    v(2, "ettr_last_hour", ettr_last_hour);
    v(3, "ettr_worst_hour", ettr_worst_hour);
    v(4, "shares", shares);
    v(5, "timeline", timeline);
  }
};

// Of any journal, whole or not, sensible or not. Steps that were done twice are only known of
// scripts that say their number (robustrun.step); without steps at all nobody knows what of the
// script's time was training: it is "running", and there is no ratio.
[[nodiscard]] TimeReport account_time(const Facts& facts, const std::vector<JournalEntry>& entries);

// "97.3 % productive; restarting 12.1 s, recomputing 3.40 s".
[[nodiscard]] std::string time_words(const TimeReport& report);

}  // namespace robustrun::supervisor
