#pragma once
// One rank's part in rounds of copies (wire::CopyRound): which of its copies stay unchanged in its
// memory ("held"), and which held copy is to be sent to the keeper. Used on the agent's loop, while
// the worker goes on making copies. The memory's content is not trusted
// (checkpoint/memory/hold_board.h).
//
// Up to two copies are held: one of the last complete round, and one of the current round. When the
// next order says that the current round is complete, the older copy is released.

#include <cstdint>
#include <optional>

#include "agent/copies/memory.h"
#include "checkpoint/memory/hold_board.h"
#include "wire/bulk/request.h"
#include "wire/messages/peer_copies.h"

namespace robustrun::agent {

class RoundPart {
 public:
  // nullopt: the memory has no board.
  static std::optional<RoundPart> of(const GivenMemory& given);

  // Releases all copies. Call while no worker is alive.
  void begin_attempt();
  // Begins the round of `order`.
  void begin(const wire::CopyRound& order);
  // Call every kCopiesLookEvery: finds the copy that the worker made for the round. True: a copy
  // was found, or the held one was lost.
  bool look();

  [[nodiscard]] bool is_in_round() const { return round_ != 0; }
  // A held copy that the keeper does not have yet: its slot, and the description for the keeper.
  struct Due {
    std::size_t slot = 0;
    wire::BulkRound round;
  };
  [[nodiscard]] std::optional<Due> due() const;
  // The keeper has taken the copy of `round` (`is_kept`), or has refused it.
  void note_sent(std::uint64_t round, bool is_kept);
  // There is a new keeper, which has no copies.
  void send_again();

  // The report for the supervisor; nullopt: the worker of this attempt has made no copy.
  [[nodiscard]] std::optional<wire::RoundPart> report() const;
  [[nodiscard]] std::optional<std::uint64_t> newest_step() const { return board_->newest_step(); }

 private:
  using Stage = wire::RoundPart::Stage;
  explicit RoundPart(checkpoint::MappedBoard board) : board_(std::move(board)) {}
  void let_go();
  [[nodiscard]] bool is_still_held() const;

  mutable checkpoint::MappedBoard board_;
  std::optional<std::size_t> complete_, held_;  // slots held for complete_round_ and for round_
  std::uint64_t complete_round_ = 0, round_ = 0, from_step_ = 0, step_ = 0;
  Stage stage_ = Stage::kReady;
};

}  // namespace robustrun::agent
