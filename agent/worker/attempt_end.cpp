#include "agent/worker/attempt_end.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "agent/node/limits.h"
#include "agent/worker/shm_sweep.h"
#include "base/io/blocking_pool.h"

namespace robustrun::agent {
namespace {

class AttemptEndImpl final : public AttemptEnd,
                             public std::enable_shared_from_this<AttemptEndImpl> {
 public:
  AttemptEndImpl(NodeContext& node, MemoryTier& copies)
      : node_(node), copies_(copies), sweep_pool_(node.executor, 1, 1) {}

  void begin_attempt() override {
    ++turn_;
    state_ = {};
    handlers_ = {};
  }

  void begin(base::Attempt attempt, base::Nanos since, Handlers handlers) override {
    attempt_ = attempt;
    handlers_ = std::move(handlers);
    const bool goes_on = state_.goes_on;
    state_ = {.has_begun = true, .sweeps = true, .waits = true, .goes_on = goes_on};
    copies_.save_copies([weak = weak_from_this(), turn = turn_] {
      if (const auto self = weak.lock()) self->on_saved(turn);
    });
    sweep(since);
  }

  [[nodiscard]] bool has_begun() const override { return state_.has_begun; }
  void set_goes_on(bool goes_on) override {
    state_.goes_on = goes_on;
    finish_if_done();
  }
  [[nodiscard]] bool is_saving() const override { return state_.saves; }
  [[nodiscard]] bool is_waited_for() const override { return state_.is_done && state_.waits; }

 private:
  void sweep(base::Nanos since) {
    auto removed = std::make_shared<std::vector<std::string>>();
    const auto done = [weak = weak_from_this(), removed, turn = turn_] {
      const auto self = weak.lock();
      if (!self || self->turn_ != turn) return;
      self->state_.sweeps = false;
      self->removed_ = std::move(*removed);
      self->finish_if_done();
    };
    const auto submitted =
        sweep_pool_.submit(kSingleLane, [removed, since] { *removed = sweep_shm(since); }, done);
    if (!submitted) boost::asio::post(node_.executor, done);
  }

  // Or the wait has timed out.
  void on_saved(std::uint64_t turn) {
    if (turn != turn_) return;
    state_.waits = false;
    if (state_.is_done) return handlers_.saved();
    finish_if_done();
  }

  void finish_if_done() {
    if (!state_.has_begun || state_.is_done || state_.sweeps) return;
    if (state_.waits && !state_.goes_on) return;
    state_.is_done = true;
    state_.saves = state_.waits;
    handlers_.done(std::exchange(removed_, {}));
    if (!state_.saves) return;
    copies_.after_saving([weak = weak_from_this(), turn = turn_, attempt = attempt_] {
      const auto self = weak.lock();
      if (!self) return;
      if (self->turn_ == turn) self->state_.saves = false;
      self->node_.send(wire::SavingOver{attempt});
    });
  }

  struct State {
    bool has_begun = false;
    bool sweeps = false;   // of /dev/shm
    bool waits = false;    // copies are being saved, and the wait has not timed out
    bool goes_on = false;  // another attempt follows
    bool is_done = false;  // `done` was called
    bool saves = false;    // saving nevertheless continues, and SavingOver will follow
  };

  NodeContext& node_;
  MemoryTier& copies_;
  // Of its own: a log disk that hangs occupies all threads of the other pool; this one only touches
  // tmpfs.
  base::BlockingPool sweep_pool_;
  State state_;
  base::Attempt attempt_;
  Handlers handlers_;
  std::vector<std::string> removed_;
  std::uint64_t turn_ = 0;  // number of attempts so far
};

}  // namespace

std::shared_ptr<AttemptEnd> AttemptEnd::make(NodeContext& node, MemoryTier& copies) {
  return std::make_shared<AttemptEndImpl>(node, copies);
}

}  // namespace robustrun::agent
