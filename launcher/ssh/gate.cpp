#include "launcher/ssh/gate.h"

#include <boost/asio/post.hpp>
#include <deque>
#include <map>
#include <utility>

#include "base/core/result.h"
#include "launcher/limits.h"

namespace robustrun::launcher {

struct SshGate::State : std::enable_shared_from_this<State> {
  struct Waiting {
    std::string jump_host;
    std::function<void(Pass, bool)> entered;
    bool waited = false;
  };

  explicit State(boost::asio::any_io_executor loop) : executor(std::move(loop)) {}

  [[nodiscard]] bool has_room(const std::string& jump_host) const {
    if (inside >= limit) return false;
    const auto found = through.find(jump_host);
    return jump_host.empty() || found == through.end() || found->second < limit_per_jump;
  }

  void admit() {
    for (auto one = waiting.begin(); one != waiting.end() && inside < limit;) {
      if (!has_room(one->jump_host)) {
        ++one;
        continue;
      }
      let_in(std::move(*one));
      one = waiting.erase(one);
    }
  }

  void let_in(Waiting one) {
    ++inside;
    if (!one.jump_host.empty()) ++through[one.jump_host];
    const auto leave = [self = shared_from_this(), jump = one.jump_host](void*) {
      self->leave(jump);
    };
    boost::asio::post(
        executor, [pass = Pass(static_cast<void*>(this), leave), entered = std::move(one.entered),
                   waited = one.waited]() mutable { entered(std::move(pass), waited); });
  }

  void leave(const std::string& jump_host) {
    RR_ASSERT(inside > 0);
    --inside;
    if (!jump_host.empty() && --through[jump_host] == 0) through.erase(jump_host);
    admit();
  }

  boost::asio::any_io_executor executor;
  std::uint32_t limit = 1;
  std::uint32_t limit_max = 1;
  std::uint32_t limit_per_jump = 1;
  std::uint32_t inside = 0;
  std::map<std::string, std::uint32_t> through;
  std::deque<Waiting> waiting;
};

SshGate::SshGate(boost::asio::any_io_executor executor, std::uint32_t limit,
                 std::uint32_t limit_per_jump)
    : state_(std::make_shared<State>(std::move(executor))) {
  RR_ASSERT(limit > 0 && limit_per_jump > 0);
  state_->limit = limit;
  state_->limit_max = limit;
  state_->limit_per_jump = limit_per_jump;
}

// Waiting callers may hold passes, whose return must find the queue intact.
SshGate::~SshGate() {
  std::deque<State::Waiting> dropped;
  dropped.swap(state_->waiting);
}

void SshGate::widen() {
  if (state_->limit == state_->limit_max) return;
  ++state_->limit;
  state_->admit();
}

void SshGate::narrow() {
  if (state_->limit > kFanoutMin) --state_->limit;
}

void SshGate::enter(const std::string& jump_host, std::function<void(Pass, bool)> entered) {
  State::Waiting one{jump_host, std::move(entered), false};
  if (state_->has_room(jump_host)) return state_->let_in(std::move(one));
  one.waited = true;
  state_->waiting.push_back(std::move(one));
}

}  // namespace robustrun::launcher
