#include "launcher/ssh/session.h"

#include <libssh2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>

#include "base/core/text.h"
#include "base/io/log.h"
#include "launcher/limits.h"
#include "launcher/ssh/channel.h"
#include "launcher/ssh/dial.h"
#include "launcher/ssh/host_key.h"
#include "launcher/ssh/login.h"

namespace robustrun::launcher {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr int kFreeTriesMax = 16;
constexpr std::size_t kReasonBytesMax = 200;

class SshSession final : public SshLink, public std::enable_shared_from_this<SshSession> {
 public:
  SshSession(const boost::asio::any_io_executor& executor, std::shared_ptr<const SshTarget> target,
             std::function<void(const std::string&)> store)
      : executor_(executor),
        target_(std::move(target)),
        store_(std::move(store)),
        socket_(executor),
        deadline_(executor),
        keepalive_(executor) {}
  ~SshSession() override { tear_down(); }

  void run(const SshCommand& command, Handlers handlers) override {
    RR_ASSERT(!handlers_);
    handlers_ = std::move(handlers);
    command_ = command;
    input_.clear();
    input_ends_ = false;
    if (state_ == State::kReady) return drive_soon();
    connect();
  }

  void write(std::string bytes) override {
    if (channel_) {
      channel_->write(std::move(bytes));
      drive_soon();
    } else {
      input_ += bytes;
    }
  }

  void close_input() override {
    if (channel_) {
      channel_->close_input();
      drive_soon();
    } else {
      input_ends_ = true;
    }
  }

  void close() override {
    handlers_.reset();
    boost::asio::post(executor_, [self = shared_from_this()] { self->tear_down(); });
  }

 private:
  // kIdle: not connected. kReady: logged in, no command. Every other state has a deadline, its own
  // or (kCommand) the caller's.
  enum class State : std::uint8_t { kIdle, kDialing, kHandshake, kLogin, kReady, kCommand };
  enum class Next : std::uint8_t { kAgain, kWaitForSocket, kWait };

  void connect() {
    state_ = State::kDialing;
    if (!target_->lookup_trouble.empty()) {
      boost::asio::post(executor_, [self = shared_from_this()] {
        self->fail(SshTrouble::kLookUp, "cannot find the address of " +
                                            base::printable(self->target_->settings.hostname) +
                                            ": " + self->target_->lookup_trouble);
      });
      return;
    }
    deadline_.expires_after(target_->connect_timeout);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      const bool done = self->state_ == State::kIdle || self->state_ >= State::kReady;
      if (!error && !done) self->fail(SshTrouble::kUnreachable, self->late_words());
    });
    dial_ = SshDial::start(executor_, target_->addresses, target_->settings.port,
                           target_->connect_timeout,
                           [this, weak = weak_from_this()](base::Result<base::Fd> fd) {
                             if (const auto self = weak.lock()) on_dialed(std::move(fd));
                           });
  }

  [[nodiscard]] std::string late_words() const {
    const std::string within =
        " within " + std::to_string(target_->connect_timeout.count() / 1000) + " s";
    if (state_ == State::kDialing) return "no answer from port " + port() + within;
    if (state_ == State::kHandshake) {
      return "port " + port() + " takes connections but does not speak SSH" + within;
    }
    return "the login did not end" + within;
  }

  [[nodiscard]] std::string port() const { return std::to_string(target_->settings.port); }

  void on_dialed(base::Result<base::Fd> fd) {
    dial_.reset();
    if (!fd) {
      fail(SshTrouble::kUnreachable, "cannot connect to port " + port() + ": " + fd.error().what);
      return;
    }
    watch_for_silence(fd->get());
    error_code error;
    socket_.assign(fd->get(), error);
    if (!error) static_cast<void>(fd->release());
    if (!error) socket_.native_non_blocking(true, error);
    session_ = error ? nullptr : libssh2_session_init_ex(nullptr, nullptr, nullptr, this);
    if (session_ == nullptr) {
      fail(SshTrouble::kOther, "cannot make an SSH session");
      return;
    }
    prepare();
    state_ = State::kHandshake;
    drive();
  }

  // Keepalives make traffic; the kernel gives up when it is not acknowledged.
  static void watch_for_silence(int fd) {
    const unsigned limit_ms =
        static_cast<unsigned>(std::chrono::milliseconds(kKeepaliveGiveUp).count());
    ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
  }

  void prepare() {
    libssh2_session_set_blocking(session_, 0);
    libssh2_keepalive_config(session_, 1, static_cast<unsigned>(kKeepaliveInterval.count()));
    // The cast is libssh2's convention: one function for callbacks of all types.
    libssh2_session_callback_set(session_, LIBSSH2_CALLBACK_DISCONNECT,
                                 reinterpret_cast<void*>(&on_disconnect));
    for (const auto& [method, list] :
         {std::pair<int, const std::string&>{LIBSSH2_METHOD_KEX, target_->key_exchanges},
          {LIBSSH2_METHOD_HOSTKEY, target_->host_key_types},
          {LIBSSH2_METHOD_CRYPT_CS, target_->ciphers},
          {LIBSSH2_METHOD_CRYPT_SC, target_->ciphers},
          {LIBSSH2_METHOD_MAC_CS, target_->macs},
          {LIBSSH2_METHOD_MAC_SC, target_->macs}}) {
      // Fails when it knows none of them; the handshake then reports that.
      libssh2_session_method_pref(session_, method, list.c_str());
    }
  }

  static void on_disconnect(LIBSSH2_SESSION*, int, const char* message, int size, const char*, int,
                            void** abstract) {
    const std::string_view text(message, message == nullptr ? 0 : static_cast<std::size_t>(size));
    static_cast<SshSession*>(*abstract)->reason_ = base::printable(text.substr(0, kReasonBytesMax));
  }

  void drive_soon() {
    if (std::exchange(drive_posted_, true)) return;
    boost::asio::post(executor_, [self = shared_from_this()] {
      self->drive_posted_ = false;
      self->drive();
    });
  }

  void drive() {
    if (session_ == nullptr) return;
    Next next = Next::kAgain;
    while (next == Next::kAgain) next = step();
    if (session_ != nullptr && next == Next::kWaitForSocket) wait_for_socket();
  }

  Next step() {
    switch (state_) {
      case State::kHandshake: return shake_hands();
      case State::kLogin: return log_in();
      case State::kReady: return begin_command();
      case State::kCommand: return move_command();
      case State::kIdle:
      case State::kDialing: break;
    }
    return Next::kWait;
  }

  Next shake_hands() {
    const int rc = libssh2_session_handshake(session_, socket_.native_handle());
    if (rc == LIBSSH2_ERROR_EAGAIN) return Next::kWaitForSocket;
    if (rc != 0) return fail_handshake(rc);
    std::size_t size = 0;
    int type = 0;
    const char* const blob = libssh2_session_hostkey(session_, &size, &type);
    const HostKeyDecision decision =
        decide_host_key(*target_, blob == nullptr ? "" : std::string_view(blob, size));
    if (decision.trouble != SshTrouble::kNone) return fail(decision.trouble, decision.what);
    if (!decision.what.empty()) RR_LOG(kWarn, ({.node = target_->name}), "{}", decision.what);
    if (!decision.line_to_store.empty()) store_(decision.line_to_store);
    login_.emplace(executor_, target_, [this] { drive_soon(); });
    state_ = State::kLogin;
    return Next::kAgain;
  }

  Next fail_handshake(int rc) {
    const std::string cause = last_error();
    // Both sides have listed their algorithms and have none in common.
    if (rc == LIBSSH2_ERROR_KEX_FAILURE || rc == LIBSSH2_ERROR_METHOD_NONE) {
      return fail(SshTrouble::kUnsuited,
                  "libssh2 and the server have no algorithm in common (" + cause + ")");
    }
    return fail(SshTrouble::kDropped, "the server hung up before the login (" + cause + ")");
  }

  Next log_in() {
    switch (login_->step(session_)) {
      case SshLogin::Outcome::kAgain: return Next::kAgain;
      case SshLogin::Outcome::kWaitForSocket: return Next::kWaitForSocket;
      case SshLogin::Outcome::kWaitForAgent: return Next::kWait;
      case SshLogin::Outcome::kFailed: {
        const std::string said = reason_.empty() ? "" : "; it said: " + reason_;
        return fail(login_->trouble(), login_->explain() + said);
      }
      case SshLogin::Outcome::kDone: break;
    }
    login_.reset();
    deadline_.cancel();
    state_ = State::kReady;
    keep_alive();
    return Next::kAgain;
  }

  Next begin_command() {
    if (!handlers_) return Next::kWait;
    channel_.emplace(
        session_, command_,
        [this](std::string_view bytes) {
          if (handlers_ && handlers_->on_output) handlers_->on_output(bytes);
        },
        [this] { return handlers_.has_value(); });
    channel_->write(std::exchange(input_, {}));
    if (input_ends_) channel_->close_input();
    state_ = State::kCommand;
    return Next::kAgain;
  }

  Next move_command() {
    switch (channel_->step()) {
      case SshChannel::Outcome::kAgain: return Next::kAgain;
      case SshChannel::Outcome::kWaitForSocket: return Next::kWaitForSocket;
      case SshChannel::Outcome::kFailed: return fail(SshTrouble::kLost, lost_words());
      case SshChannel::Outcome::kEnded: break;
    }
    SshEnd end;
    end.status = channel_->status();
    end.errors = channel_->errors();
    channel_.reset();
    state_ = State::kReady;
    report(end);
    return Next::kAgain;
  }

  [[nodiscard]] std::string lost_words() const {
    return "the SSH connection broke (" + (reason_.empty() ? last_error() : reason_) + ")";
  }

  [[nodiscard]] std::string last_error() const {
    char* message = nullptr;
    int size = 0;
    libssh2_session_last_error(session_, &message, &size, 0);
    return message == nullptr || size <= 0
               ? "no reason given"
               : base::printable({message, static_cast<std::size_t>(size)});
  }

  void wait_for_socket() {
    const int directions = libssh2_session_block_directions(session_);
    const bool write = (directions & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
    if (write) wait_for(stream_descriptor::wait_write, waits_to_write_);
    wait_for(stream_descriptor::wait_read, waits_to_read_);
  }

  void wait_for(stream_descriptor::wait_type direction, bool& waiting) {
    if (std::exchange(waiting, true)) return;
    socket_.async_wait(direction, [self = shared_from_this(), &waiting](error_code error) {
      waiting = false;
      if (!error) self->drive();
    });
  }

  void keep_alive() {
    keepalive_.expires_after(kKeepaliveInterval);
    keepalive_.async_wait([self = shared_from_this()](error_code error) {
      if (error || self->session_ == nullptr) return;
      int next = 0;
      if (!self->channel_ || self->channel_->at_rest()) {
        libssh2_keepalive_send(self->session_, &next);
      }
      self->keep_alive();
    });
  }

  // A failure ends the session; run() starts a new one.
  Next fail(SshTrouble trouble, std::string what) {
    SshEnd end;
    end.trouble = trouble;
    end.what = std::move(what);
    if (channel_) end.errors = channel_->errors();
    tear_down();
    report(end);
    return Next::kWait;
  }

  void report(const SshEnd& end) {
    const auto handlers = std::exchange(handlers_, std::nullopt);
    if (handlers && handlers->on_end) handlers->on_end(end);
  }

  void tear_down() {
    deadline_.cancel();
    keepalive_.cancel();
    if (dial_ != nullptr) std::exchange(dial_, nullptr)->cancel();
    login_.reset();
    channel_.reset();
    state_ = State::kIdle;
    reason_.clear();
    if (session_ != nullptr) {
      libssh2_session_disconnect(session_, "done");
      // libssh2_session_free() would wait for answers of a peer that may be gone.
      ::shutdown(socket_.native_handle(), SHUT_RDWR);
      int tries = 0;
      while (libssh2_session_free(session_) == LIBSSH2_ERROR_EAGAIN && ++tries < kFreeTriesMax) {
      }
      session_ = nullptr;
    }
    error_code ignored;
    socket_.close(ignored);
  }

  boost::asio::any_io_executor executor_;
  std::shared_ptr<const SshTarget> target_;
  std::function<void(const std::string&)> store_;
  State state_ = State::kIdle;
  std::optional<Handlers> handlers_;  // while a command is wanted
  SshCommand command_;
  std::string input_;  // for a command whose channel is not open yet
  bool input_ends_ = false;
  std::shared_ptr<SshDial> dial_;
  stream_descriptor socket_;
  LIBSSH2_SESSION* session_ = nullptr;
  std::optional<SshLogin> login_;
  std::optional<SshChannel> channel_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer keepalive_;
  std::string reason_;  // the server's message when it hung up
  bool waits_to_read_ = false;
  bool waits_to_write_ = false;
  bool drive_posted_ = false;
};

// Once, before the first session: initialisation must not race.
bool library_is_ready() {
  static const bool ready = libssh2_init(0) == 0;
  return ready;
}

}  // namespace

std::shared_ptr<SshLink> make_libssh2_link(boost::asio::any_io_executor executor,
                                           std::shared_ptr<const SshTarget> target,
                                           std::function<void(const std::string& line)> store) {
  RR_ASSERT(library_is_ready());
  return std::make_shared<SshSession>(executor, std::move(target), std::move(store));
}

}  // namespace robustrun::launcher
