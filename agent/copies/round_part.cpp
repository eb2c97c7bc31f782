#include "agent/copies/round_part.h"

#include <utility>

namespace robustrun::agent {

std::optional<RoundPart> RoundPart::of(const GivenMemory& given) {
  auto board = checkpoint::MappedBoard::of(given.memory, given.bytes);
  if (!board) return std::nullopt;
  return RoundPart(*std::move(board));
}

void RoundPart::begin_attempt() {
  board_->clear();
  complete_.reset();
  held_.reset();
  complete_round_ = round_ = 0;
  stage_ = Stage::kReady;
}

void RoundPart::begin(const wire::CopyRound& order) {
  board_->wish_nothing();
  if (held_ && order.complete == round_) {
    if (complete_) board_->release(*complete_);
    complete_ = std::exchange(held_, std::nullopt);
    complete_round_ = round_;
  }
  let_go();
  round_ = order.round;
  from_step_ = order.from_step;
  board_->wish(from_step_);
}

void RoundPart::let_go() {
  if (held_) board_->release(*std::exchange(held_, std::nullopt));
  stage_ = Stage::kReady;
}

bool RoundPart::is_still_held() const {
  return board_->is_held(*held_) && board_->step(*held_) == step_;
}

bool RoundPart::look() {
  if (round_ == 0) return false;
  bool changed = false;
  if (held_ && !is_still_held()) {  // the worker took the copy back: it was incomplete
    let_go();
    board_->wish(from_step_);
    changed = true;
  }
  if (!held_) board_->hold_what_is_there();
  for (std::size_t slot = 0; slot < board_->slots(); ++slot) {
    if (slot == complete_ || slot == held_ || !board_->is_held(slot)) continue;
    const auto step = board_->step(slot);
    if (held_ || !step || *step < from_step_) {  // held for a request that was withdrawn
      board_->release(slot);
      continue;
    }
    held_ = slot;
    step_ = *step;
    stage_ = Stage::kHeld;
    changed = true;
  }
  return changed;
}

std::optional<RoundPart::Due> RoundPart::due() const {
  if (!held_ || stage_ != Stage::kHeld) return std::nullopt;
  return Due{*held_, {round_, complete_round_}};
}

void RoundPart::note_sent(std::uint64_t round, bool is_kept) {
  if (round != round_ || stage_ != Stage::kHeld) return;
  stage_ = is_kept ? Stage::kKept : Stage::kRefused;
}

void RoundPart::send_again() {
  if (held_) stage_ = Stage::kHeld;
}

std::optional<wire::RoundPart> RoundPart::report() const {
  if (!board_->newest_step()) return std::nullopt;
  return wire::RoundPart{stage_, round_, held_ ? step_ : 0};
}

}  // namespace robustrun::agent
