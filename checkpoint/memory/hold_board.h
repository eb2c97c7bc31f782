#pragma once
// Which slots of a memory area must stay unchanged. The worker that fills the slots and the agent
// that reads them agree on it through words in memory that both have mapped
// (docs/formats/memory-copy.md).
//
// The agent wishes for the first copy of a given step or later. The wish is one word, and the side
// that clears it also holds the slot: the worker when it has completed such a copy, or the agent
// when one exists already. So no copy is missed between two looks, and at most one slot is held per
// wish. A held slot is not filled, and a slot that is being filled is not held. Neither side waits
// for the other. A worker that writes nonsense here harms only its own rank's copies.

#include <cstdint>
#include <optional>
#include <span>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::checkpoint {

class HoldBoard {
 public:
  static constexpr std::size_t kBytes = 4096;

  // `words`: kBytes of page-aligned memory, all zero at first.
  HoldBoard(std::span<char> words, std::size_t slots);
  [[nodiscard]] std::size_t slots() const { return slots_; }

  // The worker's side. Called by a new worker: earlier copies do not count as its own steps.
  void begin_writer();
  // Returns false if the slot is held.
  bool begin_filling(std::size_t slot);
  // Ends filling. `step` is the step of the copy, nullopt if it is not complete. If the agent
  // wished for it, the slot is held.
  void end_filling(std::size_t slot, std::optional<std::uint64_t> step);
  // The slot's copy is no longer valid, whether held or not.
  void forget(std::size_t slot);

  // The agent's side. Wishes for a copy of `from_step` or later; replaces an earlier wish.
  void wish(std::uint64_t from_step);
  void wish_nothing();
  // Holds the oldest copy that fulfils the wish, if there is one. To be called again later, because
  // the worker may be just refilling that slot.
  void hold_what_is_there();
  void release(std::size_t slot);
  // Resets everything; only when no worker is alive.
  void clear();

  [[nodiscard]] bool is_held(std::size_t slot) const;
  // Step of the slot's copy, if the current worker made it.
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

// The board of an area that belongs to another process, mapped separately.
class MappedBoard {
 public:
  // Returns nullopt if `memory` of `bytes` has no board or cannot be mapped.
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
