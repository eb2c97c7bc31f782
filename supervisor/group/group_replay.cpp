#include "supervisor/group/group_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::supervisor {
namespace {

namespace asio = boost::asio;
using Outcome = GroupReplayed::Outcome;

// python -m robustrun.align: this rank is outvoted, or differs from itself.
constexpr std::int32_t kAlignOutvoted = 10;

class Wave final : public GroupReplay, public std::enable_shared_from_this<Wave> {
 public:
  Wave(asio::any_io_executor executor, const base::Clock& clock, ReplayNodes order, Plan plan,
       Hands hands)
      : clock_(clock),
        order_(std::move(order)),
        plan_(std::move(plan)),
        hands_(std::move(hands)),
        began_(clock.now()),
        deadline_(executor) {
    for (std::size_t i = 0; i < order_.groups.size(); ++i) groups_.emplace_back(executor);
    result_.replay = order_.replay;
    result_.groups.resize(order_.groups.size());
  }

  void begin() {
    if (!hands_.on_done) return;
    deadline_.expires_after(order_.limit);
    deadline_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->on_deadline();
    });
    left_ = groups_.size();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      groups_[i].waits = order_.groups[i].size();
      groups_[i].has_answered.assign(order_.groups[i].size(), false);
      if (order_.groups[i].empty()) {
        end(i, Outcome::kUntested, "no node is in it");
      } else {
        ask_port(i);
      }
    }
  }

  void drop() override {
    hands_.on_done = nullptr;
    deadline_.cancel();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (!std::exchange(groups_[i].is_over, true)) stop(i);
      groups_[i].patience.cancel();
    }
  }

  bool on_report(base::NodeId node, const wire::PortReserved& report) override {
    const auto [number, place] = find(node);
    if (number == groups_.size() || place != 0) return false;
    Group& group = groups_[number];
    if (group.is_over || group.port != 0) return true;
    if (report.port == 0) {
      end(number, Outcome::kUntested, "no free port: " + base::printable(report.error));
      return true;
    }
    group.port = report.port;
    for (std::size_t i = 0; i < order_.groups[number].size(); ++i) start(number, i);
    return true;
  }

  void on_report(base::NodeId node, const wire::NodeReplayed& report) override {
    const auto [number, place] = find(node);
    if (number == groups_.size() || report.replay != order_.replay) return;
    Group& group = groups_[number];
    if (group.is_over || group.port == 0 || group.has_answered[place]) return;
    group.has_answered[place] = true;
    --group.waits;
    if (report.outcome != wire::NodeReplayed::Outcome::kPassed) {
      note_failure(number, node, report);
    }
    if (group.waits > 0) return;
    const bool passed = result_.groups[number].why.empty();
    end(number, passed ? Outcome::kPassed : result_.groups[number].outcome, {});
  }

  void on_connected_again(base::NodeId node) override {
    const auto [number, place] = find(node);
    if (number == groups_.size() || groups_[number].is_over) return;
    if (groups_[number].port == 0) {
      if (place == 0) ask_port(number);
    } else if (!groups_[number].has_answered[place]) {
      start(number, place);
    }
  }

  void on_agent_lost(base::NodeId node, const std::string& why) override {
    const auto [number, place] = find(node);
    if (number == groups_.size() || groups_[number].is_over) return;
    if (groups_[number].has_answered[place]) return;
    end(number, Outcome::kUntested, "a node was lost meanwhile: " + base::printable(why));
  }

 private:
  struct Group {
    explicit Group(const asio::any_io_executor& executor) : patience(executor) {}
    std::uint32_t port = 0;  // 0: not known yet
    std::vector<bool> has_answered;  // by place
    std::size_t waits = 0;  // of them, for so many
    asio::steady_timer patience;
    bool is_over = false;
  };

  // Its group and place; the number of groups: it takes no part.
  [[nodiscard]] std::pair<std::size_t, std::size_t> find(base::NodeId node) const {
    for (std::size_t i = 0; i < order_.groups.size(); ++i) {
      const auto& places = order_.groups[i];
      const auto found = std::ranges::find(places, node, &ReplayNodes::Place::node);
      if (found != places.end()) return {i, static_cast<std::size_t>(found - places.begin())};
    }
    return {groups_.size(), 0};
  }

  void ask_port(std::size_t number) {
    hands_.send(order_.groups[number].front().node, wire::ReservePort{plan_.attempt});
  }

  void start(std::size_t number, std::size_t place) {
    const auto& places = order_.groups[number];
    wire::ReplayNode order;
    order.replay = order_.replay;
    order.limit = order_.limit;
    order.command = plan_.command;
    order.group_rank = static_cast<std::uint32_t>(place);
    order.group_world_size = static_cast<std::uint32_t>(places.size());
    order.master_addr = places.front().address;
    order.master_port = groups_[number].port;
    order.world_size = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::uint32_t local = 0; local < places[i].slots; ++local) {
        const std::uint32_t rank = order.world_size++;
        if (i == place) order.slots.push_back({base::Rank{rank}, base::LocalRank{local}, rank});
      }
    }
    hands_.send(places[place].node, order);
  }

  void note_failure(std::size_t number, base::NodeId node, const wire::NodeReplayed& report) {
    GroupReplayed& kept = result_.groups[number];
    const bool failed = report.outcome == wire::NodeReplayed::Outcome::kFailed;
    const bool outvoted = plan_.command.empty() && failed &&
                          std::ranges::find(report.codes, kAlignOutvoted) != report.codes.end();
    if (outvoted) kept.named.push_back(node);
    if (!kept.why.empty()) return;
    kept.outcome = failed ? Outcome::kFailed : Outcome::kUntested;
    kept.why = base::printable(report.why.substr(0, kReplayWordsMax));
    if (kept.why.empty()) kept.why = "it failed";
    Group& group = groups_[number];
    group.patience.expires_after(plan_.others);
    group.patience.async_wait(
        [self = shared_from_this(), number](const boost::system::error_code& error) {
          if (!error) self->end(number, self->result_.groups[number].outcome, {});
        });
  }

  void on_deadline() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].is_over) continue;
      const bool ran = groups_[i].port != 0;
      const GroupReplayed& kept = result_.groups[i];
      end(i,
          !kept.why.empty() ? kept.outcome
          : ran             ? Outcome::kFailed
                            : Outcome::kUntested,
          fmt::format("it did not {} within {}", ran ? "end" : "begin",
                      base::in_seconds(order_.limit)));
    }
  }

  void stop(std::size_t number) {
    for (const ReplayNodes::Place& place : order_.groups[number]) {
      hands_.send(place.node, wire::EndReplay{order_.replay});
    }
  }

  // `why`: unless another one is known.
  void end(std::size_t number, Outcome outcome, std::string why) {
    if (std::exchange(groups_[number].is_over, true)) return;
    groups_[number].patience.cancel();
    GroupReplayed& kept = result_.groups[number];
    kept.outcome = outcome;
    if (kept.why.empty()) kept.why = std::move(why);
    stop(number);
    if (--left_ > 0) return;
    deadline_.cancel();
    result_.took = clock_.now() - began_;
    asio::post(deadline_.get_executor(), [self = shared_from_this()] {
      const auto on_done = std::exchange(self->hands_.on_done, nullptr);
      if (on_done) on_done(std::move(self->result_));
    });
  }

  const base::Clock& clock_;
  ReplayNodes order_;
  Plan plan_;
  Hands hands_;
  base::Nanos began_;
  asio::steady_timer deadline_;
  std::vector<Group> groups_;  // as in order_
  NodesReplayed result_;
  std::size_t left_ = 0;  // groups that are not over
};

}  // namespace

std::shared_ptr<GroupReplay> GroupReplay::start(asio::any_io_executor executor,
                                                const base::Clock& clock, ReplayNodes order,
                                                Plan plan, Hands hands) {
  auto wave =
      std::make_shared<Wave>(executor, clock, std::move(order), std::move(plan), std::move(hands));
  asio::post(executor, [wave] { wave->begin(); });
  return wave;
}

}  // namespace robustrun::supervisor
