#pragma once
// A connection that only remembers what it is sent and what is done to it. The test is the peer: it
// calls the handlers.

#include <memory>
#include <utility>
#include <vector>

#include "wire/link/channel.h"

namespace robustrun::test {

class FakeChannel final : public wire::Channel {
 public:
  explicit FakeChannel(std::vector<wire::Message>& sent) : sent_(sent) {}
  void set_handlers(Handlers given) override { handlers = std::move(given); }
  void send(const wire::Message& message) override { sent_.push_back(message); }
  [[nodiscard]] std::size_t queued_bytes() const override { return 0; }
  [[nodiscard]] bool congested() const override { return false; }
  void pause_reading() override { is_paused = true; }
  void resume_reading() override { is_paused = false; }
  void close() override { is_closed = true; }

  Handlers handlers;
  bool is_paused = false, is_closed = false;

 private:
  std::vector<wire::Message>& sent_;
};

// The messages of one kind, in order.
template <class Message>
[[nodiscard]] std::vector<Message> all_of(const std::vector<wire::Message>& messages) {
  std::vector<Message> found;
  for (const wire::Message& message : messages) {
    if (const auto* one = std::get_if<Message>(&message)) found.push_back(*one);
  }
  return found;
}

}  // namespace robustrun::test
