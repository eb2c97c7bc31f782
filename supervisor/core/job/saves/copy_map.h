#pragma once
// Which node keeps whose copies, which copies there are, and what became of the copies of lost
// nodes. Pure; part of the job's memory. Copies (copies.h) asks for the map, gives the orders and
// reports.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/types/copy_events.h"

namespace robustrun::supervisor {

// One agent. The copies in its memory are lost with it.
struct CopyHolder {
  base::NodeId node = kNoNode;
  base::Generation generation;
  bool operator==(const CopyHolder&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "generation", generation);
  }
};

// Where the newest copies of a rank are. When the rank restarts on another node, both places stay
// known until its new node reports copies.
struct RankCopies {
  CopyHolder owner, keeper;            // the agent of the rank's own node, and of the keeper
  bool here = false, at_peer = false;  // the owner has a copy; the keeper has one
  bool is_ordered = false;  // save_held() has handled this rank; cleared by the next news
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

// A SaveHeldCopies order and its answer.
struct SaveOrder {
  std::uint64_t order = 0;
  CopyHolder keeper;
  std::vector<base::NodeId> owners;
  std::vector<base::Rank> ranks;
  bool is_over = false;
  std::uint32_t saved = 0;
  std::vector<std::string> errors;
  bool goes_on = false;  // not finished in time: the workers wait for it
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

// A save that an agent has not finished when the next attempt begins.
struct GoingSave {
  CopyHolder holder;
  base::Attempt made_in;    // the attempt whose workers made the copies
  std::uint64_t order = 0;  // of the SaveHeldCopies; 0: the agent saves its own workers' copies
  template <class V>
  void fields(V& v) {
    v(1, "holder", holder);
    v(2, "made_in", made_in);
    v(3, "order", order);
  }
};

struct CopyMap {
  std::uint64_t asked = 0, solved = 0;  // digests of the newest question and of the newest answer
  std::vector<std::uint32_t>
      keepers;  // by place: the place of its keeper; empty: no copies are kept
  std::string text;  // how keepers and owners are related, or why there are no keepers
  bool is_said = true;  // the map was reported, or no map is known yet
  bool is_relaxed = false;  // some keepers may fail together with their owner (BackupSolved)
  bool is_placed = false;  // agents were sent a map in this run

  base::Attempt attempt;  // the attempt that was started last
  std::vector<CopyHolder> holders;  // by place, in that attempt
  std::vector<RankCopies> ranks;  // by rank; kept as long as the world size stays the same

  std::uint64_t orders = 0;  // number of the newest SaveHeldCopies
  std::vector<SaveOrder> saves;  // orders since the last attempt ended; reported together

  std::vector<GoingSave> going_on;
  bool is_awaited = false;  // the attempt's workers were told to wait for all of going_on
  // An agent died while it saved copies: other holders, if any, are told to save them.
  bool is_cut_off = false;

  // True when the answer is to the newest question and changes the map, its text or is_relaxed.
  // `places`: size of the group.
  bool take(const BackupSolved& answer, std::size_t places);
  // `members`: the agents, by place. Forgets `saves`. Forgets the map if the group has another
  // size, and the ranks' copies if the world has another size.
  void begin_attempt(base::Attempt now, std::vector<CopyHolder> members, std::size_t world);
  // News of the node at `place`, which has `slots` ranks, the first of them `first`.
  void take(const CopiesKept& kept, std::uint32_t place, std::uint32_t first, std::uint32_t slots);
  // Takes the answer to an order. False: no order waits for it.
  bool take(const HeldCopiesSaved& answer, base::NodeId from);
  // Ends the keeper's open orders without an answer, for the reason `why`.
  void give_up(const CopyHolder& keeper, const std::string& why);
  // Notes a save that is not finished. The parameters are the fields of GoingSave.
  void goes_on(const CopyHolder& holder, base::Attempt made_in, std::uint64_t order);
  // A save is over. Forgets it, and saves with the same order number from earlier attempts. False:
  // no such save is known.
  bool take(const SavingOver& over, base::NodeId from);
  void lose(base::NodeId node);  // its agent is gone, and so are its unfinished saves
  // Whether the agent is saving copies of its own workers.
  [[nodiscard]] bool saves_its_own(const CopyHolder& holder) const;
  [[nodiscard]] bool is_saving() const;
  [[nodiscard]] bool has_copies() const;  // some worker makes copies
  // Ranks with a copy on their own node only, ascending. Empty if there are no keepers.
  [[nodiscard]] std::vector<base::Rank> unsecured() const;
  // The agent that keeps the copies of `place`. Its node is kNoNode if no agent does.
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
