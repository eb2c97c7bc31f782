#pragma once
// Which slots of a memory stay as they are, agreed on by the worker that fills them and the agent
// that reads them, in words that both have mapped (docs/formats/memory-copy.md).
//
// The agent wishes for the first copy of a step or later. The wish is one word, and whoever takes
// it out holds the slot: the worker when it has completed such a copy, or the agent when one is
// there already. So no copy is missed between two looks, and never more than one is held for a
// wish. A slot that is held is not filled, and one that is being filled is not held. Neither waits
// for the other. Nothing of it is trusted: whoever writes nonsense there harms its own rank's
// copies.

#include <cstdint>
#include <optional>
#include <span>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::checkpoint {

class HoldBoard {
 public:
  static constexpr std::size_t kBytes = 4096;

  // `words`: aligned to pages, kBytes of them, all zero when the memory is new.
  HoldBoard(std::span<char> words, std::size_t slots);
  [[nodiscard]] std::size_t slots() const { return slots_; }

  // The worker's. Another one wrote what is there; its copies are not of this worker's steps.
  void begin_writer();
  // False: it is held.
  bool begin_filling(std::size_t slot);
  // What is wished for, too, if the copy is complete: `step` is its step.
  void end_filling(std::size_t slot, std::optional<std::uint64_t> step);
  // What is there is no copy any more, held or not.
  void forget(std::size_t slot);

  // The agent's. Replaces the wish before, if that is still there.
  void wish(std::uint64_t from_step);
  void wish_nothing();
  // Holds what is wished for, if it is there. Otherwise again later: the worker may hold it.
  void hold_what_is_there();
  void release(std::size_t slot);
  // No worker lives: nothing is held or wished for, and no slot has a step.
  void clear();

  [[nodiscard]] bool is_held(std::size_t slot) const;
  // Of the copy there, if the worker of today made it.
  [[nodiscard]] std::optional<std::uint64_t> step(std::size_t slot) const;
  [[nodiscard]] std::optional<std::uint64_t> newest_step() const;

 private:
  template <class T>
  [[nodiscard]] T& word(std::size_t at) const {
    return *reinterpret_cast<T*>(words_.data() + at);
  }
  [[nodiscard]] std::uint32_t& state_of(std::size_t slot) const;
  [[nodiscard]] std::uint64_t& step_of(std::size_t slot) const;
  bool take_wish(std::uint64_t step) const;

  std::span<char> words_;
  std::size_t slots_;
};

// The board of an area that another process has, mapped on its own.
class MappedBoard {
 public:
  // nullopt: that memory has none, or cannot be mapped.
  static std::optional<MappedBoard> of(const base::Fd& memory, std::uint64_t bytes);
  MappedBoard(MappedBoard&& other) noexcept;
  MappedBoard& operator=(MappedBoard&&) = delete;
  MappedBoard(const MappedBoard&) = delete;
  MappedBoard& operator=(const MappedBoard&) = delete;
  ~MappedBoard();

  [[nodiscard]] HoldBoard& operator*() { return board_; }
  [[nodiscard]] HoldBoard* operator->() { return &board_; }

 private:
  MappedBoard(char* start, std::size_t slots)
      : start_(start), board_({start, HoldBoard::kBytes}, slots) {}
  char* start_;
  HoldBoard board_;
};

}  // namespace robustrun::checkpoint
