#pragma once
// Which node keeps whose copies, which copies there are, and what became of those of lost nodes.
// Pure; part of the job's memory. job_copies.cpp asks, orders and says.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/types/copy_events.h"

namespace robustrun::supervisor {

// One agent: what it has in memory ends with it.
struct CopyHolder {
  base::NodeId node = kNobody;
  base::Generation generation;
  bool operator==(const CopyHolder&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "generation", generation);
  }
};

// Where the newest copies of a rank are. Both stay known when the rank starts again elsewhere,
// until its new node tells of copies.
struct RankCopies {
  CopyHolder owner, keeper;
  bool here = false, at_peer = false;
  bool is_ordered = false;  // to be saved, by the keeper; until the next word of it
  [[nodiscard]] bool is_any() const { return here || at_peer; }
  template <class V>
  void fields(V& v) {
    v(1, "owner", owner);
    v(2, "keeper", keeper);
    v(3, "here", here);
    v(4, "at_peer", at_peer);
    v(5, "ordered", is_ordered);
  }
};

// SaveHeldCopies, and its answer.
struct SaveOrder {
  std::uint64_t order = 0;
  CopyHolder keeper;
  std::vector<base::NodeId> owners;
  std::vector<base::Rank> ranks;
  bool is_over = false;
  std::uint32_t saved = 0;
  std::vector<std::string> errors;
  bool goes_on = false;  // it was not done in time, and workers wait for it
  template <class V>
  void fields(V& v) {
    v(1, "order", order);
    v(2, "keeper", keeper);
    v(3, "owners", owners);
    v(4, "ranks", ranks);
    v(5, "over", is_over);
    v(6, "saved", saved);
    v(7, "errors", errors);
    v(8, "goes_on", goes_on);
  }
};

// Copies that an agent still saves while the next attempt begins.
struct GoingSave {
  CopyHolder holder;
  base::Attempt made_in;
  std::uint64_t order = 0;  // as SavingOver
  template <class V>
  void fields(V& v) {
    v(1, "holder", holder);
    v(2, "made_in", made_in);
    v(3, "order", order);
  }
};

struct CopyMap {
  std::uint64_t asked = 0, solved = 0;  // digests of the newest question, and of the answer
  std::vector<std::uint32_t> keepers;  // by place; empty: nobody keeps anything
  std::string text;  // of the answer
  bool is_said = true;  // or nobody copies anything yet
  bool is_relaxed = false;
  bool is_placed = false;  // somebody was told of a map in this run

  base::Attempt attempt;  // that was started last
  std::vector<CopyHolder> holders;  // by place, in that attempt
  std::vector<RankCopies> ranks;  // by rank; they stay as long as the world has the same size

  std::uint64_t orders = 0;  // numbers given so far
  std::vector<SaveOrder> saves;  // since the last attempt ended; all of them are told together

  std::vector<GoingSave> going_on;
  bool is_awaited = false;  // workers of the attempt were told to wait for all of them
  bool is_cut_off = false;  // one ended with its agent: others may have what that had

  // True: the answer is to this question, and says something else than what is known.
  bool take(const BackupSolved& answer, std::size_t places);
  void begin_attempt(base::Attempt now, std::vector<CopyHolder> members, std::size_t world);
  // Of a node at `place`, whose ranks begin with `first`.
  void take(const CopiesKept& kept, std::uint32_t place, std::uint32_t first, std::uint32_t slots);
  bool take(const HeldCopiesSaved& answer, base::NodeId from);  // false: no order waits for it
  void give_up(const CopyHolder& keeper, const std::string& why);  // it will not answer
  void goes_on(const CopyHolder& holder, base::Attempt made_in, std::uint64_t order);
  bool take(const SavingOver& over, base::NodeId from);  // false: that is no news
  void lose(base::NodeId node);  // and what it still saves
  // It saves copies of its own workers.
  [[nodiscard]] bool saves_its_own(const CopyHolder& holder) const;
  [[nodiscard]] bool is_saving() const;
  [[nodiscard]] bool has_copies() const;  // somebody makes some
  // Ranks with a copy on their node and none elsewhere, ascending.
  [[nodiscard]] std::vector<base::Rank> unsecured() const;
  // The agent that keeps the copies of `place`; nobody: kNobody.
  [[nodiscard]] CopyHolder keeper_of(std::size_t place) const;

  template <class V>
  void fields(V& v) {
    v(1, "asked", asked);
    v(2, "solved", solved);
    v(3, "keepers", keepers);
    v(4, "text", text);
    v(5, "said", is_said);
    v(6, "relaxed", is_relaxed);
    v(7, "placed", is_placed);
    v(8, "attempt", attempt);
    v(9, "holders", holders);
    v(10, "ranks", ranks);
    v(11, "orders", orders);
    v(12, "saves", saves);
    v(13, "going_on", going_on);
    v(14, "awaited", is_awaited);
    v(15, "cut_off", is_cut_off);
  }
};

}  // namespace robustrun::supervisor
