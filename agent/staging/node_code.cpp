#include "agent/staging/node_code.h"

#include <fmt/core.h>

#include <utility>

#include "agent/staging/limits.h"
#include "base/core/text.h"
#include "base/io/log.h"
#include "bootstrap/store/code_store.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {

// The supervisor cuts the pack into pieces of the wire's size.
static_assert(bootstrap::kBlockBytes == wire::kBlockBytesMax);

StagedFile* NodeCode::pack() {
  if (!code_) return nullptr;
  if (!pack_) {
    pack_ = std::make_shared<StagedFile>(
        context_, "the code of " + code_->from,
        StagedOrigin{{bootstrap::code_key(code_->digest), code_->bytes, ""},
                     [weak = weak_from_this()](std::uint64_t block, Answer answer) {
                       if (const auto self = weak.lock()) self->want(block, std::move(answer));
                     }});
  }
  return pack_.get();
}

void NodeCode::begin() {
  if (!code_) return;
  state_ = State::kBusy;
  context_.node.stages.begin(wire::StageName::kEnvironment, StagePart::kCode);
  pack_->begin([weak = weak_from_this()](base::Status status) {
    const auto self = weak.lock();
    if (!self) return;
    status ? self->unpack() : self->end(std::move(status));
  });
}

void NodeCode::begin_attempt(std::function<void(base::Status)> go) {
  if (!code_ || state_ == State::kReady) return go({});
  go_ = std::move(go);
  if (state_ == State::kFailed) begin();
}

bool NodeCode::take(const wire::Message& message) {
  const auto* block = std::get_if<wire::CodeBlock>(&message);
  if (block == nullptr) return false;
  const auto asked = asked_.find(block->block);
  if (asked == asked_.end()) return true;  // a second answer
  const Answer answer = std::move(asked->second);
  asked_.erase(asked);
  ask_more();
  if (block->error.empty()) {
    answer(make_block(block->bytes));
  } else {
    answer(base::fail(base::Errc::kUnavailable, base::printable(block->error)));
  }
  return true;
}

void NodeCode::abandon() {
  go_ = nullptr;
  ask_again_.cancel();
  asked_.clear();
  wanted_.clear();
  if (pack_) pack_->abandon();
}

void NodeCode::want(std::uint64_t block, Answer answer) {
  wanted_.emplace_back(block, std::move(answer));
  ask_more();
}

void NodeCode::ask_more() {
  while (asked_.size() < kCodeAskedMax && !wanted_.empty()) {
    auto [block, answer] = std::move(wanted_.front());
    wanted_.pop_front();
    const auto [asked, is_new] = asked_.try_emplace(block, answer);
    if (!is_new) {  // it came twice
      asked->second = [first = std::move(asked->second),
                       answer](const base::Result<SharedBlock>& found) {
        first(found);
        answer(found);
      };
      continue;
    }
    context_.node.send(wire::CodeWanted{block});
    ask_again();
  }
}

// The connection may have broken, or the supervisor been replaced.
void NodeCode::ask_again() {
  ask_again_.after(kCodeAskAgain, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->asked_.empty()) return;
    for (const auto& [block, answer] : self->asked_) {
      self->context_.node.send(wire::CodeWanted{block});
    }
    self->ask_again();
  });
}

void NodeCode::unpack() {
  const std::int64_t now_s =
      std::chrono::duration_cast<std::chrono::seconds>(context_.node.clock.wall_time()).count();
  struct Opened {
    base::Status status;
    base::Fd lock;
  };
  auto opened = std::make_shared<Opened>();
  const auto submitted = context_.store.submit(
      0,
      [opened, cache = context_.node.workers.cache_directory, digest = code_->digest,
       pack = pack_->data_path(), now_s] {
        auto lock = bootstrap::open_code(cache, digest, pack, now_s);
        if (lock)
          opened->lock = *std::move(lock);
        else
          opened->status = std::unexpected(lock.error());
      },
      [weak = weak_from_this(), opened] {
        const auto self = weak.lock();
        if (!self) return;
        self->lock_ = std::move(opened->lock);
        self->end(std::move(opened->status));
      });
  if (!submitted) end(std::unexpected(submitted.error()));
}

void NodeCode::end(base::Status status) {
  state_ = status ? State::kReady : State::kFailed;
  if (status) {
    context_.node.stages.end(wire::StageName::kEnvironment, StagePart::kCode);
    const StagedFrom from = pack_->from();
    RR_LOG(kDebug, {},
           "the code of {} is here: {} blocks from the store, {} from peers, {} from "
           "the supervisor",
           code_->from, from.store, from.peers, from.file);
  } else if (!go_) {
    RR_LOG(kDebug, {}, "{}", status.error().what);  // the next attempt tries again
  }
  if (go_) std::exchange(go_, nullptr)(std::move(status));
}

}  // namespace robustrun::agent
