#include "bootstrap/blocks/block_clients.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "base/io/log.h"
#include "bootstrap/blocks/limits.h"

namespace robustrun::bootstrap {

struct BlockClients::Client {
  explicit Client(base::Fd connection) : fd(std::move(connection)) {}

  // Returns false if too much is queued already.
  bool send(std::string frame, bool is_wanted = true) {
    const std::lock_guard lock(mutex);
    if (is_closed || (!is_wanted && frames.size() >= kClientRepliesMax)) return false;
    frames.push_back(std::move(frame));
    ++unsent;
    wake.notify_all();
    return true;
  }
  void reply(BlockFrameKind kind, const BlockFrame& question, std::string_view payload) {
    send(encode_block_frame(
        {kind, question.id, question.block, std::string(payload.substr(0, kBlockPayloadMax))}));
  }
  // Returns false if too many requests are pending.
  bool begin_get() {
    const std::lock_guard lock(mutex);
    if (gets >= kClientGetsMax) return false;
    ++gets;
    return true;
  }
  // Waits a short time until all is sent.
  void flush() {
    std::unique_lock lock(mutex);
    wake.wait_for(lock, kClientFlush, [this] { return is_closed || unsent == 0; });
  }
  void close() {
    const std::lock_guard lock(mutex);
    is_closed = true;
    ::shutdown(fd.get(), SHUT_RDWR);
    wake.notify_all();
  }

  const base::Fd fd;
  std::mutex mutex;  // guards the members below
  std::condition_variable wake;
  bool is_closed = false;
  std::deque<std::string> frames;
  std::size_t unsent = 0;  // frames queued, and the one being sent
  std::size_t gets = 0;  // pending requests
};

namespace {

base::Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return base::fail(
        base::Errc::kInvalidArgument,
        fmt::format("cannot listen at '{}': a socket's path has 1 to 107 bytes", path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool is_answering(const sockaddr_un& address) {
  const base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return fd &&
         ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

base::Result<base::Fd> listen_at(const std::string& path) {
  const sockaddr_un address = RR_TRY(address_of(path));
  if (is_answering(address)) {
    return base::fail(base::Errc::kConflict,
                      fmt::format("cannot listen at '{}': another server answers there", path));
  }
  ::unlink(path.c_str());
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const mode_t before = ::umask(0177);
  const bool is_bound =
      fd && ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  const int bind_errno = errno;
  ::umask(before);
  if (!is_bound || ::listen(fd.get(), static_cast<int>(kClientsMax)) != 0) {
    return base::fail_errno(fmt::format("cannot listen at '{}'", path),
                            is_bound ? errno : bind_errno);
  }
  return fd;
}

}  // namespace

BlockClients::BlockClients(base::Fd listener, std::string path, BlockStore& store,
                           BlockSupply& supply, const base::Clock& clock, Handlers handlers)
    : listener_(std::move(listener)),
      path_(std::move(path)),
      store_(store),
      supply_(supply),
      clock_(clock),
      handlers_(std::move(handlers)),
      idle_since_(clock.now()),
      accept_thread_([this] { run_accepts(); }) {}

base::Result<std::unique_ptr<BlockClients>> BlockClients::listen(const std::string& path,
                                                                 BlockStore& store,
                                                                 BlockSupply& supply,
                                                                 const base::Clock& clock,
                                                                 Handlers handlers) {
  base::Fd listener = RR_TRY(listen_at(path));
  try {
    return std::unique_ptr<BlockClients>(
        new BlockClients(std::move(listener), path, store, supply, clock, std::move(handlers)));
  } catch (const std::exception& error) {
    ::unlink(path.c_str());
    return base::fail(base::Errc::kUnavailable,
                      fmt::format("cannot serve clients: {}; the limit of processes (`ulimit -u`) "
                                  "or of memory may be too low",
                                  error.what()));
  }
}

BlockClients::~BlockClients() {
  is_over_ = true;
  ::shutdown(listener_.get(), SHUT_RDWR);
  accept_thread_.join();
  ::unlink(path_.c_str());
  std::unique_lock lock(mutex_);
  for (const ClientPtr& client : clients_) client->close();
  left_.wait(lock, [this] { return threads_ == 0; });
}

void BlockClients::run_accepts() {
  while (!is_over_) {
    pollfd wanted{listener_.get(), POLLIN, 0};
    if (::poll(&wanted, 1, -1) > 0 && !is_over_) accept_one();
  }
}

void BlockClients::accept_one() {
  base::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) {
    // Out of descriptors: pending connections would make this loop spin.
    pollfd none{-1, 0, 0};
    ::poll(&none, 1, 100);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (clients_.size() >= kClientsMax) return;
  const auto client = std::make_shared<Client>(std::move(fd));
  for (const std::string* each : {&lasting_, &event_}) {
    if (!each->empty()) client->send(*each);
  }
  clients_.push_back(client);
  const bool is_read = start_thread([this, client] {
    run_reader(client);
    leave(client);
  });
  if (is_read && start_thread([client] { run_writer(client); })) return;
  client->close();  // it may come again
  if (!is_read) std::erase(clients_, client);
}

bool BlockClients::start_thread(std::function<void()> run) {
  ++threads_;
  try {
    std::thread([this, run = std::move(run)] {
      run();
      const std::lock_guard locked(mutex_);
      --threads_;
      left_.notify_all();
    }).detach();
  } catch (const std::exception&) {
    --threads_;
    return false;
  }
  return true;
}

void BlockClients::run_reader(const ClientPtr& client) {
  BlockFrameReader frames;
  std::vector<char> buffer(64U << 10);
  while (true) {
    const ssize_t got = ::recv(client->fd.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    frames.feed({buffer.data(), static_cast<std::size_t>(got)});
    while (true) {
      auto frame = frames.next();
      if (!frame) {
        client->send(encode_block_frame({BlockFrameKind::kError, 0, 0, frame.error().what}));
        client->flush();
        return;
      }
      if (!*frame) break;
      if (!take(client, **std::move(frame))) return;
    }
  }
}

void BlockClients::run_writer(const ClientPtr& client) {
  std::unique_lock lock(client->mutex);
  while (true) {
    client->wake.wait(lock, [&] { return client->is_closed || !client->frames.empty(); });
    if (client->frames.empty()) return;
    const std::string frame = std::move(client->frames.front());
    client->frames.pop_front();
    lock.unlock();
    std::string_view rest = frame;
    while (!rest.empty()) {
      const ssize_t put = ::send(client->fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(put));
    }
    lock.lock();
    --client->unsent;
    if (!rest.empty()) client->is_closed = true;
    if (client->is_closed) client->frames.clear();
    client->wake.notify_all();
  }
}

bool BlockClients::take(const ClientPtr& client, BlockFrame frame) {
  {
    // A client that sends requests faster than it reads the replies is throttled here, and only it.
    std::unique_lock lock(client->mutex);
    client->wake.wait(
        lock, [&] { return client->is_closed || client->frames.size() < kClientRepliesMax; });
    if (client->is_closed) return false;
  }
  switch (frame.kind) {
    case BlockFrameKind::kStatus:
      client->reply(BlockFrameKind::kOk, frame, encode_block_status(handlers_.status()));
      return true;
    case BlockFrameKind::kSettled: {
      const auto saved = handlers_.settle();
      if (saved) client->reply(BlockFrameKind::kOk, frame, "");
      if (!saved) client->reply(BlockFrameKind::kError, frame, saved.error().what);
      return true;
    }
    case BlockFrameKind::kGet: get(client, frame); return true;
    case BlockFrameKind::kQuit:
      client->reply(BlockFrameKind::kOk, frame, "");
      client->flush();
      handlers_.quit();
      return true;
    case BlockFrameKind::kPeers: become_peers(client, frame); return true;
    case BlockFrameKind::kOk:
    case BlockFrameKind::kNone:
    case BlockFrameKind::kError: take_answer(client, std::move(frame)); return true;
    case BlockFrameKind::kWant:
    case BlockFrameKind::kEvent: break;
  }
  client->reply(BlockFrameKind::kError, frame, "not a client's request");
  return false;
}

void BlockClients::get(const ClientPtr& client, const BlockFrame& frame) {
  if (frame.block >= store_.blocks() || frame.payload.size() != 1) {
    return client->reply(BlockFrameKind::kError, frame, "no such block, or the flags are missing");
  }
  if ((frame.payload[0] & kGetMayAskOrigin) == 0) {
    std::string bytes(bytes_of_block(store_.length(), frame.block), '\0');
    const auto found = store_.read(frame.block, bytes);
    const bool is_there = found && *found;
    return client->reply(is_there ? BlockFrameKind::kOk : BlockFrameKind::kNone, frame,
                         is_there ? bytes : std::string());
  }
  if (!client->begin_get()) {
    return client->reply(BlockFrameKind::kError, frame, "too many pending requests");
  }
  supply_.want(frame.block, Urgency::kClient,
               [client, question = BlockFrame{frame.kind, frame.id, frame.block, {}}](
                   const base::Result<std::span<const char>>& bytes) {
                 {
                   const std::lock_guard lock(client->mutex);
                   --client->gets;
                   client->wake.notify_all();
                 }
                 if (bytes) {
                   client->reply(BlockFrameKind::kOk, question, {bytes->data(), bytes->size()});
                 } else {
                   client->reply(BlockFrameKind::kError, question, bytes.error().what);
                 }
               });
}

void BlockClients::become_peers(const ClientPtr& client, const BlockFrame& frame) {
  {
    const std::lock_guard lock(mutex_);
    if (peers_ != nullptr && peers_ != client) peers_->close();  // the agent was restarted
    peers_ = client;
    wants_.clear();
  }
  supply_.peers_gone();
  supply_.set_peers([this](std::uint64_t block) { return ask_peers(block); });
  client->reply(BlockFrameKind::kOk, frame, "");  // from here on it gets kWant frames
}

// Called by the supply, under its lock.
bool BlockClients::ask_peers(std::uint64_t block) {
  const std::lock_guard lock(mutex_);
  if (peers_ == nullptr) return false;
  const std::uint64_t id = next_want_++;
  if (!peers_->send(encode_block_frame({BlockFrameKind::kWant, id, block, {}}), false)) {
    return false;
  }
  wants_.emplace(id, block);
  return true;
}

void BlockClients::take_answer(const ClientPtr& client, BlockFrame frame) {
  std::uint64_t block = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto want = wants_.find(frame.id);
    if (client != peers_ || want == wants_.end()) return;
    block = want->second;
    wants_.erase(want);
  }
  std::optional<std::string> bytes;
  if (frame.kind == BlockFrameKind::kOk) bytes = std::move(frame.payload);
  supply_.peers_answered(block, std::move(bytes));
}

void BlockClients::leave(const ClientPtr& client) {
  client->close();
  bool were_peers = false;
  {
    const std::lock_guard lock(mutex_);
    clients_.remove(client);
    if (clients_.empty()) idle_since_ = clock_.now();
    were_peers = peers_ == client;
    if (were_peers) peers_ = nullptr;
    if (were_peers) wants_.clear();
  }
  if (were_peers) supply_.peers_gone();
}

namespace {

std::string event_frame(const std::string& text, BlockEvent about) {
  return encode_block_frame({BlockFrameKind::kEvent, 0, static_cast<std::uint64_t>(about),
                             base::printable(text).substr(0, kEventBytesMax)});
}

}  // namespace

void BlockClients::send_event(const std::string& text, BlockEvent about) {
  const std::lock_guard lock(mutex_);
  event_ = event_frame(text, about);
  for (const ClientPtr& client : clients_) client->send(event_, false);
}

void BlockClients::send_lasting_event(const std::string& text, BlockEvent about) {
  const std::lock_guard lock(mutex_);
  lasting_ = event_frame(text, about);
  for (const ClientPtr& client : clients_) client->send(lasting_, false);
}

std::optional<base::Nanos> BlockClients::idle_since() const {
  const std::lock_guard lock(mutex_);
  if (!clients_.empty()) return std::nullopt;
  return idle_since_;
}

}  // namespace robustrun::bootstrap
