#include "agent/staging/block_server.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <utility>

#include "agent/staging/block_limits.h"
#include "agent/staging/block_line.h"
#include "base/io/log.h"
#include "bootstrap/store/limits.h"
#include "wire/bulk/pace.h"

namespace robustrun::agent {
namespace {

using wire::BlockVerdict;

// One peer's stream. It asks, waits for one answer, and asks again.
struct BlockVisit {
  explicit BlockVisit(const boost::asio::any_io_executor& executor) : pace(executor) {}
  enum class Stage : std::uint8_t { kIdle, kWaiting, kSending };
  Stage stage = Stage::kIdle;
  std::shared_ptr<BlockLine> line;
  wire::BlockQuestion question;
  std::uint64_t questions = 0;  // that were asked on it
  bool is_known = false;  // a source is at it
  bool is_signing = false;
  base::Nanos since{};  // this stage began
  base::Nanos signed_at{};
  boost::asio::steady_timer pace;
  base::Status status;
};
using SharedVisit = std::shared_ptr<BlockVisit>;

base::Status hear_question(wire::BulkStream& stream, wire::BlockQuestion& question) {
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

// A question that sources are asked. When all who took it have gone without an answer, `lost` is
// called, later: a source may go on any thread, and in the middle of anything.
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

class BlockServerImpl final : public BlockServer,
                              public std::enable_shared_from_this<BlockServerImpl> {
 public:
  explicit BlockServerImpl(NodeContext& node) : node_(node), tick_(node.executor) {}

  void take(wire::BulkConnection connection) override;
  void add(BlockSource& source) override { sources_.push_back(&source); }
  void remove(BlockSource& source) override { std::erase(sources_, &source); }
  void limit(std::optional<std::uint64_t> rate) override {
    if (rate == rate_) return;
    rate_ = rate;
    pace_.reset();
    if (rate && *rate > 0) pace_.emplace(*rate);
  }
  [[nodiscard]] std::uint64_t blocks_sent() const override { return blocks_sent_; }
  void abandon() override;

 private:
  void await(const SharedVisit& visit);
  void on_question(const SharedVisit& visit);
  void find(const SharedVisit& visit);
  void answer(const SharedVisit& visit, BlockVerdict verdict, SharedBlock block);
  void send(const SharedVisit& visit, BlockVerdict verdict, const SharedBlock& block);
  void sign(const SharedVisit& visit);
  void drop(const SharedVisit& visit);
  void watch();
  void look();
  void begin(const SharedVisit& visit, BlockVisit::Stage stage) {
    visit->stage = stage;
    visit->since = node_.clock.now();
  }

  NodeContext& node_;
  std::vector<BlockSource*> sources_;
  std::list<SharedVisit> visits_;
  std::optional<std::uint64_t> rate_;
  std::optional<wire::BulkPace> pace_;
  std::size_t uploads_ = 0;
  std::uint64_t blocks_sent_ = 0;
  boost::asio::steady_timer tick_;
  bool is_ticking_ = false;
  std::uint32_t next_lane_ = 0;
  std::optional<base::BlockingPool> pool_;  // made for the first connection
};

void BlockServerImpl::take(wire::BulkConnection connection) {
  if (visits_.size() >= kBlockVisitsMax) {
    const auto oldest = std::ranges::min_element(visits_, {}, [](const SharedVisit& visit) {
      const bool is_idle = visit->stage == BlockVisit::Stage::kIdle;
      return is_idle ? visit->since : base::Nanos::max();
    });
    if ((*oldest)->stage != BlockVisit::Stage::kIdle) return;
    drop(*oldest);
  }
  if (!pool_) pool_.emplace(node_.executor, kBlockServeThreads, 4 * kBlockVisitsMax);
  auto visit = std::make_shared<BlockVisit>(node_.executor);
  visit->line = BlockLine::make(node_.executor, *pool_, next_lane_++, std::move(connection.stream));
  visits_.push_back(visit);
  await(visit);
}

void BlockServerImpl::await(const SharedVisit& visit) {
  begin(visit, BlockVisit::Stage::kIdle);
  visit->line->await([weak = weak_from_this(), visit] {
    const auto self = weak.lock();
    if (!self || !visit->line) return;
    const auto submitted = visit->line->turn(
        [visit](wire::BulkStream& stream) {
          visit->status = hear_question(stream, visit->question);
        },
        [weak, visit] {
          const auto later = weak.lock();
          if (later && visit->line) later->on_question(visit);
        });
    if (!submitted) self->drop(visit);
  });
}

void BlockServerImpl::on_question(const SharedVisit& visit) {
  if (!visit->status) return drop(visit);  // it went, mostly
  ++visit->questions;
  visit->is_known = false;
  begin(visit, BlockVisit::Stage::kWaiting);
  visit->signed_at = visit->since + base::Nanos(kServerTick) - base::Nanos(bootstrap::kSignEvery);
  find(visit);
  watch();
}

void BlockServerImpl::find(const SharedVisit& visit) {
  const auto is_open = [visit, number = visit->questions] {
    return visit->line && visit->questions == number;
  };
  const auto open = std::make_shared<OpenQuestion>(node_.executor, [visit, is_open] {
    if (is_open()) visit->is_known = false;  // another source may have it
  });
  for (BlockSource* source : sources_) {
    visit->is_known =
        source->get(visit->question.name, visit->question.scope,
                    [weak = weak_from_this(), visit, is_open, open](SharedBlock block) {
                      open->is_answered = true;
                      const auto self = weak.lock();
                      if (!self || !is_open()) return;
                      const auto verdict = block ? BlockVerdict::kHere : BlockVerdict::kNone;
                      self->answer(visit, verdict, std::move(block));
                    });
    if (visit->is_known) return;
  }
  // Who has come first waits for nobody.
  const bool may_wait = visit->question.scope == wire::BlockScope::kAny;
  if (!may_wait) answer(visit, BlockVerdict::kNone, nullptr);
}

void BlockServerImpl::answer(const SharedVisit& visit, BlockVerdict verdict, SharedBlock block) {
  if (visit->stage != BlockVisit::Stage::kWaiting) return;
  if (block && uploads_ >= kBlockUploadsMax) {
    verdict = BlockVerdict::kBusy;
    block = nullptr;
  }
  const base::Nanos now = node_.clock.now();
  const base::Nanos rest = block && pace_ ? pace_->take(block->bytes.size(), now) : base::Nanos{};
  if (rest <= base::Nanos{}) return send(visit, verdict, block);
  ++uploads_;  // it waits for its turn, and the peer goes on hearing that it comes
  visit->pace.expires_after(rest);
  visit->pace.async_wait(
      [weak = weak_from_this(), visit, verdict, block](const boost::system::error_code&) {
        const auto self = weak.lock();
        if (!self) return;
        --self->uploads_;
        if (visit->line) self->send(visit, verdict, block);
      });
}

void BlockServerImpl::send(const SharedVisit& visit, BlockVerdict verdict,
                           const SharedBlock& block) {
  if (visit->stage != BlockVisit::Stage::kWaiting) return;
  begin(visit, BlockVisit::Stage::kSending);
  ++uploads_;
  const auto submitted = visit->line->turn(
      [visit, verdict, block](wire::BulkStream& stream) {
        visit->status = send_block(stream, visit->question.id, verdict, block);
      },
      [weak = weak_from_this(), visit, has_block = block != nullptr] {
        const auto self = weak.lock();
        if (!self) return;
        --self->uploads_;
        if (!visit->line) return;
        if (!visit->status) return self->drop(visit);
        self->blocks_sent_ += has_block ? 1 : 0;
        self->await(visit);
      });
  if (submitted) return;
  --uploads_;
  drop(visit);
}

void BlockServerImpl::sign(const SharedVisit& visit) {
  visit->is_signing = true;
  visit->signed_at = node_.clock.now();
  auto status = std::make_shared<base::Status>();
  const auto submitted = visit->line->turn(
      [status, id = visit->question.id](wire::BulkStream& stream) {
        *status = send_block(stream, id, BlockVerdict::kComing, nullptr);
      },
      [weak = weak_from_this(), visit, status] {
        const auto self = weak.lock();
        if (!self || !visit->line) return;
        visit->is_signing = false;
        if (!*status) self->drop(visit);
      });
  if (!submitted) drop(visit);
}

void BlockServerImpl::drop(const SharedVisit& visit) {
  if (!visit->line) return;
  visit->pace.cancel();
  std::exchange(visit->line, nullptr)->hang_up();
  visits_.remove(visit);
}

void BlockServerImpl::watch() {
  if (std::exchange(is_ticking_, true)) return;
  tick_.expires_after(kServerTick);
  tick_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = error ? nullptr : weak.lock();
    if (!self) return;
    self->is_ticking_ = false;
    self->look();
  });
}

// Those who wait are told that it comes; blobs that nobody knew are looked for again.
void BlockServerImpl::look() {
  const base::Nanos now = node_.clock.now();
  bool is_needed = false;
  for (const SharedVisit& visit : std::vector(visits_.begin(), visits_.end())) {
    if (!visit->line || visit->stage != BlockVisit::Stage::kWaiting) continue;
    is_needed = true;
    if (!visit->is_known) find(visit);
    if (visit->stage != BlockVisit::Stage::kWaiting) continue;
    if (!visit->is_known && now - visit->since >= base::Nanos(kUnknownBlobMax)) {
      answer(visit, BlockVerdict::kNone, nullptr);
    } else if (!visit->is_signing && now - visit->signed_at >= base::Nanos(bootstrap::kSignEvery)) {
      sign(visit);
    }
  }
  if (is_needed) watch();
}

void BlockServerImpl::abandon() {
  tick_.cancel();
  sources_.clear();
  for (const SharedVisit& visit : std::list(visits_)) drop(visit);
  pool_.reset();
}

}  // namespace

std::shared_ptr<BlockServer> BlockServer::make(NodeContext& node) {
  return std::make_shared<BlockServerImpl>(node);
}

}  // namespace robustrun::agent
