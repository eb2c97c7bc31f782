#include "launcher/ssh/launcher.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

#include "launcher/limits.h"
#include "launcher/push/commands.h"
#include "launcher/ssh/attempt.h"
#include "launcher/ssh/context.h"

namespace robustrun::launcher {
namespace {

class SshLauncher final : public AgentLauncher {
 public:
  SshLauncher(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
              std::vector<Host> hosts, SshOptions options)
      : context_(std::make_shared<SshContext>(executor, pool, std::move(options))) {
    for (Host& host : hosts) {
      Node node;
      node.host = std::make_shared<SshHost>();
      node.host->host = std::move(host);
      node.host->lane = kLaneFirst + static_cast<std::uint32_t>(nodes_.size()) % kLanes;
      nodes_.push_back(std::move(node));
    }
  }
  ~SshLauncher() override {
    for (Node& node : nodes_) {
      if (node.attempt != nullptr) node.attempt->abandon();
    }
  }
  SshLauncher(const SshLauncher&) = delete;
  SshLauncher& operator=(const SshLauncher&) = delete;

  void launch(LaunchOrder order, Handlers handlers) override {
    Node& node = at(order.node);
    node.handlers = std::move(handlers);
    node.next = std::move(order.credential);
    if (node.attempt != nullptr) return node.attempt->kill();
    begin(node);
  }

  void probe(base::NodeId id, std::function<void(bool answers)> done) override {
    probe_ssh_host(context_, *at(id).host, std::move(done));
  }

  void kill_all() override {
    for (Node& node : nodes_) {
      node.next.reset();
      if (node.attempt != nullptr) node.attempt->kill();
    }
  }

  [[nodiscard]] bool idle() const override {
    return std::ranges::all_of(nodes_, [](const Node& node) { return node.attempt == nullptr; });
  }

 private:
  struct Node {
    std::shared_ptr<SshHost> host;
    std::shared_ptr<SshAttempt> attempt;  // while one is under way
    Handlers handlers;                    // of the newest order
    std::optional<std::string> next;      // its credential, while an older agent is being ended
  };

  Node& at(base::NodeId id) {
    RR_ASSERT(id.value < nodes_.size());
    return nodes_[id.value];
  }

  void begin(Node& node) {
    node.attempt =
        std::make_shared<SshAttempt>(context_, node.host,
                                     SshTask{.arguments = std::string(kAgentArguments),
                                             .input = *std::exchange(node.next, std::nullopt)},
                                     [this, &node](const AgentEnd& end) { on_lost(node, end); });
    boost::asio::post(context_->executor, [attempt = node.attempt] { attempt->start(); });
  }

  void on_lost(Node& node, const AgentEnd& end) {
    node.attempt.reset();
    if (node.next) return begin(node);
    const auto on_lost = std::exchange(node.handlers, {}).on_lost;
    if (on_lost) on_lost(end);
  }

  std::shared_ptr<SshContext> context_;
  std::vector<Node> nodes_;  // never grows after construction: begin() keeps references
};

}  // namespace

std::unique_ptr<AgentLauncher> make_ssh_launcher(boost::asio::any_io_executor executor,
                                                 base::BlockingPool& pool, std::vector<Host> hosts,
                                                 SshOptions options) {
  return std::make_unique<SshLauncher>(executor, pool, std::move(hosts), std::move(options));
}

}  // namespace robustrun::launcher
