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
#include <iterator>
#include <optional>
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

struct Recorder {
  std::string_view back_end;  // before the colon of its entries' names
  std::string_view handler;   // of torch's worker server
};
// A torch that does not know "backend" answers with gloo's recorder. The recorder of the older NCCL
// group (dump_nccl_trace_json) is never asked: it would query CUDA events from the server's thread,
// which can abort the capture of a CUDA graph.
constexpr std::array<Recorder, 3> kRecorders = {{
    {"gloo", "fr_trace_json"},
    {"nccl2", "fr_trace_json?backend=nccl2"},
    {"nccl-lazy", "fr_trace_json?backend=nccl-lazy"},
}};
constexpr std::size_t kGloo = 0;

std::string request_of(std::string_view handler) {
  return "POST /handler/" + std::string(handler) +
         " HTTP/1.1\r\n"
         "Host: worker\r\n"
         "Connection: close\r\n"
         "Content-Length: 0\r\n"
         "\r\n";
}

std::string last_words_of(const std::string& last_words, std::size_t recorder) {
  if (recorder == kGloo) return last_words;
  return last_words + "." + std::string(kRecorders.at(recorder).back_end);
}

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

  Call(const asio::any_io_executor& executor, std::string_view handler, Done done)
      : socket_(executor),
        deadline_(executor),
        done_(std::move(done)),
        request_(request_of(handler)) {}

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
    asio::async_write(socket_, asio::buffer(request_),
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
  const std::string request_;
  std::array<char, std::size_t{64} << 10> chunk_;
  std::string answer_;
};

// What a question has brought so far, by recorder.
struct Bodies {
  std::vector<tracer::KnownGroup> known;
  std::array<std::optional<base::Result<std::string>>, kRecorders.size()> of;  // none: not asked
};

struct Reading {
  base::Result<std::vector<tracer::Membership>> comms;
  std::array<bool, kRecorders.size()> is_absent{};  // the worker's torch does not have it
};

// Reads answers, and last words in place of those that did not come. On the pool.
class Reader {
 public:
  Reader(base::Rank rank, std::int64_t now, std::string last_words)
      : last_words_(std::move(last_words)), rank_(rank), now_(now) {}

  [[nodiscard]] Reading read(Bodies bodies) const {
    Reading reading{failed(Errc::kNotFound, "it was not asked"), {}};
    std::vector<tracer::Membership> comms;
    bool has_read = false;
    // Without an answer from gloo's nothing may have listened at all.
    const bool is_served = bodies.of.at(kGloo) && bodies.of.at(kGloo)->has_value();
    for (std::size_t i = 0; i < kRecorders.size(); ++i) {
      if (!bodies.of.at(i)) continue;
      base::Result<std::string>& body = *bodies.of.at(i);
      reading.is_absent.at(i) = is_served && !body && body.error().code == Errc::kNotFound;
      if (!body && !last_words_.empty()) use_last_words(i, body);
      auto read = one(bodies, i, reading.is_absent.at(i));
      if (read) {
        has_read = true;
        std::ranges::move(*read, std::back_inserter(comms));
      } else if (i == kGloo) {
        reading.comms = std::unexpected(std::move(read).error());
      }
    }
    if (has_read) reading.comms = std::move(comms);
    return reading;
  }

 private:
  static bool is_of_gloo(const Bodies& bodies, const std::string& body) {
    const auto& gloo = bodies.of.at(kGloo);
    return gloo && *gloo && **gloo == body;
  }

  void use_last_words(std::size_t recorder, base::Result<std::string>& body) const {
    auto left = read_worker_file(last_words_of(last_words_, recorder), kFlightAnswerBytesMax);
    if (left) body = std::move(left);
  }

  [[nodiscard]] base::Result<std::vector<tracer::Membership>> one(const Bodies& bodies,
                                                                  std::size_t recorder,
                                                                  bool& is_absent) const {
    const base::Result<std::string>& body = *bodies.of.at(recorder);
    if (!body) return std::unexpected(body.error());
    auto read = tracer::read_flight_recording(*body);
    // Another document here is a mistake, not a file that is to be passed over.
    if (!read && read.error().code == Errc::kNotFound) read.error().code = Errc::kCorrupt;
    auto recording = RR_TRY(std::move(read));
    const std::string_view back_end = kRecorders.at(recorder).back_end;
    if (recorder != kGloo) {
      // Without entries: gloo's, or its own, which looks the same. The next answer may tell.
      if (recording.back_end.empty() && is_of_gloo(bodies, *body)) {
        return failed(Errc::kNotFound, "it has recorded nothing");
      }
      if (recording.back_end.empty()) recording.back_end = back_end;
      is_absent = recording.back_end != back_end;
      if (is_absent) return failed(Errc::kNotFound, "this version of torch has no such recorder");
    }
    auto comms = tracer::memberships(recording, bodies.known, rank_.value, now_);
    if (recorder != kGloo) tracer::set_apart(comms, back_end);
    return comms;
  }

  std::string last_words_;
  base::Rank rank_;
  std::int64_t now_;
};

class Asking : public std::enable_shared_from_this<Asking> {
 public:
  Asking(NodeContext& node, std::string path, base::Rank rank, std::string last_words)
      : node_(node), path_(std::move(path)), last_words_(std::move(last_words)), rank_(rank) {}

  void ask(FlightSource::Question question, FlightSource::Done done) {
    RR_ASSERT(!done_ && waiting_ == 0);
    done_ = std::move(done);
    bodies_ = {};
    bodies_.known = std::move(question.known);
    for (std::size_t i = 0; i < kRecorders.size(); ++i) {
      if (i != kGloo && (!question.nccl || is_absent_.at(i))) continue;
      ++waiting_;
      calls_.at(i) =
          std::make_shared<Call>(node_.executor, kRecorders.at(i).handler,
                                 [self = weak_from_this(), i](base::Result<std::string> body) {
                                   if (auto asking = self.lock())
                                     asking->on_body(i, std::move(body));
                                 });
      calls_.at(i)->begin(path_, question.within);
    }
  }

  [[nodiscard]] bool is_asking() const { return static_cast<bool>(done_); }

  void drop() {
    done_ = nullptr;
    for (const auto& call : calls_) {
      if (call) call->drop();
    }
  }

 private:
  using Answer = base::Result<std::vector<tracer::Membership>>;

  void on_body(std::size_t recorder, base::Result<std::string> body) {
    calls_.at(recorder).reset();
    bodies_.of.at(recorder) = std::move(body);
    if (--waiting_ > 0) return;
    // No thread for files that do not exist.
    const auto is_of_use = [this](std::size_t i) {
      const auto& one = bodies_.of.at(i);
      return one &&
             (one->has_value() ||
              (!last_words_.empty() && ::access(last_words_of(last_words_, i).c_str(), F_OK) == 0));
    };
    bool has_any = false;
    for (std::size_t i = 0; i < kRecorders.size(); ++i) has_any = has_any || is_of_use(i);
    if (!has_any) return finish(std::unexpected(bodies_.of.at(kGloo)->error()));
    auto reading = std::make_shared<Reading>(failed(Errc::kUnavailable, "it was not read"));
    const auto submitted = node_.pool.submit(
        kFlightLane,
        [reading, bodies = std::move(bodies_),
         reader = Reader(rank_, node_.clock.wall_time().count(), last_words_)]() mutable {
          *reading = reader.read(std::move(bodies));
        },
        [self = weak_from_this(), reading] {
          auto asking = self.lock();
          if (!asking) return;
          for (std::size_t i = kGloo + 1; i < kRecorders.size(); ++i) {
            asking->is_absent_.at(i) = asking->is_absent_.at(i) || reading->is_absent.at(i);
          }
          asking->finish(std::move(reading->comms));
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
  Bodies bodies_;
  std::array<std::shared_ptr<Call>, kRecorders.size()> calls_;
  std::size_t waiting_ = 0;  // answers that have not come
  std::array<bool, kRecorders.size()> is_absent_{};
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

void remove_last_words(const std::string& last_words) {
  for (std::size_t i = 0; i < kRecorders.size(); ++i) {
    ::unlink(last_words_of(last_words, i).c_str());
  }
}

std::unique_ptr<FlightSource> FlightSource::make(NodeContext& node, std::string path,
                                                 base::Rank rank, std::string last_words) {
  return std::make_unique<FlightSourceOwner>(
      std::make_shared<Asking>(node, std::move(path), rank, std::move(last_words)));
}

}  // namespace robustrun::agent
