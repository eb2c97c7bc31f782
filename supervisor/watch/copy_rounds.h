#pragma once
// Rounds of copies: in a round all ranks send their copies of the same step to their keepers. If
// copies are made faster than they are sent, every rank without rounds would send its own newest
// copy, and the keepers might never have all copies of one step. CopyRounds chooses the step of the
// next round from the agents' reports.
//
// Pure; the driver owns one. A round begins when every rank of the attempt has reported that it can
// take part, and some rank has a newer copy than that of the last complete round. If all ranks have
// the same newest copy, and time to hold it before it is overwritten, the round is about that step.
// Otherwise it is about a later step, so far ahead that the order arrives in time; the ranks' pace
// and earlier orders that came too late tell how far. A round is complete when the copies of all
// ranks are kept, or refused by peers without room. A round is given up when it is overdue, and
// when ranks hold different steps because the order came too late for some.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/peer_copies.h"

namespace robustrun::supervisor {

class CopyRounds {
 public:
  void begin_attempt(base::Attempt attempt, std::uint32_t world_size);
  // Unknown ranks, and ranks of another attempt, are ignored.
  void take(const wire::CopiesKept& report, base::Nanos now);
  // The order for all nodes of the attempt if a round must begin now.
  std::optional<wire::CopyRound> next(base::Nanos now);
  // When next() may return an order even without further reports.
  [[nodiscard]] std::optional<base::Nanos> next_at() const;
  // The order of the current round, or of the last one.
  [[nodiscard]] const std::optional<wire::CopyRound>& order() const { return order_; }

 private:
  using Stage = wire::RoundPart::Stage;
  struct RankPart {
    std::optional<wire::RoundPart> part;
    std::optional<std::uint64_t> newest;
  };
  void note_pace(std::uint64_t step, base::Nanos now);
  void count(const wire::RoundPart& part, int by);
  void end_round(base::Nanos now);
  [[nodiscard]] std::optional<std::uint64_t> choose_step(base::Nanos now) const;
  [[nodiscard]] base::Nanos deadline() const;

  base::Attempt attempt_;
  std::vector<RankPart> ranks_;
  std::uint64_t last_ = 0;  // number of the newest round that was ordered or reported
  std::optional<wire::CopyRound> order_;
  bool is_open_ = false;
  base::Nanos begun_at_{}, not_before_{};
  std::optional<std::uint64_t> step_;  // the step that the first rank holds in the round
  bool is_missed_ = false;  // another rank holds another step
  std::uint64_t complete_ = 0;  // number of the last complete round; 0: none in this attempt
  std::optional<std::uint64_t> complete_step_;
  // How many ranks: take part; have the newest step of all; hold a copy in the round; are done.
  std::size_t ready_ = 0, at_newest_ = 0, holding_ = 0, done_ = 0;
  std::optional<std::uint64_t> newest_;
  base::Nanos newest_at_{};  // when it was reported
  struct Mark {
    std::uint64_t step = 0;
    base::Nanos at{};
  };
  std::optional<Mark> before_, since_;  // of newest_, some time apart
  base::Nanos lead_{}, limit_{};  // how far ahead a step is chosen; how long a round may last
};

}  // namespace robustrun::supervisor
