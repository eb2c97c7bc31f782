#include "supervisor/group/preflight_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "supervisor/core/preflight/plan.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/limits.h"
#include "wire/tls/peer_proof.h"

namespace robustrun::supervisor {
namespace {

namespace asio = boost::asio;

// Steps of a check; each waits for all nodes that still take part.
enum class Step : std::uint8_t { kReady, kChecked, kMeasured, kOver };

class Check final : public PreflightCheck, public std::enable_shared_from_this<Check> {
 public:
  Check(const asio::any_io_executor& executor, const base::Clock& clock, const CheckNodes& order,
        std::vector<Node> nodes, Hands hands, const Limits& limits)
      : clock_(clock),
        limits_(limits),
        deadline_(executor),
        nodes_(std::move(nodes)),
        states_(nodes_.size()),
        hands_(std::move(hands)),
        nonce_(wire::make_peer_nonce()),
        began_(clock.now()),
        gpus_(order.gpus) {
    result_.check = order.check;
    result_.full = order.full;
    for (const Node& node : nodes_) {
      NodeCheck& check = result_.nodes.emplace_back();
      check.node = node.node;
      check.generation = node.generation;
      check.answered = true;  // until it turns out that it does not
    }
  }

  void begin() {
    if (step_ == Step::kOver) return;  // dropped meanwhile
    enter(Step::kReady, limits_.ready);
    for (std::size_t i = 0; i < nodes_.size(); ++i) order_again(i);
  }

  void drop() override {
    hands_ = {};
    step_ = Step::kOver;
    deadline_.cancel();
  }

  void on_report(base::NodeId node, const wire::CheckReady& report) override {
    State* const state = awaited(node, report.check, Step::kReady);
    if (state == nullptr) return;
    NodeCheck& check = of(node);
    const base::Nanos now = clock_.wall_time();
    check.clock_error = std::max(base::Nanos{}, (now - state->asked_at) / 2);
    std::int64_t ahead = 0;
    if (__builtin_sub_overflow(report.wall_time.count(),
                               (state->asked_at + check.clock_error).count(), &ahead)) {
      ahead = report.wall_time.count() < 0 ? INT64_MIN : INT64_MAX;
    }
    check.clock_ahead = base::Nanos(ahead);
    state->port = report.port;
    if (report.port == 0 && nodes_.size() > 1) {
      check.trouble = "it cannot be called by others: " + said(report.error);
    }
    answered(*state);
  }

  void on_report(base::NodeId node, wire::NodeChecked& report) override {
    State* const state = awaited(node, report.check, Step::kChecked);
    if (state == nullptr) return;
    NodeCheck& check = of(node);
    const auto not_asked = [&](base::NodeId peer) {
      return std::ranges::find(state->partners, peer, &wire::Peer::node) == state->partners.end();
    };
    std::erase_if(report.unreached,
                  [&](const base::Unreached& unreached) { return not_asked(unreached.peer); });
    std::erase_if(report.half_heard, not_asked);
    report.unreached.resize(std::min(report.unreached.size(), state->partners.size()));
    report.half_heard.resize(std::min(report.half_heard.size(), state->partners.size()));
    for (base::Unreached& unreached : report.unreached) unreached.how = said(unreached.how);
    check.facts = std::move(report.facts);
    shorten(check.facts);
    check.unreached = std::move(report.unreached);
    check.half_heard = std::move(report.half_heard);
    answered(*state);
  }

  void on_report(base::NodeId node, const wire::PeersMeasured& report) override {
    State* const state = awaited(node, report.check, Step::kMeasured);
    if (state == nullptr || report.round != round_) return;
    of(node).speeds.push_back({report.round, report.compute, report.bytes_per_second});
    answered(*state);
  }

  // A round of measurements is not repeated: a node that missed it has no entry for it.
  void on_connected_again(base::NodeId node) override {
    const State* const state = state_of(node);
    if (state != nullptr && state->waits) order_again(place_of(node));
  }

  void on_agent_lost(base::NodeId node, const std::string& why) override {
    State* const state = state_of(node);
    if (state == nullptr || step_ == Step::kOver || !of(node).answered) return;
    of(node).answered = false;
    of(node).trouble = "its agent was lost: " + said(why);
    answered(*state);
  }

 private:
  struct State {
    std::uint32_t port = 0;
    base::Nanos asked_at{};                // by the wall clock
    bool waits = false;                    // its answer in this step is awaited
    std::vector<wire::Peer> partners;      // nodes that it was told to call
  };

  [[nodiscard]] std::size_t place_of(base::NodeId node) const {
    const auto found = std::ranges::lower_bound(nodes_, node, {}, &Node::node);
    const bool known = found != nodes_.end() && found->node == node;
    return known ? static_cast<std::size_t>(found - nodes_.begin()) : nodes_.size();
  }
  State* state_of(base::NodeId node) {
    const std::size_t place = place_of(node);
    return place < states_.size() ? &states_[place] : nullptr;
  }
  NodeCheck& of(base::NodeId node) { return result_.nodes[place_of(node)]; }

  State* awaited(base::NodeId node, std::uint64_t check, Step step) {
    State* const state = state_of(node);
    const bool counts = state != nullptr && state->waits && check == result_.check && step_ == step;
    return counts ? state : nullptr;
  }

  void answered(State& state) {
    if (!std::exchange(state.waits, false)) return;
    if (--waits_for_ == 0) go_on();
  }

  // Waits for the `chosen` nodes (all, if it is empty) that have answered so far.
  void enter(Step step, base::Nanos at_most, const std::vector<bool>& chosen = {}) {
    step_ = step;
    waits_for_ = 0;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      states_[i].waits = result_.nodes[i].answered && (chosen.empty() || chosen[i]);
      waits_for_ += states_[i].waits ? 1 : 0;
    }
    deadline_.expires_after(at_most);
    deadline_.async_wait(
        [self = shared_from_this(), at_most, step](const boost::system::error_code& error) {
          if (!error && self->step_ == step) self->on_late(at_most);
        });
    if (waits_for_ == 0) go_on();
  }

  void on_late(base::Nanos limit) {
    const auto seconds = std::chrono::duration<double>(limit).count();
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (!std::exchange(states_[i].waits, false)) continue;
      // A node that is late in a round of measurements just has no entry for it.
      if (step_ == Step::kMeasured) continue;
      result_.nodes[i].answered = false;
      result_.nodes[i].trouble = fmt::format("it did not answer within {:.3g} s", seconds);
    }
    go_on();
  }

  void go_on() {
    switch (step_) {
      case Step::kReady: return let_them_call();
      case Step::kChecked: return result_.full ? measure(0) : finish();
      case Step::kMeasured: return round_ == 0 ? measure(1) : finish();
      case Step::kOver: break;
    }
  }

  void let_them_call() {
    const auto count = static_cast<std::uint32_t>(nodes_.size());
    const auto steps = call_steps(count, result_.full ? kPartnersFullMax : kPartnersFastMax);
    result_.partners = static_cast<std::uint32_t>(steps.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      for (const std::uint32_t step : steps) {
        const std::uint32_t other = (i + step) % count;
        if (states_[other].port != 0) states_[i].partners.push_back(peer(other));
      }
    }
    const base::Nanos at_most = result_.full ? limits_.full : limits_.fast;
    enter(Step::kChecked, gpus_ ? limits_.gpus : at_most);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (states_[i].waits) order_again(i);
    }
  }

  // What the step asks of a node. Agents know what they have done already, and say it again.
  void order_again(std::size_t place) {
    const Node& node = nodes_[place];
    if (step_ == Step::kReady) {
      states_[place].asked_at = clock_.wall_time();
      const bool alone = nodes_.size() == 1;
      hands_.send(node.node, wire::CheckNode{result_.check, result_.full,
                                             alone ? std::string() : node.address, nonce_, gpus_});
    } else if (step_ == Step::kChecked) {
      hands_.send(node.node, wire::ReachPeers{result_.check, states_[place].partners});
    }
  }

  [[nodiscard]] wire::Peer peer(std::size_t place) const {
    return {nodes_[place].node, nodes_[place].address, states_[place].port};
  }

  void measure(std::uint32_t round) {
    round_ = round;
    std::vector<std::uint32_t> able;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (result_.nodes[i].answered && states_[i].port != 0) able.push_back(i);
    }
    const auto pairs = round == 0
                           ? pairs_of(first_round(static_cast<std::uint32_t>(able.size())), able)
                           : second_pairs(able);
    std::vector<wire::MeasurePeers> orders(nodes_.size(), {result_.check, round, {}, 0});
    std::vector<bool> takes_part(nodes_.size());
    for (const Pairing& pair : pairs) {
      orders[pair.caller].calls.push_back(peer(pair.callee));
      ++orders[pair.callee].awaits;
      takes_part[pair.caller] = takes_part[pair.callee] = true;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (takes_part[i]) hands_.send(nodes_[i].node, orders[i]);
    }
    enter(Step::kMeasured, limits_.round, takes_part);
  }

  // Translates places among the able nodes to places among all nodes.
  static std::vector<Pairing> pairs_of(std::vector<Pairing> pairs,
                                       const std::vector<std::uint32_t>& able) {
    for (Pairing& pair : pairs) pair = {able[pair.caller], able[pair.callee]};
    return pairs;
  }

  [[nodiscard]] std::vector<Pairing> second_pairs(const std::vector<std::uint32_t>& able) const {
    std::vector<NodeCheck> measured;
    for (const std::uint32_t place : able) measured.push_back(result_.nodes[place]);
    return pairs_of(second_round(static_cast<std::uint32_t>(able.size()), slow_ones(measured)),
                    able);
  }

  void finish() {
    step_ = Step::kOver;
    deadline_.cancel();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      hands_.send(nodes_[i].node, wire::EndCheck{result_.check});
    }
    result_.took = clock_.now() - began_;
    const auto on_done = std::exchange(hands_.on_done, nullptr);
    if (on_done) on_done(std::move(result_));
  }

  // Only what people are shown; the journal must not grow by what an agent makes up.
  static void shorten(base::NodeFacts& facts) {
    for (std::string* const text :
         {&facts.missing, &facts.disk.path, &facts.disk.error, &facts.shm.path, &facts.shm.error,
          &facts.software.python, &facts.software.torch, &facts.software.error, &facts.gpus.driver,
          &facts.gpus.error}) {
      *text = said(*text);
    }
    shorten(facts.probe);
  }

  static void shorten(base::GpuFacts& probe) {
    const auto keep = [](auto& list, std::size_t most) {
      if (list.size() > most) list.resize(most);
    };
    keep(probe.models, kProbedGpusMax);
    keep(probe.figures, kProbeItemsMax);
    keep(probe.sums, kProbeItemsMax);
    keep(probe.faults, kProbeFaultsMax);
    probe.error = said(probe.error);
    for (std::string& model : probe.models) model = said(model);
    for (std::string& fault : probe.faults) fault = said(fault);
    for (base::GpuSum& sum : probe.sums) sum.what = said(sum.what);
    for (base::GpuFigure& figure : probe.figures) {
      figure.what = said(figure.what);
      figure.unit = said(figure.unit);
    }
  }

  const base::Clock& clock_;
  Limits limits_;
  asio::steady_timer deadline_;
  std::vector<Node> nodes_;      // by NodeId
  std::vector<State> states_;    // of them
  Hands hands_;
  std::string nonce_;
  base::Nanos began_;
  bool gpus_;   // their tests are wanted
  NodesChecked result_;
  Step step_ = Step::kReady;
  std::size_t waits_for_ = 0;
  std::uint32_t round_ = 0;
};

}  // namespace

std::shared_ptr<PreflightCheck> PreflightCheck::start(asio::any_io_executor executor,
                                                      const base::Clock& clock,
                                                      const CheckNodes& order,
                                                      std::vector<Node> nodes, Hands hands,
                                                      const Limits& limits) {
  std::ranges::sort(nodes, {}, &Node::node);
  auto check =
      std::make_shared<Check>(executor, clock, order, std::move(nodes), std::move(hands), limits);
  asio::post(executor, [check] { check->begin(); });
  return check;
}

}  // namespace robustrun::supervisor
