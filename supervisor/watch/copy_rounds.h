#pragma once
// In rounds all ranks' copies of one step go to the nodes that keep them, however much faster new
// ones are made than sent: without, every sender takes its own newest copy, and there may never be
// a step of which the others have all. Says which step the next round is of, from what agents say.
//
// Pure; the driver owns one. A round begins when every rank of the attempt has said that it can,
// and some have a newer copy than the last round. If all have the same newest one, and have time to
// hold it before it is overwritten, that is taken; else one that all will make, so far ahead that
// the order arrives before, as far as their pace and the orders that came too late so far tell. A
// round is complete when all ranks' copies of it are kept, or refused by peers without room. It is
// given up when ranks hold different steps, because the order came too late for some, or when it is
// overdue.

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
  // Ranks there are not, and another attempt's, do not count.
  void take(const wire::CopiesKept& report, base::Nanos now);
  // The order for all nodes of the attempt, when a round is to begin now.
  std::optional<wire::CopyRound> next(base::Nanos now);
  // next() may have one then, whatever anybody says before.
  [[nodiscard]] std::optional<base::Nanos> next_at() const;
  // That is under way, or was last.
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
  std::uint64_t last_ = 0;  // number of the newest round that anybody knows of
  std::optional<wire::CopyRound> order_;
  bool is_open_ = false;
  base::Nanos begun_at_{}, not_before_{};
  std::optional<std::uint64_t> step_;  // that the first rank holds in the round
  bool is_missed_ = false;  // another one holds another
  std::uint64_t complete_ = 0;  // number of the last one that was; 0: none in this attempt
  std::optional<std::uint64_t> complete_step_;
  // How many ranks: take part; have the newest step of all; hold a copy in the round; are done.
  std::size_t ready_ = 0, at_newest_ = 0, holding_ = 0, done_ = 0;
  std::optional<std::uint64_t> newest_;
  base::Nanos newest_at_{};  // when it was heard of
  struct Mark {
    std::uint64_t step = 0;
    base::Nanos at{};
  };
  std::optional<Mark> before_, since_;  // of newest_, some time apart
  base::Nanos lead_{}, limit_{};  // how far ahead; how long a round may last
};

}  // namespace robustrun::supervisor
