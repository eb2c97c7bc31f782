#include "launcher/openssh/link.h"

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <optional>
#include <utility>

#include "base/io/child.h"
#include "base/io/fd.h"
#include "launcher/limits.h"
#include "launcher/openssh/command.h"
#include "launcher/openssh/words.h"
#include "launcher/own_environment.h"

namespace robustrun::launcher {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr int kClientFailed = 255;
constexpr std::size_t kPipeReadBytes = 32 << 10;

// One ssh process and its pipes. Reports its end once it has exited and both outputs have ended;
// since another process may hold them open, it waits only kClientPipesWait for that.
class Client final : public std::enable_shared_from_this<Client> {
 public:
  Client(const boost::asio::any_io_executor& executor, SshLink::Handlers handlers)
      : input_(executor),
        output_(executor),
        errors_(executor),
        handlers_(std::move(handlers)),
        grace_(executor) {}

  base::Status start(const boost::asio::any_io_executor& executor,
                     const std::vector<std::string>& argv, const std::string& agent_socket) {
    base::FdPair in = RR_TRY(base::make_pipe());
    base::FdPair out = RR_TRY(base::make_pipe());
    base::FdPair err = RR_TRY(base::make_pipe());
    base::ChildOptions options;
    options.executable = argv.front();
    options.argv = argv;
    options.environment = own_environment();
    if (!agent_socket.empty()) {
      std::erase_if(options.environment,
                    [](const std::string& one) { return one.starts_with("SSH_AUTH_SOCK="); });
      options.environment.push_back("SSH_AUTH_SOCK=" + agent_socket);
    }
    options.descriptors = {in.first.get(), out.second.get(), err.second.get()};
    process_ = RR_TRY(
        base::Child::spawn(executor, options, [weak = weak_from_this()](base::ExitStatus status) {
          if (const auto self = weak.lock()) self->on_exit(status);
        }));
    for (auto [stream, fd] : {std::pair<stream_descriptor*, base::Fd*>{&input_, &in.second},
                              {&output_, &out.first},
                              {&errors_, &err.first}}) {
      error_code error;
      stream->assign(fd->get(), error);
      if (!error) static_cast<void>(fd->release());
      if (!error) stream->non_blocking(true, error);
      if (error) return base::fail_errno("cannot watch a pipe", error.value());
    }
    read(output_, output_buffer_, true);
    read(errors_, errors_buffer_, false);
    return {};
  }

  void write(std::string bytes) {
    pending_ += bytes;
    flush();
  }

  void close_input() {
    input_ends_ = true;
    flush();
  }

  // Nothing is told of it any more; its output is read, so that it never waits.
  void leave() {
    handlers_ = {};
    pending_.clear();
    close_input();
  }

  void kill() {
    handlers_ = {};
    grace_.cancel();
    // kNotFound: it has ended by itself.
    if (process_ != nullptr && !status_ && process_->signal(SIGKILL)) {
      // This object must live on to reap it.
      grace_.expires_after(kClientKillWait);
      grace_.async_wait([self = shared_from_this()](error_code) {});
    }
    error_code ignored;
    input_.close(ignored);
    output_.close(ignored);
    errors_.close(ignored);
  }

 private:
  using Buffer = std::array<char, kPipeReadBytes>;

  void read(stream_descriptor& stream, Buffer& buffer, bool is_output) {
    stream.async_read_some(
        boost::asio::buffer(buffer),
        [self = shared_from_this(), &stream, &buffer, is_output](error_code error, std::size_t n) {
          if (error) return self->on_stream_end();
          self->take({buffer.data(), n}, is_output);
          self->read(stream, buffer, is_output);
        });
  }

  void take(std::string_view bytes, bool is_output) {
    if (!is_output) {
      error_text_.add(bytes);
    } else if (handlers_.on_output) {
      handlers_.on_output(bytes);
    }
  }

  void on_stream_end() {
    RR_ASSERT(streams_ > 0);
    if (--streams_ == 0 && status_) finish();
  }

  void flush() {
    if (writing_ || !input_.is_open()) return;
    if (pending_.empty()) {
      error_code ignored;
      if (input_ends_) input_.close(ignored);
      return;
    }
    writing_ = true;
    in_flight_ = std::exchange(pending_, {});
    boost::asio::async_write(input_, boost::asio::buffer(in_flight_),
                             [self = shared_from_this()](error_code error, std::size_t) {
                               self->writing_ = false;
                               if (!error) self->flush();  // else its end follows
                             });
  }

  void on_exit(base::ExitStatus status) {
    status_ = status;
    error_code ignored;
    input_.close(ignored);
    if (streams_ == 0) return finish();
    grace_.expires_after(kClientPipesWait);
    grace_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->finish();
    });
  }

  void finish() {
    grace_.cancel();
    error_code ignored;
    output_.close(ignored);
    errors_.close(ignored);
    const base::ExitStatus status = *status_;
    SshEnd end;
    error_text_.finish();
    end.errors = error_text_.head();
    if (status.kind == base::ExitStatus::Kind::kExited && status.code != kClientFailed) {
      end.status = status;
    } else if (status.kind == base::ExitStatus::Kind::kSignaled) {
      end.trouble = SshTrouble::kLost;
      end.what = "the ssh client ended: " + base::describe(status);
    } else {
      OpenSshWords words = read_openssh_words(error_text_.head(), error_text_.server_key());
      end.trouble = words.trouble;
      end.what = std::move(words.what);
    }
    const auto handlers = std::exchange(handlers_, {});
    if (handlers.on_end) handlers.on_end(end);
  }

  std::unique_ptr<base::Child> process_;
  stream_descriptor input_;
  stream_descriptor output_;
  stream_descriptor errors_;
  SshLink::Handlers handlers_;
  Buffer output_buffer_{};
  Buffer errors_buffer_{};
  std::string pending_;
  std::string in_flight_;
  bool writing_ = false;
  bool input_ends_ = false;
  std::optional<base::ExitStatus> status_;  // once it has exited
  unsigned streams_ = 2;                    // of its outputs that have not ended
  boost::asio::steady_timer grace_;
  OpenSshErrors error_text_;
};

class OpenSshLink final : public SshLink {
 public:
  OpenSshLink(boost::asio::any_io_executor executor, OpenSshOptions options)
      : executor_(std::move(executor)), options_(std::move(options)) {}
  ~OpenSshLink() override { OpenSshLink::close(); }

  void run(const SshCommand& command, Handlers handlers) override {
    const auto on_end = handlers.on_end;
    client_ = std::make_shared<Client>(executor_, std::move(handlers));
    const auto started = client_->start(
        executor_, openssh_argv(options_.client, options_.host, options_.connect_timeout, command),
        options_.agent_socket);
    if (started) return;
    close();
    SshEnd end;
    end.trouble = SshTrouble::kOther;
    end.what = started.error().what;
    boost::asio::post(executor_, [on_end, end] { on_end(end); });
  }

  void write(std::string bytes) override {
    if (client_ != nullptr) client_->write(std::move(bytes));
  }
  void close_input() override {
    if (client_ != nullptr) client_->close_input();
  }
  void close() override {
    if (client_ == nullptr) return;
    const auto client = std::exchange(client_, nullptr);
    if (options_.outlives_close) return client->leave();
    client->kill();
  }

 private:
  boost::asio::any_io_executor executor_;
  OpenSshOptions options_;
  std::shared_ptr<Client> client_;
};

}  // namespace

std::shared_ptr<SshLink> make_openssh_link(boost::asio::any_io_executor executor,
                                           OpenSshOptions options) {
  return std::make_shared<OpenSshLink>(std::move(executor), std::move(options));
}

}  // namespace robustrun::launcher
