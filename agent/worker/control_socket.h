#pragma once
// One Unix stream socket per worker, for the worker's requests to its agent
// (docs/formats/worker-socket.md). Owned by the Worker, on the agent's loop.
//
// A worker may have up to kControlConnectionsMax connections. base/io/request_socket.h says which
// processes may connect, and what happens to a process that misbehaves.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "agent/copies/memory_tier.h"
#include "agent/node/worker_json.h"
#include "base/core/result.h"
#include "base/io/request_socket.h"

namespace robustrun::agent {

class ControlSocket {
 public:
  // Receives the worker's reports about its checkpoints.
  using NoteHandler = std::function<void(wire::CheckpointNote)>;
  // Gives this worker memory for copies of its state; empty: requests are refused.
  using GiveMemory = std::function<void(std::uint64_t bytes, MemoryTier::Answer answer)>;
  // Calls `go` when the worker may load and save checkpoints; empty: it may at once.
  using AwaitSaves = std::function<void(std::function<void()> go)>;
  // Called when the worker will serve the store itself: the agent's store must leave MASTER_PORT.
  using LeaveStore = std::function<void()>;
  // Creates the socket `path` (at most 107 bytes; a stale one is replaced) and serves it.
  // Destruction closes all connections and removes `path`; no reply is written afterwards.
  static base::Result<std::unique_ptr<ControlSocket>> open(boost::asio::any_io_executor executor,
                                                           const std::string& path,
                                                           ControlState state, NoteHandler on_note,
                                                           GiveMemory give_memory = {},
                                                           AwaitSaves await_saves = {},
                                                           LeaveStore leave_store = {});
  // Sets the answer to "stop_reason".
  void set_stop(wire::StopReason reason, base::Nanos deadline);
  // Whether the worker has announced that, at a stop, it saves and then ends by itself.
  [[nodiscard]] bool saves_on_stop() const { return state_.saves_on_stop; }

 private:
  ControlSocket(ControlState state, NoteHandler on_note, GiveMemory give_memory,
                AwaitSaves await_saves, LeaveStore leave_store);
  base::Status serve(const boost::asio::any_io_executor& executor, const std::string& path);

  ControlState state_;
  NoteHandler on_note_;
  GiveMemory give_memory_;
  AwaitSaves await_saves_;
  LeaveStore leave_store_;
  std::unique_ptr<base::RequestSocket> socket_;
};

}  // namespace robustrun::agent
