#include "agent/image/block_server_link.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "agent/staging/limits.h"
#include "base/io/log.h"
#include "bootstrap/store/block_protocol.h"

namespace robustrun::agent {
namespace {

using bootstrap::BlockFrame;
using bootstrap::BlockFrameKind;
using Local = boost::asio::local::stream_protocol;

class BlockServerLinkImpl final : public BlockServerLink,
                                  public std::enable_shared_from_this<BlockServerLinkImpl> {
 public:
  BlockServerLinkImpl(NodeContext& node, BlockAsker& asker, std::string blob,
                      std::function<void()> on_end)
      : node_(node),
        asker_(asker),
        blob_(std::move(blob)),
        on_end_(std::move(on_end)),
        socket_(node.executor),
        room_(kServerReadBytes, '\0'),
        life_(node.executor) {}

  base::Status begin(base::Fd fd) {
    boost::system::error_code error;
    socket_.assign(Local(), fd.get(), error);
    if (error) return base::fail_errno("cannot talk to the block server", error.value());
    static_cast<void>(fd.release());
    if (blob_.empty()) {
      asked_key_ = next_id_++;
      send_frame({BlockFrameKind::kStatus, asked_key_, 0, {}});
    }
    send_frame({BlockFrameKind::kPeers, next_id_++, 0, {}});
    read();
    return {};
  }

  bool get(const wire::BlockName& name, wire::BlockScope scope, BlockAnswered answer) override {
    if (blob_.empty() || name.blob != blob_ || !socket_.is_open()) return false;
    if (is_silent_ || questions_.size() >= kServerQuestionsMax) return answer(nullptr), true;
    const bool goes_far = scope == wire::BlockScope::kAny;
    const std::uint64_t id = next_id_++;
    questions_.emplace(id, std::move(answer));
    send_frame({BlockFrameKind::kGet, id, name.block,
                std::string(1, goes_far ? bootstrap::kGetMayAskOrigin : '\0')});
    watch();
    return true;
  }

  void abandon() override {
    on_end_ = nullptr;
    life_.cancel();
    questions_.clear();
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

 private:
  // Peers are told that a block is coming while the server looks for it; a stopped server never
  // brings it. The server answers pings while a block is slow to come from its source.
  void watch() {
    if (std::exchange(is_watched_, true)) return;
    life_.expires_after(kServerLifeTick);
    life_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = error ? nullptr : weak.lock();
      if (!self || !self->socket_.is_open()) return;
      self->is_watched_ = false;
      if (!self->questions_.empty()) self->look_for_life();
    });
  }

  void look_for_life() {
    const base::Nanos now = node_.clock.now();
    if (life_asked_ == 0) {
      life_asked_ = next_id_++;
      life_asked_at_ = now;
      send_frame({BlockFrameKind::kStatus, life_asked_, 0, {}});
    } else if (now - std::max(life_asked_at_, received_at_) >= base::Nanos(kServerSilentMax)) {
      RR_LOG(kDebug, {}, "the block server of {} is silent, and gives peers nothing", blob_);
      is_silent_ = true;
      return answer_none();
    }
    watch();
  }

  void answer_none() {
    for (auto& [id, answer] : std::exchange(questions_, {})) answer(nullptr);
  }

  void read() {
    socket_.async_read_some(
        boost::asio::buffer(room_),
        [weak = weak_from_this()](const boost::system::error_code& error, std::size_t bytes) {
          const auto self = weak.lock();
          if (!self || !self->socket_.is_open()) return;
          if (error) return self->end("it has closed the connection");
          self->is_silent_ = false;
          self->received_at_ = self->node_.clock.now();
          self->frames_.feed({self->room_.data(), bytes});
          self->take_frames();
        });
  }

  void take_frames() {
    while (true) {
      auto frame = frames_.next();
      if (!frame) return end(frame.error().what);
      if (!*frame) return read();
      on_frame(**frame);
      if (!socket_.is_open()) return;
    }
  }

  void on_frame(BlockFrame& frame) {
    if (frame.kind == BlockFrameKind::kWant) return want(frame);
    if (frame.id == asked_key_ && blob_.empty() && frame.kind == BlockFrameKind::kOk) {
      const auto status = bootstrap::decode_block_status(frame.payload);
      if (!status) return end(status.error().what);
      blob_ = status->key;
      return;
    }
    if (frame.id == life_asked_) life_asked_ = 0;
    const auto question = questions_.find(frame.id);
    if (question == questions_.end()) return;  // an answer to kPeers, or news
    const BlockAnswered answer = std::move(question->second);
    questions_.erase(question);
    const bool is_here = frame.kind == BlockFrameKind::kOk && !frame.payload.empty();
    answer(is_here ? make_block(std::move(frame.payload)) : nullptr);
  }

  void want(const BlockFrame& frame) {
    asker_.ask({blob_, frame.block},
               [weak = weak_from_this(), id = frame.id, block = frame.block](SharedBlock found) {
                 const auto self = weak.lock();
                 if (!self || !self->socket_.is_open()) return;
                 const auto kind = found ? BlockFrameKind::kOk : BlockFrameKind::kNone;
                 self->send_frame({kind, id, block, found ? found->bytes : std::string()});
               });
  }

  void send_frame(const BlockFrame& frame) {
    unsent_.push_back(encode_block_frame(frame));
    if (unsent_.size() == 1) write();
  }

  void write() {
    boost::asio::async_write(
        socket_, boost::asio::buffer(unsent_.front()),
        [weak = weak_from_this()](const boost::system::error_code& error, std::size_t) {
          const auto self = weak.lock();
          if (!self || !self->socket_.is_open()) return;
          if (error) return self->end("it has closed the connection");
          self->unsent_.pop_front();
          if (!self->unsent_.empty()) self->write();
        });
  }

  void end(const std::string& why) {
    RR_LOG(kDebug, {}, "the block server of {} is gone: {}", blob_, why);
    boost::system::error_code ignored;
    socket_.close(ignored);
    life_.cancel();
    answer_none();
    if (on_end_) std::exchange(on_end_, nullptr)();
  }

  NodeContext& node_;
  BlockAsker& asker_;
  std::string blob_;
  std::function<void()> on_end_;
  Local::socket socket_;
  std::string room_;
  boost::asio::steady_timer life_;
  bootstrap::BlockFrameReader frames_;
  std::uint64_t next_id_ = 1;
  std::uint64_t life_asked_ = 0;  // id of the unanswered status question; 0: none
  base::Nanos life_asked_at_{};
  base::Nanos received_at_{};  // last time that anything arrived
  bool is_watched_ = false;
  bool is_silent_ = false;
  std::uint64_t asked_key_ = 0;  // id of the question for the key; 0: none
  std::map<std::uint64_t, BlockAnswered> questions_;
  std::deque<std::string> unsent_;  // the first is being written
};

}  // namespace

base::Result<std::shared_ptr<BlockServerLink>> BlockServerLink::make(NodeContext& node,
                                                                     BlockAsker& asker,
                                                                     base::Fd socket,
                                                                     std::string blob,
                                                                     std::function<void()> on_end) {
  RR_TRY(base::set_nonblocking(socket.get(), true));
  auto made =
      std::make_shared<BlockServerLinkImpl>(node, asker, std::move(blob), std::move(on_end));
  RR_TRY(made->begin(std::move(socket)));
  return made;
}

base::Result<base::Fd> connect_block_server(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return base::fail(base::Errc::kInvalidArgument, "the path of a socket is too long: " + path);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return base::fail_errno("cannot reach the block server at " + path, errno);
  }
  return fd;
}

}  // namespace robustrun::agent
