#pragma once
// The search for one block among peers: whom to ask now, and when somebody else as well. Pure.
//
// The first source is asked at once. Who has the block coming says so again and again; as long as
// one of those asked gave a sign of life lately, nobody else is. When none did, the next one is
// asked besides (a hedged request; Dean and Barroso, CACM 56(2), 2013), kAskedAtOnceMax at a time,
// and when there is no next one and all were silent for kSilentPeerMax the search is over: the
// block is read from where it comes from.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::bootstrap {

class BlockQuest {
 public:
  // `patience`: as PeerManners has it.
  BlockQuest(std::vector<base::NodeId> sources, base::Nanos patience)
      : sources_(std::move(sources)), patience_(patience) {}

  struct Step {
    std::optional<base::NodeId> ask;  // now
    // Were silent, and are not counted on any more: whoever has waited for them need not.
    std::vector<base::NodeId> dropped;
    // Were silent for as long as another one is asked for.
    std::vector<base::NodeId> late;
    bool is_over = false;  // nobody is left who could have it
    base::Nanos look_at{};  // when next() wants to be called again at the latest
  };
  // To be called at the beginning, after each event, and when its last answer said.
  [[nodiscard]] Step next(base::Nanos now);

  // It lives: it let us in.
  void on_life(base::NodeId node, base::Nanos now);
  // It is on its way to us, or to the one that was asked.
  void on_sign(base::NodeId node, base::Nanos now);
  // It has not got it, or is gone.
  void on_end(base::NodeId node);

 private:
  struct Asked {
    base::NodeId node;
    base::Nanos since{};
    base::Nanos heard_at{};
    bool was_late = false;
  };
  std::vector<base::NodeId> sources_;
  std::size_t next_ = 0;
  std::vector<Asked> asked_;
  base::Nanos patience_;
};

}  // namespace robustrun::bootstrap
