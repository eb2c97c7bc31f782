#pragma once
// The versions of a run's code, environment and arguments: the one that the run started with, those
// that `robustrun update` has brought, and which of them the next attempt gets. Pure.
//
// Version 0 is the run as it was started. The core knows a version's changes in words and the
// digest of its code; the driver keeps the content in the run directory. An update takes effect at
// a restart: at a requested one, or at the next one for another reason (ByteRobust, arXiv
// 2509.16293, section 6.1: changes are merged into the recovery from the next failure).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::supervisor {

// `robustrun update`: a new version has the next number; an older number selects that version
// again.
struct UpdateRequested {
  std::uint32_t version = 0;
  // In words, without secrets; compared with the version that would have come next otherwise.
  std::vector<std::string> changes;
  std::string digest;  // of the code that the version brings; empty: none
  bool now = false;  // restart the workers for it at once
  base::Nanos within{};  // otherwise: restart for it after this time, if no restart came; 0: never
  template <class V>
  void fields(V& v) {
    v(1, "version", version);
    v(2, "changes", changes);
    v(3, "digest", digest);
    v(4, "now", now);
    v(5, "within", within);
  }
};

struct Version {
  enum class State : std::uint8_t {
    kPending,  // no attempt has had it yet
    kReplaced,  // another version was requested before any attempt had it; the user may select it
    kApplied,  // an attempt has had it, and has not made progress yet
    kProven,  // an attempt has made progress with it
    kRolledBack,  // given up, for the reason `why`
  };
  State state = State::kPending;
  base::Nanos asked_at{};  // supervisor's clock
  std::vector<std::string> changes;
  std::string digest;
  std::optional<base::Attempt> attempt;  // the first attempt that had it
  bool failed = false;  // workers failed with it before the first progress
  std::string why;
  template <class V>
  void fields(V& v) {
    v(1, "state", state);
    v(2, "asked_at", asked_at);
    v(3, "changes", changes);
    v(4, "digest", digest);
    v(5, "attempt", attempt);
    v(6, "failed", failed);
    v(7, "why", why);
  }
};

const char* to_string(Version::State state);

struct Versions {
  std::vector<Version> all;  // by number; at most kVersionsMax
  std::uint32_t present = 0;  // version of the attempt that runs, or ran last
  std::uint32_t next = 0;  // version of the next attempt
  bool now = false;  // the workers are restarted for `next` at once
  std::optional<base::Nanos> due;  // when a restart for `next` is due; none: no time was set

  [[nodiscard]] bool is_changing() const { return next != present; }
  // The version to roll back to from the present one: the newest older version that has made
  // progress. Without such a version, and unless `proven_only`: the newest older version that was
  // not replaced, did not fail and was not given up.
  [[nodiscard]] std::optional<std::uint32_t> older(bool proven_only) const;
  // False when the request changes nothing, or names an impossible version. `at`: when it came.
  bool take(const UpdateRequested& asked, base::Nanos at);
  // An attempt begins and gets `next`. True when the attempt before had another version.
  bool use_next(base::Attempt attempt);
  // The present version is given up, for the reason `why`; `target` is an older version.
  void go_back(std::uint32_t target, std::string why);
  // "version 2 (env LR=0.1; unset DEBUG)"
  [[nodiscard]] std::string name(std::uint32_t number) const;

  template <class V>
  void fields(V& v) {
    v(1, "all", all);
    v(2, "present", present);
    v(3, "next", next);
    v(4, "now", now);
    v(5, "due", due);
  }
};

}  // namespace robustrun::supervisor
