#pragma once
// One rank's part in rounds of copies (wire::CopyRound): which of its copies are held in its
// memory, and which one is to be sent. Used on the agent's loop; the worker goes on making copies
// meanwhile, and what it wrote is not trusted (checkpoint/memory/hold_board.h).
//
// Up to two copies are held: the copy of the last complete round, and the copy of the current
// round. The latter replaces the former when the next order says that its round is complete.

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

  // Call while no worker is alive.
  void begin_attempt();
  void begin(const wire::CopyRound& order);
  // Called every kCopiesLookEvery. True: report() has changed.
  bool look();

  [[nodiscard]] bool is_in_round() const { return round_ != 0; }
  // A held copy that the peer does not have yet: its slot, and the description for the peer.
  struct Due {
    std::size_t slot = 0;
    wire::BulkRound round;
  };
  [[nodiscard]] std::optional<Due> due() const;
  // The transfer of that round's copy has ended; `is_kept`: the peer has it.
  void note_sent(std::uint64_t round, bool is_kept);
  // There is a new peer, which has no copies.
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
  std::optional<std::size_t> complete_, held_;  // slots
  std::uint64_t complete_round_ = 0, round_ = 0, from_step_ = 0, step_ = 0;
  Stage stage_ = Stage::kReady;
};

}  // namespace robustrun::agent
