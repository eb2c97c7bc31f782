#include "agent/store/store.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/store/limits.h"
#include "agent/store/store_keys.h"
#include "agent/store/store_request.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "wire/net/bounded_listener.h"
#include "wire/net/local_addresses.h"
#include "wire/net/peer_user.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using base::Errc;
using boost::system::error_code;

constexpr char kStopWaiting = 0;
constexpr char kWaitCancelled = 1;
constexpr char kReady = 0;
constexpr char kNotReady = 1;

template <class T>
void append_number(std::string& out, T number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

void append_string(std::string& out, std::string_view text) {
  append_number(out, std::uint64_t{text.size()});
  out.append(text);
}

// The answer to one request, appended to `out`.
class StoreAnswer {
 public:
  StoreAnswer(StoreKeys& keys, StoreKeys::Client client, std::string& out)
      : keys_(keys), client_(client), out_(out) {}

  base::Status to(const StoreRequest& request) {
    switch (request.query) {
      case StoreQuery::kValidate: break;
      case StoreQuery::kSet: return keys_.set(request.keys[0], request.values[0]);
      case StoreQuery::kAppend: return keys_.append(request.keys[0], request.values[0]);
      case StoreQuery::kQueuePush: return keys_.push(request.keys[0], request.values[0]);
      case StoreQuery::kMultiSet:
        for (std::size_t i = 0; i < request.keys.size(); ++i) {
          RR_TRY(keys_.set(request.keys[i], request.values[i]));
        }
        break;
      case StoreQuery::kCompareSet:
        append_string(
            out_, RR_TRY(keys_.compare_set(request.keys[0], request.values[0], request.values[1])));
        break;
      case StoreQuery::kGet:
      case StoreQuery::kMultiGet:
        for (const std::string_view key : request.keys) {
          append_string(out_, keys_.get(key));
          if (out_.size() > kStoreUnreadBytesMax) {
            return base::fail(Errc::kLimit, "an answer of too many bytes");
          }
        }
        break;
      case StoreQuery::kAdd:
        append_number(out_, RR_TRY(keys_.add(request.keys[0], request.number)));
        break;
      case StoreQuery::kCheck: out_ += keys_.has_all(request.keys) ? kReady : kNotReady; break;
      case StoreQuery::kWait:
        if (RR_TRY(keys_.wait(client_, request.keys))) out_ += kStopWaiting;
        break;
      case StoreQuery::kBarrier:
        if (RR_TRY(keys_.arrive(client_, request.keys[0], request.number))) out_ += kStopWaiting;
        break;
      case StoreQuery::kCancelWait:
        keys_.forget_wait(client_);
        out_ += kWaitCancelled;
        break;
      case StoreQuery::kKeyCount:
        append_number(out_, static_cast<std::int64_t>(keys_.size()));
        break;
      case StoreQuery::kDelete:
        append_number(out_, static_cast<std::int64_t>(keys_.remove(request.keys[0])));
        break;
      case StoreQuery::kPing:
        append_number(out_, static_cast<std::uint32_t>(request.number));
        break;
      case StoreQuery::kQueuePop: pop(request.keys[0]); break;
      case StoreQuery::kQueueLength:
        append_number(out_, static_cast<std::int64_t>(keys_.queue_length(request.keys[0])));
        break;
      case StoreQuery::kListKeys:
        append_number(out_, static_cast<std::int64_t>(keys_.size()));
        if (keys_.size() > kStoreKeysPerRequestMax) {
          return base::fail(Errc::kLimit, "it asks for a list of too many keys");
        }
        keys_.for_each_key([this](std::string_view key) { append_string(out_, key); });
        break;
    }
    return {};
  }

 private:
  // The length before the pop, and the value if there is one.
  void pop(std::string_view queue) {
    append_number(out_, static_cast<std::int64_t>(keys_.queue_length(queue)));
    if (const auto value = keys_.pop(queue)) append_string(out_, *value);
  }

  StoreKeys& keys_;
  StoreKeys::Client client_;
  std::string& out_;
};

// Connections that may wait for their greeting. Most descriptors are for other things.
std::size_t strangers_max() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 1;
  return std::clamp<std::size_t>(files.rlim_cur / 4, 1, kStoreStrangersMax);
}

// A rank may be idle, or cut off by a broken management network, for hours while its collectives
// go on: torch's own server never closes a connection by itself.
void stay_patient(int socket) {
  const int off = 0;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &off, sizeof off);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &off, sizeof off);
}

// What the clients of torch 2.1 and older send first: they count themselves, without a magic
// number.
constexpr std::string_view kOldGreeting("\x03\x05\0\0\0\0\0\0\0init/", 14);
bool is_of_old_torch(std::string_view bytes) { return bytes.starts_with(kOldGreeting); }
bool may_be_greeting(std::string_view bytes) {
  return bytes.front() == static_cast<char>(StoreQuery::kValidate) ||
         kOldGreeting.starts_with(bytes.substr(0, kOldGreeting.size()));
}

class StoreServer;

// One client. Kept alive by its owner's table and by the socket's waits.
class StoreClient : public std::enable_shared_from_this<StoreClient> {
 public:
  StoreClient(StoreServer& server, StoreKeys::Client number, tcp::socket socket, std::string from,
              wire::BoundedListener::Slot slot)
      : server_(&server),
        number_(number),
        from_(std::move(from)),
        socket_(std::move(socket)),
        greeting_(std::in_place, socket_.get_executor(), std::move(slot)) {}

  void begin() {
    greeting_->slot->give_up = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->close();
    };
    greeting_->deadline.expires_after(kStoreGreetingMax);
    greeting_->deadline.async_wait([weak = weak_from_this()](const error_code& error) {
      const auto self = weak.lock();
      if (self && !error && self->greeting_) self->close();
    });
    read();
  }

  void wake() {
    out_ += kStopWaiting;
    write();
  }

  // No handler has an effect from here on.
  void abandon() {
    server_ = nullptr;
    error_code ignored;
    greeting_.reset();
    socket_.close(ignored);
  }

 private:
  void read();
  void take(std::string_view bytes);
  void answer_all();
  void write();
  void close();
  void reject(const base::Error& why);

  struct Greeting {
    Greeting(const asio::any_io_executor& executor, wire::BoundedListener::Slot taken)
        : deadline(executor), slot(std::move(taken)) {}
    asio::steady_timer deadline;
    wire::BoundedListener::Slot slot;
  };

  StoreServer* server_;
  const StoreKeys::Client number_;
  const std::string from_;  // address, for people
  tcp::socket socket_;
  std::optional<Greeting> greeting_;  // none: the client has sent the magic number
  std::string in_;          // an incomplete request
  std::size_t needed_ = 0;  // bytes of `in_` below which it need not be looked at
  std::string out_;
  bool is_writing_ = false;
};

class StoreServer final : public Store {
 public:
  StoreServer(asio::any_io_executor executor, std::uint16_t port, OnUnknown on_unknown)
      : executor_(std::move(executor)),
        port_(port),
        on_unknown_(std::move(on_unknown)),
        keys_([this](StoreKeys::Client client) {
          if (const auto found = clients_.find(client); found != clients_.end()) {
            woken_.push_back(found->second);
          }
        }) {}

  ~StoreServer() override {
    for (const auto& [number, client] : clients_) client->abandon();
  }
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  base::Status listen() {
    wire::BoundedListener::Handlers handlers;
    handlers.on_connection = [this](base::Fd peer, wire::BoundedListener::Slot slot) {
      Peer arrived{std::move(peer), std::move(slot)};
      is_served_ ? accept(std::move(arrived)) : early_.push_back(std::move(arrived));
    };
    handlers.on_shortage = [this](int os_errno) {
      const auto failed = base::fail_errno(
          fmt::format("the store at port {} cannot accept a connection", port_), os_errno);
      note(failed.error().what);
    };
    handlers.on_other_user = [this](uid_t user) {
      if (user == wire::kUnknownUser)
        return;  // as from a script that tries whether the port is open
      note(fmt::format(
          "the store at port {} has refused a connection from user {} on this machine: it serves "
          "only the user of the run (ranks that change their user need --store=worker)",
          port_, user));
    };
    listener_ = RR_TRY(
        wire::BoundedListener::open(executor_, "", port_, strangers_max(), std::move(handlers)));
    return {};
  }

  void serve(Clients clients) override {
    clients_accepted_ = std::move(clients);
    is_served_ = true;
    for (Peer& peer : std::exchange(early_, {})) accept(std::move(peer));
  }

  [[nodiscard]] std::uint16_t port() const override { return port_; }

  [[nodiscard]] StoreKeys& keys() { return keys_; }
  [[nodiscard]] std::vector<char>& read_buffer() { return read_buffer_; }

  // Tells the clients whose keys have come; after a request, not within it.
  void wake_clients() {
    for (const auto& client : std::exchange(woken_, {})) client->wake();
  }

  void closed(StoreKeys::Client number) {
    keys_.forget_wait(number);
    clients_.erase(number);
  }

  void note(const std::string& what) {
    if (noted_ < kStoreNotesMax && ++noted_ > 0) RR_LOG(kWarn, {}, "{}", what);
  }
  void note_unknown(const std::string& what) {
    if (on_unknown_) on_unknown_(what);
  }

 private:
  struct Peer {
    base::Fd socket;
    wire::BoundedListener::Slot slot;
  };

  void accept(Peer peer) {
    const wire::ConnectionAddresses addresses = wire::addresses_of(peer.socket.get());
    if (clients_accepted_ &&
        !clients_accepted_->contains(std::string(wire::without_zone(addresses.remote))) &&
        !wire::is_of_this_machine(addresses)) {
      return note(fmt::format(
          "the store at port {} has refused a connection from {}: {}", port_, addresses.remote,
          clients_accepted_->empty() ? "all ranks of this run are on this machine"
                                     : "no node of this run has that address (ranks behind another "
                                       "address need --store=worker)"));
    }
    if (clients_.size() >= kStoreConnectionsMax) {
      return note(fmt::format("the store at port {} has {} connections, its limit: it closes more",
                              port_, clients_.size()));
    }
    tcp::socket socket(executor_);
    error_code error;
    stay_patient(peer.socket.get());
    socket.assign(tcp::v6(), peer.socket.get(), error);
    if (error) return;
    static_cast<void>(peer.socket.release());
    socket.non_blocking(true, error);  // else Asio would wait for a client that does not read
    if (error) return;
    const StoreKeys::Client number = ++last_client_;
    auto client = std::make_shared<StoreClient>(*this, number, std::move(socket), addresses.remote,
                                                std::move(peer.slot));
    clients_.emplace(number, client);
    client->begin();
  }

  asio::any_io_executor executor_;
  const std::uint16_t port_;
  OnUnknown on_unknown_;
  Clients clients_accepted_;
  bool is_served_ = false;
  std::vector<Peer> early_;          // before that
  std::unique_ptr<wire::BoundedListener> listener_;
  StoreKeys keys_;
  std::unordered_map<StoreKeys::Client, std::shared_ptr<StoreClient>> clients_;
  std::vector<std::shared_ptr<StoreClient>> woken_;
  StoreKeys::Client last_client_ = 0;
  std::vector<char> read_buffer_ = std::vector<char>(kStoreReadBytes);  // for all clients
  unsigned noted_ = 0;
};

void StoreClient::read() {
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
    if (self->server_ == nullptr) return;
    if (error) return self->close();
    std::vector<char>& buffer = self->server_->read_buffer();
    error_code failed;
    const std::size_t size = self->socket_.read_some(asio::buffer(buffer), failed);
    if (failed && failed != asio::error::would_block && failed != asio::error::try_again) {
      return self->close();
    }
    self->take({buffer.data(), size});
    if (self->server_ != nullptr) self->read();
  });
}

void StoreClient::take(std::string_view bytes) {
  in_ += bytes;
  if (in_.size() >= needed_) answer_all();
}

void StoreClient::answer_all() {
  std::string_view rest = in_;
  while (!rest.empty()) {
    if (greeting_ && !may_be_greeting(rest)) {
      return reject({Errc::kPermission, 0, "it does not begin with the magic number"});
    }
    if (greeting_ && is_of_old_torch(rest)) {
      server_->note_unknown("the protocol of torch 2.1 and older");
      return reject({Errc::kProtocol, 0, "its torch is older than 2.2"});
    }
    if (greeting_ && rest.front() != '\0') break;  // perhaps an old torch: more bytes tell
    const auto parsed = parse_store_request(rest);
    if (!parsed) return reject(parsed.error());
    needed_ = parsed->bytes;
    if (!parsed->request) break;
    greeting_.reset();
    const base::Status answered = StoreAnswer(server_->keys(), number_, out_).to(*parsed->request);
    server_->wake_clients();
    if (server_ == nullptr) return;  // it had waited for this itself, and was gone
    if (!answered) return reject(answered.error());
    if (out_.size() > kStoreUnreadBytesMax) {
      return reject({Errc::kLimit, 0, "it asks for more than it reads"});
    }
    rest.remove_prefix(parsed->bytes);
    needed_ = 0;
  }
  in_.erase(0, in_.size() - rest.size());
  if (in_.empty() && in_.capacity() > kStoreReadBytes) in_ = {};
  write();
}

void StoreClient::write() {
  if (server_ == nullptr || out_.empty() || is_writing_) return;
  error_code error;
  const std::size_t size = socket_.write_some(asio::buffer(out_), error);
  if (error && error != asio::error::would_block && error != asio::error::try_again) {
    return close();
  }
  out_.erase(0, size);
  if (out_.empty()) {
    out_ = {};
    return;
  }
  if (out_.size() > kStoreUnreadBytesMax) return close();
  is_writing_ = true;
  socket_.async_wait(tcp::socket::wait_write,
                     [self = shared_from_this()](const error_code& failed) {
                       if (self->server_ == nullptr) return;
                       self->is_writing_ = false;
                       return failed ? self->close() : self->write();
                     });
}

void StoreClient::reject(const base::Error& why) {
  if (server_ == nullptr) return;
  if (why.code == Errc::kProtocol && !greeting_) server_->note_unknown(why.what);
  server_->note(fmt::format("the store has closed the connection of {}: {}", from_, why.what));
  close();
}

void StoreClient::close() {
  if (StoreServer* const server = server_) {
    const auto self = shared_from_this();
    abandon();
    server->closed(number_);
  }
}

}  // namespace

base::Result<std::unique_ptr<Store>> Store::listen(asio::any_io_executor executor,
                                                   std::uint16_t port, OnUnknown on_unknown) {
  auto server = std::make_unique<StoreServer>(std::move(executor), port, std::move(on_unknown));
  RR_TRY(server->listen());
  return server;
}

}  // namespace robustrun::agent
