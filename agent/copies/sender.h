#pragma once
// Sends copies of this node's ranks to their keepers, and reports to the supervisor which copies
// exist. In a round it sends the copy that is held for the round (round_part.h), otherwise the
// newest complete copy.
//
// Owned by PeerCopies, on the agent's loop. Workers do not announce copies: the agent reads the
// headers in their memory every kCopiesLookEvery. One copy is sent at a time, on a thread, at the
// rate that the supervisor ordered, by default kCopiesBytesPerSecond. If the worker makes several
// copies during a transfer, only the newest is sent next. A copy that the worker overwrites during
// its transfer is given up.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/copies/limits.h"
#include "agent/copies/memory_tier.h"
#include "agent/copies/round_part.h"
#include "agent/node/node_context.h"
#include "base/io/blocking_pool.h"
#include "base/io/timer.h"
#include "wire/bulk/pace.h"
#include "wire/bulk/stream.h"

namespace robustrun::agent {

struct SendTask;

class CopySender : public std::enable_shared_from_this<CopySender> {
 public:
  CopySender(NodeContext& node, MemoryTier& tier);

  void use(std::string run_id, wire::SharedBulkKeys keys);
  // Starts sending, or changes where copies go.
  void place(const wire::PlaceCopies& order);
  // Ignores an `order` for another attempt than that of the last place().
  void begin_round(const wire::CopyRound& order);
  // Whether a node keeps copies of `rank`.
  [[nodiscard]] bool is_kept(base::Rank rank) const { return route_of(rank) != nullptr; }
  // The last call: ends the transfer.
  void abandon();

 private:
  struct Sent {
    std::uint64_t serial = 0;  // MemoryTier::Own::serial
    std::uint64_t over = 0;  // sequence of the last copy sent, or seen while there was no keeper
    std::uint64_t step = 0;
    std::uint64_t turn = 0;  // the rank with the lowest number has waited longest
    bool here = false;
    bool at_peer = false;
    bool failed = false;  // the last transfer failed, which is logged
    base::Nanos not_before{};
    std::chrono::milliseconds wait{};
    std::shared_ptr<RoundPart> part;  // null: the rank's memory has no board
    bool is_part_reported = false;
    [[nodiscard]] bool is_in_round() const { return part && part->is_in_round(); }
    [[nodiscard]] bool is_reportable() const { return here || at_peer; }
  };
  void look();
  void look_again();
  bool look_at(const MemoryTier::Own& own, Sent& sent);
  void start(base::Rank rank, const GivenMemory& given);
  void on_done(base::Rank rank, const SendTask& task);
  void on_failed(base::Rank rank, Sent& sent, const base::Error& error);
  void report(bool changed);
  [[nodiscard]] const wire::CopyRoute* route_of(base::Rank rank) const;

  NodeContext& node_;
  MemoryTier& tier_;
  base::Timer timer_;
  std::string run_id_;
  wire::SharedBulkKeys keys_;
  std::optional<base::Attempt> attempt_;  // of the last place()
  std::optional<wire::CopyRound> round_;  // of that attempt
  std::vector<wire::CopyRoute> routes_;
  std::map<base::Rank, Sent> sent_;
  std::uint64_t rate_ = kCopiesBytesPerSecond;
  std::shared_ptr<wire::BulkPace> pace_;
  std::shared_ptr<wire::BulkStream> running_;
  std::uint64_t turns_ = 0;
  bool unreported_ = false;
  base::Nanos reported_at_{};
  std::optional<base::BlockingPool> pool_;  // made when first needed
};

}  // namespace robustrun::agent
