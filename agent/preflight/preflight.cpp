#include "agent/preflight/preflight.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <utility>
#include <vector>

#include "agent/node/limits.h"
#include "agent/preflight/exchange.h"
#include "agent/preflight/local_facts.h"
#include "agent/preflight/preflight_facts.h"
#include "base/io/fd.h"
#include "wire/bulk/peer_call.h"
#include "wire/bulk/peer_listener.h"

namespace robustrun::agent {

namespace asio = boost::asio;
using boost::system::error_code;
using wire::OutgoingCall;
using wire::PeerPurpose;

// One check, from its order to its end.
class Preflight::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(NodeContext& node, wire::CheckNode order)
      : node_(node),
        order_(std::move(order)),
        end_(node.executor),
        round_end_(node.executor),
        next_look_(node.executor) {}

  [[nodiscard]] std::uint64_t check() const { return order_.check; }
  void start();
  // Reports again, in case the supervisor has not received the report.
  void report_ready() {
    ready_.wall_time = node_.clock.wall_time();
    node_.send(ready_);
  }
  void reach(const wire::ReachPeers& order);
  void measure(const wire::MeasurePeers& order);
  void close();

 private:
  void open_listener();
  void call_next();
  void on_outcome(OutgoingCall::Outcome outcome);
  void look_again_soon();
  void look_for_half_heard();
  void report_if_done();
  void on_exchange(base::Fd connection);
  void exchange_next();
  void exchange_over(base::Fd connection, bool is_call);
  void on_exchanged(double bytes_per_second, bool is_call);
  void report_round_if_done();
  void report_round();

  NodeContext& node_;
  wire::CheckNode order_;
  asio::steady_timer end_, round_end_, next_look_;
  std::unique_ptr<wire::PeerListener> listener_;
  std::shared_ptr<FactsCollector> collector_;
  std::list<std::shared_ptr<OutgoingCall>> calls_;   // including ended ones
  wire::CheckReady ready_;
  wire::NodeChecked report_;
  std::vector<wire::Peer> peers_;
  std::size_t next_peer_ = 0, calls_open_ = 0;
  bool knows_facts_ = false, has_peers_ = false, reported_ = false;

  // The current round.
  wire::MeasurePeers round_;
  wire::PeersMeasured measured_;
  std::size_t next_exchange_ = 0;
  std::uint32_t awaited_ = 0;
  bool calling_ = false, computing_ = false, in_round_ = false;
  std::list<std::shared_ptr<Exchange>> exchanges_;
};

void Preflight::Run::start() {
  ready_.check = order_.check;
  if (!order_.address.empty()) open_listener();
  report_ready();
  report_.check = order_.check;
  end_.expires_after(kCheckMax);
  end_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->close();
  });
  collector_ =
      FactsCollector::start(node_, order_, [weak = weak_from_this()](base::NodeFacts facts) {
        auto self = weak.lock();
        if (!self) return;
        self->report_.facts = std::move(facts);
        self->knows_facts_ = true;
        self->report_if_done();
      });
}

void Preflight::Run::open_listener() {
  auto listener = wire::PeerListener::open(
      node_.executor, order_.address, order_.nonce, node_.self,
      [this](base::NodeId, base::Fd connection) { on_exchange(std::move(connection)); });
  if (listener) {
    listener_ = *std::move(listener);
    ready_.port = listener_->port();
  } else {
    ready_.error = listener.error().what.substr(0, kFactBytesMax);
  }
}

void Preflight::Run::reach(const wire::ReachPeers& order) {
  if (std::exchange(has_peers_, true)) {
    if (reported_) node_.send(report_);  // it was lost on its way
    return;
  }
  peers_ = order.peers;
  if (peers_.size() > kPeersMax) peers_.resize(kPeersMax);
  for (std::size_t i = 0; i < kCallsAtOnce; ++i) call_next();
  look_again_soon();
  report_if_done();
}

void Preflight::Run::call_next() {
  if (next_peer_ == peers_.size()) return;
  ++calls_open_;
  calls_.push_back(OutgoingCall::start(node_.executor, peers_[next_peer_++], order_.nonce,
                                       node_.self, PeerPurpose::kReach, kReachMax,
                                       [weak = weak_from_this()](OutgoingCall::Outcome outcome) {
                                         if (auto self = weak.lock())
                                           self->on_outcome(std::move(outcome));
                                       }));
}

void Preflight::Run::on_outcome(OutgoingCall::Outcome outcome) {
  if (!outcome.reached) report_.unreached.push_back(std::move(outcome.why));
  --calls_open_;
  call_next();
  report_if_done();
}

// A call that timed out does not tell which direction is broken. A peer's call that reached our
// kernel does, but the kernel may forget it soon, so the tables are read all the time while calls
// are under way.
void Preflight::Run::look_again_soon() {
  next_look_.expires_after(kHalfHeardEvery);
  next_look_.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->calls_open_ == 0) return;
    self->look_for_half_heard();
    self->look_again_soon();
  });
}

void Preflight::Run::look_for_half_heard() {
  if (!listener_) return;
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const auto text = base::read_file(table, kTcpTableBytesMax);
    if (!text) continue;
    for (const std::string& address : half_open_peers(*text, listener_->port())) {
      for (const wire::Peer& peer : peers_) {
        const bool known =
            std::ranges::find(report_.half_heard, peer.node) != report_.half_heard.end();
        if (peer.address == address && !known) report_.half_heard.push_back(peer.node);
      }
    }
  }
}

void Preflight::Run::report_if_done() {
  const bool called = has_peers_ && calls_open_ == 0 && next_peer_ == peers_.size();
  if (!called || !knows_facts_ || std::exchange(reported_, true)) return;
  std::erase_if(report_.half_heard, [this](base::NodeId node) {
    return std::ranges::find(report_.unreached, node, &base::Unreached::peer) ==
           report_.unreached.end();
  });
  node_.send(report_);
}

void Preflight::Run::measure(const wire::MeasurePeers& order) {
  if (in_round_ || !listener_) return;
  in_round_ = true;
  round_ = order;
  measured_.check = order.check;
  measured_.round = order.round;
  next_exchange_ = 0;  // peers that connected before our order are counted already
  round_end_.expires_after(kMeasureMax);
  round_end_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->report_round();
  });
  computing_ = true;
  auto took = std::make_shared<base::Nanos>();
  const auto done = [self = shared_from_this(), took] {
    self->computing_ = false;
    self->measured_.compute = *took;
    self->exchange_next();
  };
  if (!node_.pool.submit(kCheckLane, [took] { *took = time_computing(); }, done)) {
    asio::post(node_.executor, done);
  }
}

void Preflight::Run::exchange_next() {
  if (!in_round_) return;
  if (next_exchange_ == round_.calls.size()) return report_round_if_done();
  calling_ = true;
  const wire::Peer& peer = round_.calls[next_exchange_++];
  calls_.push_back(OutgoingCall::start(node_.executor, peer, order_.nonce, node_.self,
                                       PeerPurpose::kExchange, kReachMax,
                                       [weak = weak_from_this()](OutgoingCall::Outcome outcome) {
                                         auto self = weak.lock();
                                         if (!self) return;
                                         if (!outcome.reached) return self->on_exchanged(0, true);
                                         self->exchange_over(std::move(outcome.connection), true);
                                       }));
}

void Preflight::Run::on_exchange(base::Fd connection) {
  if (exchanges_.size() < kCallsAtOnce) exchange_over(std::move(connection), false);
}

void Preflight::Run::exchange_over(base::Fd connection, bool is_call) {
  exchanges_.push_back(Exchange::start(node_.executor, node_.clock, std::move(connection),
                                       [weak = weak_from_this(), is_call](double rate) {
                                         if (auto self = weak.lock())
                                           self->on_exchanged(rate, is_call);
                                       }));
}

void Preflight::Run::on_exchanged(double bytes_per_second, bool is_call) {
  measured_.bytes_per_second = std::max(measured_.bytes_per_second, bytes_per_second);
  if (!is_call) {
    ++awaited_;
    return report_round_if_done();
  }
  calling_ = false;
  exchange_next();
}

void Preflight::Run::report_round_if_done() {
  const bool open =
      computing_ || calling_ || next_exchange_ < round_.calls.size() || awaited_ < round_.awaits;
  if (in_round_ && !open) report_round();
}

void Preflight::Run::report_round() {
  round_end_.cancel();
  in_round_ = false;
  awaited_ = 0;
  node_.send(std::exchange(measured_, {}));
}

void Preflight::Run::close() {
  end_.cancel();
  round_end_.cancel();
  next_look_.cancel();
  in_round_ = false;
  reported_ = true;
  listener_.reset();
  if (collector_) collector_->drop();
  for (const auto& call : calls_) call->drop();
  for (const auto& exchange : exchanges_) exchange->drop();
}

Preflight::Preflight(NodeContext& node) : node_(node) {}

Preflight::~Preflight() {
  if (run_) run_->close();
}

void Preflight::check(const wire::CheckNode& order) {
  if (run_ && run_->check() == order.check) return run_->report_ready();
  if (run_) run_->close();
  run_ = std::make_shared<Run>(node_, order);
  run_->start();
}

void Preflight::reach(const wire::ReachPeers& order) {
  if (run_ && run_->check() == order.check) run_->reach(order);
}

void Preflight::measure(const wire::MeasurePeers& order) {
  if (run_ && run_->check() == order.check) run_->measure(order);
}

void Preflight::end(const wire::EndCheck& order) {
  if (!run_ || run_->check() != order.check) return;
  run_->close();
  run_.reset();
}

}  // namespace robustrun::agent
