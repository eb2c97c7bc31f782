#include "agent/evidence/flight_source.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/node/limits.h"
#include "agent/node/worker_file.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using base::Errc;
using boost::system::error_code;

constexpr std::string_view kRequest =
    "POST /handler/fr_trace_json HTTP/1.1\r\n"
    "Host: worker\r\n"
    "Connection: close\r\n"
    "Content-Length: 0\r\n"
    "\r\n";

std::unexpected<base::Error> failed(Errc code, const std::string& why) {
  return base::fail(code, "cannot read the Flight Recorder: " + why);
}

base::Result<base::Fd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return failed(Errc::kNotFound, "the worker has no socket for it");
  }
  // Most questions to workers without process groups end here, once a second for each.
  if (::access(path.c_str(), F_OK) != 0) return failed(Errc::kNotFound, "nothing listens there");
  std::memcpy(address.sun_path, path.data(), path.size());
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return base::fail_errno("cannot read the Flight Recorder", errno);
  // On this kind of socket it succeeds at once, or not at all (EAGAIN: its queue is full).
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const bool absent = errno == ENOENT || errno == ECONNREFUSED;
    return failed(absent ? Errc::kNotFound : Errc::kUnavailable,
                  absent ? "nothing listens there" : std::strerror(errno));
  }
  return fd;
}

// One connection. Its own handlers keep it alive until it is closed.
class Call : public std::enable_shared_from_this<Call> {
 public:
  using Done = std::function<void(base::Result<std::string>)>;

  Call(const asio::any_io_executor& executor, Done done)
      : socket_(executor), deadline_(executor), done_(std::move(done)) {}

  void begin(const std::string& path, base::Nanos within) {
    auto fd = connect_to(path);
    if (!fd) return finish_later(std::unexpected(std::move(fd).error()));
    error_code error;
    socket_.assign(fd->get(), error);
    if (error) return finish_later(base::fail_errno("cannot read a socket", error.value()));
    static_cast<void>(fd->release());
    deadline_.expires_after(within);
    deadline_.async_wait([call = shared_from_this()](error_code aborted) {
      if (!aborted) call->finish(failed(Errc::kTimeout, "no answer in time"));
    });
    asio::async_write(socket_, asio::buffer(kRequest),
                      [call = shared_from_this()](error_code failure, std::size_t) {
                        if (call->done_) failure ? call->on_end() : call->read();
                      });
  }

  void drop() {
    done_ = nullptr;
    deadline_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  void read() {
    socket_.async_read_some(asio::buffer(chunk_),
                            [call = shared_from_this()](error_code error, std::size_t size) {
                              if (!call->done_) return;
                              call->answer_.append(call->chunk_.data(), size);
                              call->on_bytes(!error);
                            });
  }

  void on_bytes(bool more) {
    const auto progress = look_at_http(answer_);
    if (!progress) return finish(std::unexpected(progress.error()));
    if (progress->is_whole) {
      return finish(answer_.substr(progress->body_at, progress->body_size));
    }
    more ? read() : on_end();
  }

  void on_end() { finish(failed(Errc::kUnavailable, "the worker closed the connection")); }

  void finish_later(base::Result<std::string> result) {
    asio::post(deadline_.get_executor(),
               [call = shared_from_this(), result = std::move(result)]() mutable {
                 call->finish(std::move(result));
               });
  }

  void finish(base::Result<std::string> result) {
    const Done done = std::exchange(done_, nullptr);
    drop();
    if (done) done(std::move(result));
  }

  asio::posix::stream_descriptor socket_;
  asio::steady_timer deadline_;
  Done done_;
  std::array<char, std::size_t{64} << 10> chunk_;
  std::string answer_;
};

class Asking : public std::enable_shared_from_this<Asking> {
 public:
  Asking(NodeContext& node, std::string path, base::Rank rank, std::string last_words)
      : node_(node), path_(std::move(path)), last_words_(std::move(last_words)), rank_(rank) {}

  void ask(FlightSource::Question question, FlightSource::Done done) {
    RR_ASSERT(!done_);
    done_ = std::move(done);
    known_ = std::move(question.known);
    call_ = std::make_shared<Call>(node_.executor,
                                   [self = weak_from_this()](base::Result<std::string> body) {
                                     if (auto asking = self.lock())
                                       asking->on_body(std::move(body));
                                   });
    call_->begin(path_, question.within);
  }

  [[nodiscard]] bool is_asking() const { return static_cast<bool>(done_); }

  void drop() {
    done_ = nullptr;
    if (call_) call_->drop();
  }

 private:
  using Answer = base::Result<std::vector<tracer::Membership>>;

  static Answer read(const base::Result<std::string>& body,
                     const std::vector<tracer::KnownGroup>& known, std::uint32_t rank,
                     std::int64_t now) {
    if (!body) return std::unexpected(body.error());
    const auto recording = tracer::read_flight_recording(*body);
    if (!recording) return std::unexpected(recording.error());
    return tracer::memberships(*recording, known, rank, now);
  }

  void on_body(base::Result<std::string> body) {
    call_.reset();
    // No thread for a file that does not exist.
    const bool has_last_words = !last_words_.empty() && ::access(last_words_.c_str(), F_OK) == 0;
    if (!body && !has_last_words) return finish(std::unexpected(std::move(body).error()));
    auto answer = std::make_shared<Answer>();
    const auto submitted = node_.pool.submit(
        kFlightLane,
        [answer, body = std::move(body), known = std::move(known_), rank = rank_.value,
         now = node_.clock.wall_time().count(), last_words = last_words_]() mutable {
          if (!body) {
            auto left = read_worker_file(last_words, kFlightAnswerBytesMax);
            if (left) body = std::move(left);
          }
          *answer = read(body, known, rank, now);
        },
        [self = weak_from_this(), answer] {
          if (auto asking = self.lock()) asking->finish(std::move(*answer));
        });
    if (!submitted) finish(std::unexpected(submitted.error()));
  }

  void finish(Answer answer) {
    if (done_) std::exchange(done_, nullptr)(std::move(answer));
  }

  NodeContext& node_;
  const std::string path_;
  const std::string last_words_;
  const base::Rank rank_;
  FlightSource::Done done_;
  std::vector<tracer::KnownGroup> known_;
  std::shared_ptr<Call> call_;
};

class FlightSourceOwner final : public FlightSource {
 public:
  explicit FlightSourceOwner(std::shared_ptr<Asking> asking) : asking_(std::move(asking)) {}
  ~FlightSourceOwner() override { asking_->drop(); }
  FlightSourceOwner(const FlightSourceOwner&) = delete;
  FlightSourceOwner& operator=(const FlightSourceOwner&) = delete;
  void ask(Question question, Done done) override {
    asking_->ask(std::move(question), std::move(done));
  }
  [[nodiscard]] bool is_asking() const override { return asking_->is_asking(); }

 private:
  std::shared_ptr<Asking> asking_;
};

// "Content-Length: 17", in any case of letters.
base::Result<std::uint64_t> content_length(std::string_view head) {
  constexpr std::string_view kName = "content-length:";
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(head.size(), line.size() + 2));
    if (line.size() < kName.size()) continue;
    const bool found = std::ranges::equal(line.substr(0, kName.size()), kName, {}, [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (found) return base::parse_int<std::uint64_t>(base::trim(line.substr(kName.size())));
  }
  return failed(Errc::kCorrupt, "the answer does not say how long it is");
}

}  // namespace

base::Result<HttpProgress> look_at_http(std::string_view bytes) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  if (!bytes.substr(0, kVersion.size()).starts_with(kVersion.substr(0, bytes.size()))) {
    return failed(Errc::kCorrupt, "the server there is not torch's");
  }
  const std::size_t end = bytes.substr(0, kHttpHeadBytesMax).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() < kHttpHeadBytesMax) return HttpProgress{};
    return failed(Errc::kLimit, "the head of the answer is too long");
  }
  const std::string_view head = bytes.substr(0, end);
  const std::string_view status = head.substr(std::min(head.size(), kVersion.size()), 3);
  if (status == "404") return failed(Errc::kNotFound, "this version of torch cannot report it");
  if (status != "200") return failed(Errc::kUnavailable, "the worker refused");
  const std::uint64_t size = RR_TRY(content_length(head));
  if (size > kFlightAnswerBytesMax) return failed(Errc::kLimit, "the answer is too long");
  const std::size_t body_at = end + 4;
  return HttpProgress{bytes.size() - body_at >= size, body_at, size};
}

std::unique_ptr<FlightSource> FlightSource::make(NodeContext& node, std::string path,
                                                 base::Rank rank, std::string last_words) {
  return std::make_unique<FlightSourceOwner>(
      std::make_shared<Asking>(node, std::move(path), rank, std::move(last_words)));
}

}  // namespace robustrun::agent
