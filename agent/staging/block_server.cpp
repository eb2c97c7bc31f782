#include "agent/staging/block_server.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <utility>

#include "agent/staging/block_connection.h"
#include "agent/staging/limits.h"
#include "base/io/log.h"
#include "bootstrap/store/limits.h"

namespace robustrun::agent {

// One peer's stream: it asks, waits for one answer, and asks again.
struct BlockSession {
  explicit BlockSession(const boost::asio::any_io_executor& executor) : pace(executor) {}
  enum class Stage : std::uint8_t { kIdle, kWaiting, kSending };
  Stage stage = Stage::kIdle;
  std::shared_ptr<BlockConnection> connection;
  wire::BlockQuestion question;
  std::uint64_t questions = 0;  // received on it
  bool is_known = false;  // a source is working on the current one
  bool is_signing = false;
  base::Nanos since{};  // start of the current stage
  base::Nanos signed_at{};
  boost::asio::steady_timer pace;
  base::Status status;

  void begin(Stage next, base::Nanos now) {
    stage = next;
    since = now;
  }
};

namespace {

using wire::BlockVerdict;

base::Status receive_question(wire::BulkStream& stream, wire::BlockQuestion& question) {
  const base::SystemClock clock;
  stream.set_deadline(clock.now() + base::Nanos(kQuestionMax));
  std::array<char, wire::kBlockQuestionBytes> bytes{};
  RR_TRY(stream.receive(bytes));
  question = RR_TRY(wire::parse_block_question({bytes.data(), bytes.size()}));
  return {};
}

base::Status send_block(wire::BulkStream& stream, std::uint32_t id, BlockVerdict verdict,
                        const SharedBlock& block) {
  const base::SystemClock clock;
  stream.set_deadline(clock.now() + base::Nanos(kUploadMax));
  wire::BlockAnswer answer{id, verdict, 0, {}};
  if (block) {
    answer.bytes = static_cast<std::uint32_t>(block->bytes.size());
    answer.sum = block->sum;
  }
  RR_TRY(stream.send(to_bytes(answer)));
  return block ? stream.send(block->bytes) : base::Status();
}

// A question that sources work on. When all of them have dropped it without an answer, `lost` is
// called, later: a source may end on any thread and at any moment.
class OpenQuestion {
 public:
  OpenQuestion(boost::asio::any_io_executor executor, std::function<void()> lost)
      : executor_(std::move(executor)), lost_(std::move(lost)) {}
  OpenQuestion(const OpenQuestion&) = delete;
  OpenQuestion& operator=(const OpenQuestion&) = delete;
  ~OpenQuestion() {
    if (!is_answered) boost::asio::post(executor_, std::move(lost_));
  }

  bool is_answered = false;

 private:
  boost::asio::any_io_executor executor_;
  std::function<void()> lost_;
};

}  // namespace

void BlockServer::limit(std::optional<std::uint64_t> rate) {
  if (rate == rate_) return;
  rate_ = rate;
  pace_.reset();
  if (rate && *rate > 0) pace_.emplace(*rate);
}

void BlockServer::take(wire::BulkConnection connection) {
  if (sessions_.size() >= kBlockSessionsMax) {
    const auto oldest = std::ranges::min_element(sessions_, {}, [](const SharedSession& session) {
      const bool is_idle = session->stage == BlockSession::Stage::kIdle;
      return is_idle ? session->since : base::Nanos::max();
    });
    if ((*oldest)->stage != BlockSession::Stage::kIdle) return;
    drop(*oldest);
  }
  if (!pool_) pool_.emplace(node_.executor, kBlockServeThreads, 4 * kBlockSessionsMax);
  auto session = std::make_shared<BlockSession>(node_.executor);
  session->connection =
      BlockConnection::make(node_.executor, *pool_, next_lane_++, std::move(connection.stream));
  sessions_.push_back(session);
  await(session);
}

void BlockServer::await(const SharedSession& session) {
  session->begin(BlockSession::Stage::kIdle, node_.clock.now());
  session->connection->await([weak = weak_from_this(), session] {
    const auto self = weak.lock();
    if (!self || !session->connection) return;
    const auto submitted = session->connection->turn(
        [session](wire::BulkStream& stream) {
          session->status = receive_question(stream, session->question);
        },
        [weak, session] {
          const auto later = weak.lock();
          if (later && session->connection) later->on_question(session);
        });
    if (!submitted) self->drop(session);
  });
}

void BlockServer::on_question(const SharedSession& session) {
  if (!session->status) return drop(session);  // usually the peer has gone
  ++session->questions;
  session->is_known = false;
  session->begin(BlockSession::Stage::kWaiting, node_.clock.now());
  session->signed_at =
      session->since + base::Nanos(kServerTick) - base::Nanos(bootstrap::kSignEvery);
  find(session);
  watch();
}

void BlockServer::find(const SharedSession& session) {
  const auto is_open = [session, number = session->questions] {
    return session->connection && session->questions == number;
  };
  const auto open = std::make_shared<OpenQuestion>(node_.executor, [session, is_open] {
    if (is_open()) session->is_known = false;  // another source may have it
  });
  for (BlockSource* source : sources_) {
    session->is_known =
        source->get(session->question.name, session->question.scope,
                    [weak = weak_from_this(), session, is_open, open](SharedBlock block) {
                      open->is_answered = true;
                      const auto self = weak.lock();
                      if (!self || !is_open()) return;
                      const auto verdict = block ? BlockVerdict::kHere : BlockVerdict::kNone;
                      self->answer(session, verdict, std::move(block));
                    });
    if (session->is_known) return;
  }
  // The first peer in the tree must not wait for others.
  const bool may_wait = session->question.scope == wire::BlockScope::kAny;
  if (!may_wait) answer(session, BlockVerdict::kNone, nullptr);
}

void BlockServer::answer(const SharedSession& session, BlockVerdict verdict, SharedBlock block) {
  if (session->stage != BlockSession::Stage::kWaiting) return;
  if (block && uploads_ >= kBlockUploadsMax) {
    verdict = BlockVerdict::kBusy;
    block = nullptr;
  }
  const base::Nanos now = node_.clock.now();
  const base::Nanos rest = block && pace_ ? pace_->take(block->bytes.size(), now) : base::Nanos{};
  if (rest <= base::Nanos{}) return send(session, verdict, block);
  ++uploads_;  // while it waits for its turn, the peer is told that the block is coming
  session->pace.expires_after(rest);
  session->pace.async_wait(
      [weak = weak_from_this(), session, verdict, block](const boost::system::error_code&) {
        const auto self = weak.lock();
        if (!self) return;
        --self->uploads_;
        if (session->connection) self->send(session, verdict, block);
      });
}

void BlockServer::send(const SharedSession& session, BlockVerdict verdict,
                       const SharedBlock& block) {
  if (session->stage != BlockSession::Stage::kWaiting) return;
  session->begin(BlockSession::Stage::kSending, node_.clock.now());
  ++uploads_;
  const auto submitted = session->connection->turn(
      [session, verdict, block](wire::BulkStream& stream) {
        session->status = send_block(stream, session->question.id, verdict, block);
      },
      [weak = weak_from_this(), session, has_block = block != nullptr] {
        const auto self = weak.lock();
        if (!self) return;
        --self->uploads_;
        if (!session->connection) return;
        if (!session->status) return self->drop(session);
        self->blocks_sent_ += has_block ? 1 : 0;
        self->await(session);
      });
  if (submitted) return;
  --uploads_;
  drop(session);
}

void BlockServer::sign(const SharedSession& session) {
  session->is_signing = true;
  session->signed_at = node_.clock.now();
  auto status = std::make_shared<base::Status>();
  const auto submitted = session->connection->turn(
      [status, id = session->question.id](wire::BulkStream& stream) {
        *status = send_block(stream, id, BlockVerdict::kComing, nullptr);
      },
      [weak = weak_from_this(), session, status] {
        const auto self = weak.lock();
        if (!self || !session->connection) return;
        session->is_signing = false;
        if (!*status) self->drop(session);
      });
  if (!submitted) drop(session);
}

void BlockServer::drop(const SharedSession& session) {
  if (!session->connection) return;
  session->pace.cancel();
  std::exchange(session->connection, nullptr)->hang_up();
  sessions_.remove(session);
}

void BlockServer::watch() {
  if (std::exchange(is_ticking_, true)) return;
  tick_.after(kServerTick, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->is_ticking_ = false;
    self->look();
  });
}

// Tells waiting peers that their block is coming, and looks again for blobs that were unknown.
void BlockServer::look() {
  const base::Nanos now = node_.clock.now();
  bool is_needed = false;
  for (const SharedSession& session : std::vector(sessions_.begin(), sessions_.end())) {
    if (!session->connection || session->stage != BlockSession::Stage::kWaiting) continue;
    is_needed = true;
    if (!session->is_known) find(session);
    if (session->stage != BlockSession::Stage::kWaiting) continue;
    if (!session->is_known && now - session->since >= base::Nanos(kUnknownBlobMax)) {
      answer(session, BlockVerdict::kNone, nullptr);
    } else if (!session->is_signing &&
               now - session->signed_at >= base::Nanos(bootstrap::kSignEvery)) {
      sign(session);
    }
  }
  if (is_needed) watch();
}

void BlockServer::abandon() {
  tick_.cancel();
  sources_.clear();
  for (const SharedSession& session : std::list(sessions_)) drop(session);
  pool_.reset();
}

}  // namespace robustrun::agent
