#pragma once
// Records which slots of a memory area are held, that is, must stay unchanged. The board consists
// of words in memory that two processes have mapped: the worker, which fills the slots, and the
// agent, which reads them (docs/formats/memory-copy.md).
//
// The agent writes a wish: hold the first copy of a given step or later. Either side may fulfil it:
// the worker when it has completed such a copy, or the agent if there is such a copy already. The
// side that clears the wish holds the slot, so each wish holds at most one slot. A held slot is not
// filled, and a slot that is being filled is not held. Neither side waits for the other. A worker
// that writes wrong values harms only its own rank's copies.

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

  // The worker's side. A new worker calls begin_writer() first; step() then ignores the copies that
  // earlier workers made.
  void begin_writer();
  // Returns false if the slot is held.
  bool begin_filling(std::size_t slot);
  // `step`: that of the copy; nullopt: the copy is not complete. If the agent wished for it, the
  // slot is held from now on.
  void end_filling(std::size_t slot, std::optional<std::uint64_t> step);
  // Records that the slot's copy is not valid any more, whether held or not.
  void forget(std::size_t slot);

  // The agent's side. Replaces an earlier wish.
  void wish(std::uint64_t from_step);
  void wish_nothing();
  // Holds the oldest copy that fulfils the wish, if such a copy exists. The worker may be refilling
  // that slot at this moment; so the agent calls this again later while the wish is open.
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

// The board of an area that another process uses, mapped without the slots.
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
