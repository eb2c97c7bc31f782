#include "agent/process/ask_program.h"

#include <fmt/core.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "agent/node/limits.h"
#include "agent/process/shim_link.h"
#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class Asked : public std::enable_shared_from_this<Asked> {
 public:
  Asked(const asio::any_io_executor& executor, Question question, AskedProgram::Done done)
      : question_(std::move(question)),
        done_(std::move(done)),
        output_(executor),
        deadline_(executor) {}

  void start() {
    if (auto started = start_program(); !started) {
      return asio::post(deadline_.get_executor(),
                        [self = shared_from_this(), error = std::move(started).error()] {
                          self->finish(std::unexpected(error));
                        });
    }
    if (question_.within > std::chrono::milliseconds::zero()) {
      deadline_.expires_after(question_.within);
      deadline_.async_wait([self = shared_from_this()](error_code error) {
        if (!error) self->on_timeout();
      });
    }
    read();
  }

  void drop() {
    done_ = nullptr;
    deadline_.cancel();
    link_.reset();  // closes its lifeline: the shim kills its tree
    error_code ignored;
    output_.close(ignored);
  }

 private:
  base::Status start_program() {
    base::FdPair pipe = RR_TRY(base::make_pipe());
    ShimOptions options;
    options.shim = question_.shim;
    options.argv = question_.argv;
    options.environment = question_.environment;
    options.working_directory = question_.working_directory;
    options.container = question_.container;
    options.out_fd = pipe.second.get();
    options.err_fd = pipe.second.get();
    ShimLink::Handlers handlers;
    handlers.on_start_failed = [this](int os_errno, const std::string& what) {
      const bool missing = os_errno == ENOENT || os_errno == ENOTDIR;
      finish_later(std::unexpected(
          base::Error{missing ? base::Errc::kNotFound : base::Errc::kUnavailable, os_errno, what}));
    };
    handlers.on_exited = [this](base::ExitStatus status, base::Nanos, bool) { on_exit(status); };
    link_ = RR_TRY(ShimLink::start(output_.get_executor(), options, std::move(handlers)));
    error_code error;
    output_.assign(pipe.first.get(), error);
    if (error) return base::fail_errno("cannot read a pipe", error.value());
    static_cast<void>(pipe.first.release());
    return {};
  }

  void read() {
    output_.async_read_some(asio::buffer(chunk_),
                            [self = shared_from_this()](error_code error, std::size_t size) {
                              self->keep(size);
                              if (!error && self->done_) self->read();
                            });
  }

  void keep(std::size_t size) {
    if (question_.on_text) {
      if (size > 0) text_.assign(chunk_.data(), size);
      if (done_) question_.on_text({chunk_.data(), size});
      return;
    }
    text_.append(chunk_.data(), std::min(size, question_.answer_max - text_.size()));
  }

  // Its whole output is in the pipe by now; other processes that hold the pipe open are not waited
  // for.
  void on_exit(base::ExitStatus status) {
    error_code error;
    output_.cancel(error);
    output_.non_blocking(true, error);
    while (!error) keep(output_.read_some(asio::buffer(chunk_), error));
    const bool ended =
        status.success() || (question_.any_end && status.kind == base::ExitStatus::Kind::kExited);
    if (ended) return finish_later(std::move(text_));
    finish_later(base::fail(base::Errc::kUnavailable,
                            fmt::format("{}: {}", base::describe(status), last_line())));
  }

  void on_timeout() {
    std::string words = "no answer within " + base::in_seconds(question_.within);
    if (!last_line().empty()) words += fmt::format("; its last line: {}", last_line());
    finish(base::fail(base::Errc::kTimeout, std::move(words)));
  }

  [[nodiscard]] std::string_view last_line() const {
    const std::string_view text = base::trim(text_);
    return text.substr(text.rfind('\n') + 1).substr(0, kFactBytesMax);
  }

  // Not from within the link's own handler.
  void finish_later(base::Result<std::string> result) {
    asio::post(deadline_.get_executor(),
               [self = shared_from_this(), result = std::move(result)]() mutable {
                 self->finish(std::move(result));
               });
  }

  void finish(base::Result<std::string> result) {
    const AskedProgram::Done done = std::exchange(done_, nullptr);
    drop();
    if (done) done(std::move(result));
  }

  Question question_;
  AskedProgram::Done done_;
  asio::posix::stream_descriptor output_;
  asio::steady_timer deadline_;
  std::unique_ptr<ShimLink> link_;
  std::array<char, 4096> chunk_{};
  std::string text_;
};

class AskedProgramOwner final : public AskedProgram {
 public:
  explicit AskedProgramOwner(std::shared_ptr<Asked> asked) : asked_(std::move(asked)) {}
  ~AskedProgramOwner() override { asked_->drop(); }
  AskedProgramOwner(const AskedProgramOwner&) = delete;
  AskedProgramOwner& operator=(const AskedProgramOwner&) = delete;

 private:
  std::shared_ptr<Asked> asked_;
};

}  // namespace

std::unique_ptr<AskedProgram> AskedProgram::ask(asio::any_io_executor executor, Question question,
                                                Done done) {
  auto asked = std::make_shared<Asked>(executor, std::move(question), std::move(done));
  asked->start();
  return std::make_unique<AskedProgramOwner>(std::move(asked));
}

}  // namespace robustrun::agent
