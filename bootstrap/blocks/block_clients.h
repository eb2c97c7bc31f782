#pragma once
// The server's socket: who connects may ask for blocks and for the status, tell that the start is
// over, end the server, or be the one that asks peers (docs/formats/block-server.md).
//
// One thread reads and one writes per client, so that a slow client delays nobody else; what waits
// for it is bounded. 0600: only this user connects.

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

  // Binds and listens at once. kConflict: a server answers there already.
  static base::Result<std::unique_ptr<BlockClients>> listen(const std::string& path,
                                                            BlockStore& store, BlockSupply& supply,
                                                            const base::Clock& clock,
                                                            Handlers handlers);
  BlockClients(const BlockClients&) = delete;
  BlockClients& operator=(const BlockClients&) = delete;
  // Waits for its threads; the supply must be gone, or never deliver again.
  ~BlockClients();

  // To all that are connected, and to everybody who connects until the next one.
  void tell_event(const std::string& text, BlockEvent about = BlockEvent::kNews);
  // The same of what stays as it is: no event takes its place but another one of these.
  void tell_lasting(const std::string& text, BlockEvent about = BlockEvent::kNews);
  // Since when nobody has been connected; nothing: somebody is.
  [[nodiscard]] std::optional<base::Nanos> idle_since() const;

 private:
  struct Client;
  using ClientPtr = std::shared_ptr<Client>;

  BlockClients(base::Fd listener, std::string path, BlockStore& store, BlockSupply& supply,
               const base::Clock& clock, Handlers handlers);
  void run_accepts();
  void accept_one();
  void run_reader(const ClientPtr& client);
  static void run_writer(const ClientPtr& client);
  // False: the connection is of no more use.
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

  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable left_;
  std::list<ClientPtr> clients_;
  unsigned threads_ = 0;
  base::Nanos idle_since_{};
  std::string event_, lasting_;  // the last one of each, as a frame
  ClientPtr peers_;
  std::uint64_t next_want_ = 1;
  std::unordered_map<std::uint64_t, std::uint64_t> wants_;  // id of the question: block
  std::thread accept_thread_;
};

}  // namespace robustrun::bootstrap
