#pragma once
// The server's socket. Clients may request blocks and the status, report that the start is over,
// end the server, or become the client that asks peers (docs/formats/block-server.md).
//
// Each client has a reader thread and a writer thread, so that a slow client delays only itself.
// The queue of replies to a client is bounded. The socket has mode 0600: only this user can
// connect.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "bootstrap/blocks/block_supply.h"
#include "bootstrap/store/block_protocol.h"
#include "bootstrap/store/block_store.h"

namespace robustrun::bootstrap {

class BlockClients {
 public:
  struct Handlers {
    std::function<BlockServerStatus()> status;
    std::function<base::Status()> settle;
    std::function<void()> quit;
  };

  // Binds and starts to listen. kConflict: another server answers at `path`. `store`, `supply` and
  // `clock` must outlive this object.
  static base::Result<std::unique_ptr<BlockClients>> listen(const std::string& path,
                                                            BlockStore& store, BlockSupply& supply,
                                                            const base::Clock& clock,
                                                            Handlers handlers);
  BlockClients(const BlockClients&) = delete;
  BlockClients& operator=(const BlockClients&) = delete;
  // Ends all connections and waits for their threads.
  ~BlockClients();

  // Sends an event to all connected clients, and to later ones until the next event replaces it.
  void send_event(const std::string& text, BlockEvent about = BlockEvent::kNews);
  // As send_event(), for a lasting condition: only another lasting event replaces it.
  void send_lasting_event(const std::string& text, BlockEvent about = BlockEvent::kNews);
  // Since when no client has been connected; nullopt: a client is connected.
  [[nodiscard]] std::optional<base::Nanos> idle_since() const;

 private:
  struct Client;
  using ClientPtr = std::shared_ptr<Client>;

  BlockClients(base::Fd listener, std::string path, BlockStore& store, BlockSupply& supply,
               const base::Clock& clock, Handlers handlers);
  void run_accepts();
  // Returns false if the system has no thread left. Requires the lock.
  bool start_thread(std::function<void()> run);
  void accept_one();
  void run_reader(const ClientPtr& client);
  static void run_writer(const ClientPtr& client);
  // Returns false if the connection must be closed.
  bool take(const ClientPtr& client, BlockFrame frame);
  void get(const ClientPtr& client, const BlockFrame& frame);
  void become_peers(const ClientPtr& client, const BlockFrame& frame);
  bool ask_peers(std::uint64_t block);
  void take_answer(const ClientPtr& client, BlockFrame frame);
  void leave(const ClientPtr& client);

  base::Fd listener_;
  const std::string path_;
  BlockStore& store_;
  BlockSupply& supply_;
  const base::Clock& clock_;
  const Handlers handlers_;
  std::atomic<bool> is_over_{false};

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable left_;
  std::list<ClientPtr> clients_;
  unsigned threads_ = 0;
  base::Nanos idle_since_{};
  std::string event_, lasting_;  // the last event of each kind, as a frame
  ClientPtr peers_;
  std::uint64_t next_want_ = 1;
  std::unordered_map<std::uint64_t, std::uint64_t> wants_;  // request id -> block
  std::thread accept_thread_;
};

}  // namespace robustrun::bootstrap
