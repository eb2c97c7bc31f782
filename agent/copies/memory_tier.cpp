#include "agent/copies/memory_tier.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "agent/copies/limits.h"
#include "agent/copies/rescue.h"
#include "agent/copies/rescue_run.h"
#include "agent/node/limits.h"
#include "base/io/log.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using base::Errc;
using base::fail;
using base::Result;

class MemoryTierImpl final : public MemoryTier,
                             public std::enable_shared_from_this<MemoryTierImpl> {
 public:
  explicit MemoryTierImpl(NodeContext& node) : node_(node) {}

  void give(base::Rank rank, std::uint64_t bytes, Answer answer) override;
  void save_copies(std::function<void()> done) override;
  void after_saving(std::function<void()> go) override;
  void keep(const std::vector<wire::WorkerSlot>& slots) override;
  void use_peers(PeerMemory* peers) override { peers_ = peers; }
  [[nodiscard]] std::vector<Own> memories() const override;
  [[nodiscard]] std::optional<GivenMemory> same_memory_of(base::Rank rank) const override;
  void abandon() {
    if (run_) run_->abandon();
    pool_.reset();
    done_.clear();
    fetched_for_.clear();
  }

 private:
  struct Area {
    GivenMemory given;
    std::uint64_t serial = 0;
  };

  base::BlockingPool& pool() {
    if (!pool_) pool_.emplace(node_.executor, 1, kCopiesWaitingMax);
    return *pool_;
  }
  void give_own(base::Rank rank, std::uint64_t bytes, Answer answer);
  // Copies that other nodes have of it, once at a time; `then` is called when they are here, or
  // when there are none.
  void fetch(base::Rank rank, std::function<void()> then);
  void take_fetched(base::Rank rank, GivenMemory fetched);
  // Calls `answer`, and logs a rank's first refusal since it was last given memory.
  [[nodiscard]] Answer with_refusal_logged(base::Rank rank, std::uint64_t bytes, Answer answer);
  void log_refusal(base::Rank rank, std::uint64_t bytes, const std::string& why);
  void keep_new(base::Rank rank, Result<GivenMemory> memory, const Answer& answer);
  void finish_saving();

  NodeContext& node_;
  std::map<base::Rank, Area> areas_;
  std::optional<base::BlockingPool> pool_;  // made when first needed
  std::set<base::Rank> here_;     // of the attempt; empty: none has begun
  std::map<base::Rank, std::vector<std::function<void()>>> fetched_for_;  // who waits for a fetch
  std::set<base::Rank> refused_;  // and logged
  std::shared_ptr<RescueRun> run_;
  std::vector<std::function<void()>> done_;  // callers that wait for the rescue until it is late
  bool saving_ = false;
  bool is_late_ = false;
  PeerMemory* peers_ = nullptr;
  std::uint64_t serials_ = 0;
};

void MemoryTierImpl::keep(const std::vector<wire::WorkerSlot>& slots) {
  here_.clear();
  for (const wire::WorkerSlot& slot : slots) here_.insert(slot.rank);
  for (auto area = areas_.begin(); area != areas_.end();) {
    const auto left = area++;
    const base::Rank rank = left->first;
    if (here_.contains(rank)) continue;
    if (peers_ != nullptr) peers_->adopt(rank, std::move(left->second.given));
    areas_.erase(left);
  }
  if (peers_ == nullptr) return;
  for (const base::Rank rank : here_) {
    if (!areas_.contains(rank)) fetch(rank, {});
  }
}

void MemoryTierImpl::fetch(base::Rank rank, std::function<void()> then) {
  const auto [waiting, is_new] = fetched_for_.try_emplace(rank);
  if (then) waiting->second.push_back(std::move(then));
  if (!is_new) return;
  peers_->fetch(rank, [weak = weak_from_this(), rank](GivenMemory fetched) {
    if (const auto tier = weak.lock()) tier->take_fetched(rank, std::move(fetched));
  });
}

void MemoryTierImpl::take_fetched(base::Rank rank, GivenMemory fetched) {
  // The rank may have left meanwhile.
  if (fetched.memory && !here_.empty() && !here_.contains(rank)) {
    if (peers_ != nullptr) peers_->adopt(rank, std::move(fetched));
  } else if (fetched.memory) {
    areas_.try_emplace(rank, std::move(fetched), ++serials_);
  }
  const auto waiting = fetched_for_.extract(rank);
  for (const auto& then : waiting.mapped()) then();
}

std::vector<MemoryTier::Own> MemoryTierImpl::memories() const {
  std::vector<Own> all;
  for (const auto& [rank, area] : areas_) all.push_back({rank, &area.given, area.serial});
  return all;
}

std::optional<GivenMemory> MemoryTierImpl::same_memory_of(base::Rank rank) const {
  const auto area = areas_.find(rank);
  if (area == areas_.end()) return std::nullopt;
  auto same = same_memory(area->second.given);
  return same ? std::optional(*std::move(same)) : std::nullopt;
}

MemoryTier::Answer MemoryTierImpl::with_refusal_logged(base::Rank rank, std::uint64_t bytes,
                                                       Answer answer) {
  return [weak = weak_from_this(), rank, bytes,
          answer = std::move(answer)](Result<GivenMemory> given) {
    const auto tier = weak.lock();
    if (tier && !given) tier->log_refusal(rank, bytes, given.error().what);
    if (tier && given && bytes > 0) tier->refused_.erase(rank);
    answer(std::move(given));
  };
}

void MemoryTierImpl::log_refusal(base::Rank rank, std::uint64_t bytes, const std::string& why) {
  if (bytes == 0) {
    RR_LOG(kWarn, {.rank = rank}, "its copies of the previous attempt are not used: {}", why);
  } else if (refused_.insert(rank).second) {
    RR_LOG(kWarn, {.rank = rank}, "copies of its state in memory no longer outlive it: {}", why);
  }
}

void MemoryTierImpl::give(base::Rank rank, std::uint64_t bytes, Answer plain) {
  Answer answer = with_refusal_logged(rank, bytes, std::move(plain));
  if (areas_.contains(rank) || peers_ == nullptr) return give_own(rank, bytes, std::move(answer));
  fetch(rank, [this, rank, bytes, shared = std::make_shared<Answer>(std::move(answer))] {
    give_own(rank, bytes, std::move(*shared));
  });
}

void MemoryTierImpl::give_own(base::Rank rank, std::uint64_t bytes, Answer answer) {
  if (saving_) {
    return answer(
        fail(Errc::kConflict, "the copies of the previous attempt are still being saved"));
  }
  const auto area = areas_.find(rank);
  // A worker asks for as many slots as it has without a board.
  const std::uint64_t slot_bytes = bytes / checkpoint::kCopiesWithoutBoard;
  if (area != areas_.end() && slot_bytes_of(area->second.given) >= slot_bytes) {
    return answer(same_memory(area->second.given));
  }
  if (bytes == 0) return answer(GivenMemory{});
  areas_.erase(rank);  // a process that has mapped it keeps it; it does not count twice
  auto made =
      std::make_shared<Result<GivenMemory>>(fail(Errc::kLimit, "too many requests for memory"));
  auto shared_answer = std::make_shared<Answer>(std::move(answer));
  const auto done = [self = weak_from_this(), rank, made, shared_answer] {
    if (const auto tier = self.lock()) tier->keep_new(rank, std::move(*made), *shared_answer);
  };
  const bool with_board = peers_ != nullptr && peers_->is_kept(rank);
  const auto submitted = pool().submit(
      kSingleLane, [made, slot_bytes, with_board] { *made = reserve_area(slot_bytes, with_board); },
      done);
  if (!submitted) asio::post(node_.executor, done);
}

void MemoryTierImpl::keep_new(base::Rank rank, Result<GivenMemory> memory, const Answer& answer) {
  if (!memory) return answer(std::unexpected(memory.error()));
  auto given = same_memory(*memory);
  areas_[rank] = {*std::move(memory), ++serials_};
  answer(std::move(given));
}

void MemoryTierImpl::save_copies(std::function<void()> done) {
  if (saving_ && !is_late_) return done_.push_back(std::move(done));
  if (saving_ || areas_.empty()) return done();
  auto memories = std::make_shared<std::vector<RescuedMemory>>();
  std::uint64_t bytes = 0;
  for (const auto& [rank, area] : areas_) {
    auto left = rescued_memory(rank, area.given);
    if (!left) continue;
    bytes += slot_bytes_of(area.given);
    memories->push_back(*std::move(left));
  }
  saving_ = true;
  is_late_ = false;
  done_.push_back(std::move(done));
  const auto ended = [self = weak_from_this()](const RescueRun::Lines& lines) {
    const auto tier = self.lock();
    if (!tier) return;
    tier->saving_ = false;
    for (const RescueLine& line : lines) {
      base::log_line(line.failed ? base::LogLevel::kWarn : base::LogLevel::kInfo,
                     {.rank = line.rank}, line.text);
    }
    tier->finish_saving();
  };
  const auto late = [self = weak_from_this()] {
    const auto tier = self.lock();
    if (!tier) return;
    tier->is_late_ = true;
    tier->finish_saving();
  };
  auto run = RescueRun::start(node_.executor, node_.clock, pool(), rescue_limits(bytes),
                              [memories, &clock = node_.clock](const RescueWatch& watch) {
                                return rescue_copies(std::move(*memories), clock, watch);
                              },
                              {late, ended});
  if (!run) return asio::post(node_.executor, [ended] { ended({}); });
  run_ = *std::move(run);
}

void MemoryTierImpl::after_saving(std::function<void()> go) {
  const auto others = [weak = weak_from_this(), go = std::move(go)] {
    const auto tier = weak.lock();
    if (!tier) return;
    tier->peers_ != nullptr ? tier->peers_->after_saving(go) : go();
  };
  run_ ? run_->when_over(others) : others();
}

void MemoryTierImpl::finish_saving() {
  for (const auto& done : std::exchange(done_, {})) done();
}

// Held by the owner: destroying it drops all requests.
class OwnedTier final : public MemoryTier {
 public:
  explicit OwnedTier(NodeContext& node) : tier_(std::make_shared<MemoryTierImpl>(node)) {}
  OwnedTier(const OwnedTier&) = delete;
  OwnedTier& operator=(const OwnedTier&) = delete;
  ~OwnedTier() override { tier_->abandon(); }

  void give(base::Rank rank, std::uint64_t bytes, Answer answer) override {
    tier_->give(rank, bytes, std::move(answer));
  }
  void save_copies(std::function<void()> done) override { tier_->save_copies(std::move(done)); }
  void after_saving(std::function<void()> go) override { tier_->after_saving(std::move(go)); }
  void keep(const std::vector<wire::WorkerSlot>& slots) override { tier_->keep(slots); }
  void use_peers(PeerMemory* peers) override { tier_->use_peers(peers); }
  [[nodiscard]] std::vector<Own> memories() const override { return tier_->memories(); }
  [[nodiscard]] std::optional<GivenMemory> same_memory_of(base::Rank rank) const override {
    return tier_->same_memory_of(rank);
  }

 private:
  std::shared_ptr<MemoryTierImpl> tier_;
};

}  // namespace

std::unique_ptr<MemoryTier> MemoryTier::make(NodeContext& node) {
  return std::make_unique<OwnedTier>(node);
}

}  // namespace robustrun::agent
