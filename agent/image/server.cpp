#include "agent/image/server.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <utility>

#include "agent/image/limits.h"
#include "agent/node/environment.h"
#include "base/core/exit_status.h"
#include "base/core/text.h"
#include "base/io/child.h"
#include "base/io/fd.h"
#include "base/io/strays.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using bootstrap::BlockEvent;
using bootstrap::BlockFrame;
using bootstrap::BlockFrameKind;

constexpr const char* kBudgetVariable = "ROBUSTRUN_IMAGE_RETRY_S";

// The connection, and the questions that wait for answers on it.
class ServerLine : public std::enable_shared_from_this<ServerLine> {
 public:
  using Take = std::function<void(BlockFrame)>;
  ServerLine(const asio::any_io_executor& executor, Take take, std::function<void()> on_end)
      : socket_(executor), take_(std::move(take)), on_end_(std::move(on_end)) {}

  bool connect(const std::string& path) {
    error_code error;
    socket_.connect(asio::local::stream_protocol::endpoint(path), error);
    if (error) return false;
    socket_.non_blocking(true, error);
    read();
    return true;
  }

  void send(BlockFrameKind kind, std::uint64_t id) {
    auto bytes = std::make_shared<std::string>(bootstrap::encode_block_frame({kind, id, 0, {}}));
    asio::async_write(socket_, asio::buffer(*bytes),
                      [self = shared_from_this(), bytes](error_code, std::size_t) {});
  }

  void close() {
    take_ = nullptr;
    on_end_ = nullptr;
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  void read() {
    socket_.async_read_some(asio::buffer(chunk_),
                            [self = shared_from_this()](error_code error, std::size_t size) {
                              self->reader_.feed({self->chunk_.data(), size});
                              if (!error && self->hand_over()) return self->read();
                              const auto on_end = std::exchange(self->on_end_, nullptr);
                              if (on_end) on_end();
                            });
  }

  // False: the input is not of this protocol.
  bool hand_over() {
    while (true) {
      auto frame = reader_.next();
      if (!frame) return false;
      if (!*frame) return true;
      const Take take = take_;
      if (take) take(**std::move(frame));
    }
  }

  asio::local::stream_protocol::socket socket_;
  Take take_;
  std::function<void()> on_end_;
  bootstrap::BlockFrameReader reader_;
  std::array<char, 4096> chunk_{};
};

class ImageServerImpl final : public ImageServer {
 public:
  ImageServerImpl(NodeContext& node, Plan plan, Handlers handlers)
      : node_(node),
        plan_(std::move(plan)),
        handlers_(std::move(handlers)),
        poll_(node.executor),
        patience_(node.executor),
        until_(node.clock.now() + kImageServerReadyMax) {}
  ~ImageServerImpl() override {
    if (is_quitting_ && !has_quit_ && child_) static_cast<void>(child_->signal(SIGKILL));
    drop_line();
  }
  ImageServerImpl(const ImageServerImpl&) = delete;
  ImageServerImpl& operator=(const ImageServerImpl&) = delete;

  void begin() {
    is_adopted_ = connect();
    if (is_adopted_) return ask_ready();
    const auto started = start();
    if (started) return look_again();
    poll_.expires_after(std::chrono::milliseconds::zero());
    poll_.async_wait([this, error = started.error()](error_code cancelled) {
      if (!cancelled) ready(std::unexpected(error));
    });
  }

  void ask(std::chrono::milliseconds within, Answer answer) override {
    answer_ = std::move(answer);
    if (!line_) return give_answer(base::fail(base::Errc::kUnavailable, "it is not connected"));
    asked_ = ++last_id_;
    line_->send(BlockFrameKind::kStatus, asked_);
    patience_.expires_after(within);
    patience_.async_wait([this](error_code error) {
      if (!error) give_answer(base::fail(base::Errc::kTimeout, "it does not answer"));
    });
  }

  void settled() override {
    settled_id_ = ++last_id_;
    if (line_) line_->send(BlockFrameKind::kSettled, settled_id_);
  }

  void quit(std::function<void()> done) override {
    on_quit_ = std::move(done);
    is_quitting_ = true;
    poll_.cancel();
    if (line_) {
      quit_id_ = ++last_id_;
      line_->send(BlockFrameKind::kQuit, quit_id_);
    }
    patience_.expires_after(line_ ? kImageServerQuitMax : std::chrono::seconds::zero());
    patience_.async_wait([this](error_code error) {
      if (error) return;
      // The server is stopped, or has not begun to listen.
      if (child_) static_cast<void>(child_->signal(SIGKILL));
      finish_quit();
    });
  }

  [[nodiscard]] bool is_adopted() const override { return is_adopted_; }

 private:
  bool connect() {
    line_ = std::make_shared<ServerLine>(
        node_.executor, [this](BlockFrame frame) { on_frame(std::move(frame)); },
        [this] { on_line_end(); });
    if (line_->connect(plan_.socket)) return true;
    drop_line();
    return false;
  }

  void drop_line() {
    if (line_) line_->close();
    line_.reset();
  }

  base::Status start() {
    words_ = base::Fd(::memfd_create("robustrun-blocks", MFD_CLOEXEC));
    base::ChildOptions options;
    options.executable = plan_.program;
    options.argv = {"robustrun-blocks", "serve",      "--source", plan_.source,
                    "--cache",          plan_.cache,  "--mount",  plan_.mount,
                    "--socket",         plan_.socket, "--folder", plan_.folder};
    if (node_.started_with.prefetch == wire::PrefetchMode::kOff) {
      options.argv.insert(options.argv.end(), {"--prefetch", "0"});
    }
    if (node_.started_with.cache_max_gib > 0) {
      options.argv.insert(options.argv.end(),
                          {"--cache-max", std::to_string(node_.started_with.cache_max_gib)});
    }
    if (plan_.has_peers) {
      options.argv.insert(options.argv.end(),
                          {"--await-peers", std::to_string(kImagePeersWait.count())});
    }
    if (auto budget = Environment(node_.started_with.environment).get(kBudgetVariable)) {
      options.argv.insert(options.argv.end(), {"--retry-budget", *std::move(budget)});
    }
    options.environment = node_.workers.environment;  // proxies, certificates
    options.descriptors = {-1, words_.get(), words_.get()};
    spared_.emplace();
    child_ = RR_TRY(base::Child::spawn(node_.executor, options, [this](base::ExitStatus status) {
      child_.reset();
      spared_.reset();
      on_exit(status);
    }));
    spared_->is(child_->pid());
    return {};
  }

  void look_again() {
    poll_.expires_after(kImageServerPoll);
    poll_.async_wait([this](error_code error) {
      if (error || is_ready_) return;
      if (node_.clock.now() >= until_) {
        return ready(base::fail(base::Errc::kTimeout,
                                what(fmt::format("robustrun-blocks did not mount it within {} s{}",
                                                 kImageServerReadyMax.count(), trouble_))));
      }
      if (line_ || connect()) return ask_ready();
      look_again();
    });
  }

  void ask_ready() {
    ask(kImageServerAnswerMax, [this](base::Result<bootstrap::BlockServerStatus> status) {
      if (status && status->is_mounted) return ready({});
      if (status && !status->trouble.empty()) trouble_ = ": " + base::printable(status->trouble);
      if (!status && is_adopted_) return ready(std::unexpected(status.error()));
      look_again();
    });
  }

  void on_frame(BlockFrame frame) {
    if (frame.kind == BlockFrameKind::kEvent) {
      on_event(static_cast<BlockEvent>(frame.block), base::printable(frame.payload));
    } else if (frame.id == settled_id_) {
      if (frame.kind == BlockFrameKind::kOk && handlers_.on_recorded) handlers_.on_recorded();
    } else if (frame.id == quit_id_ && is_quitting_) {
      finish_quit();
    } else if (frame.id == asked_ && answer_) {
      give_answer(bootstrap::decode_block_status(frame.payload));
    }
  }

  void on_event(BlockEvent about, const std::string& text) {
    if (!is_ready_) trouble_ = ": " + text;
    if (about == BlockEvent::kWrongContent) return wrong(text);
    const bool is_of_reads = about == BlockEvent::kReadsFail || about == BlockEvent::kReadsGoOn;
    if (is_of_reads && handlers_.on_reads) {
      handlers_.on_reads(text, about == BlockEvent::kReadsGoOn);
    } else if (handlers_.on_event) {
      handlers_.on_event(text);
    }
  }

  void on_line_end() {
    drop_line();
    if (is_quitting_) return finish_quit();
    if (answer_) give_answer(base::fail(base::Errc::kUnavailable, "its connection ended"));
    if (is_ready_) lost("its connection ended");
  }

  void on_exit(base::ExitStatus status) {
    const std::string why = base::describe(status) + last_output();
    if (is_quitting_) return finish_quit();
    if (is_ready_) return lost(why);
    ready(base::fail(base::Errc::kUnavailable, what("robustrun-blocks ended: " + why)));
  }

  // The last line of its output.
  [[nodiscard]] std::string last_output() const {
    std::array<char, kImageServerWordsMax> text{};
    const off_t end = std::max<off_t>(0, ::lseek(words_.get(), 0, SEEK_END));
    const off_t from = std::max<off_t>(0, end - static_cast<off_t>(text.size()));
    const ssize_t got = ::pread(words_.get(), text.data(), text.size(), from);
    const std::string_view trimmed =
        base::trim({text.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got))});
    if (trimmed.empty()) return trouble_;
    return ": " + base::printable(trimmed.substr(trimmed.rfind('\n') + 1));
  }

  [[nodiscard]] std::string what(const std::string& why) const {
    return fmt::format("cannot serve the image {}: {}",
                       base::printable(bootstrap::shown_source(plan_.source)), why);
  }

  void give_answer(base::Result<bootstrap::BlockServerStatus> status) {
    patience_.cancel();
    asked_ = 0;
    const Answer answer = std::exchange(answer_, nullptr);
    if (answer) answer(std::move(status));
  }
  void ready(base::Status status) {
    poll_.cancel();
    is_ready_ = status.has_value();
    const auto on_ready = std::exchange(handlers_.on_ready, nullptr);
    if (on_ready) on_ready(std::move(status));
  }
  void lost(const std::string& why) {
    const auto on_lost = std::exchange(handlers_.on_lost, nullptr);
    if (on_lost) on_lost(why);
  }
  void wrong(const std::string& why) {
    const auto on_wrong = std::exchange(handlers_.on_wrong, nullptr);
    if (on_wrong) on_wrong(why);
  }
  void finish_quit() {
    patience_.cancel();
    has_quit_ = true;
    const auto done = std::exchange(on_quit_, nullptr);
    if (done) done();
  }

  NodeContext& node_;
  const Plan plan_;
  Handlers handlers_;
  asio::steady_timer poll_, patience_;
  const base::Nanos until_;
  std::shared_ptr<ServerLine> line_;
  base::Fd words_;
  std::optional<base::SparedChild> spared_;
  std::unique_ptr<base::Child> child_;
  Answer answer_;
  std::function<void()> on_quit_;
  std::uint64_t last_id_ = 0, asked_ = 0, quit_id_ = 0, settled_id_ = 0;
  std::string trouble_;
  bool is_adopted_ = false;
  bool is_ready_ = false;
  bool is_quitting_ = false;
  bool has_quit_ = false;  // or confirmed that it will
};

}  // namespace

std::unique_ptr<ImageServer> ImageServer::start(NodeContext& node, Plan plan, Handlers handlers) {
  auto server = std::make_unique<ImageServerImpl>(node, std::move(plan), std::move(handlers));
  server->begin();
  return server;
}

}  // namespace robustrun::agent
