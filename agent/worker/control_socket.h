#pragma once
// One Unix stream socket per worker, for what the worker asks its agent:
// docs/formats/worker-socket.md. Owned by the Worker, on the agent's loop.
//
// A worker may connect several times, up to kControlConnectionsMax. base/io/request_socket.h says
// which processes may connect, and what happens to one that misbehaves.

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
  // Grants memory to this worker; empty: refused.
  using GiveMemory = std::function<void(std::uint64_t bytes, MemoryTier::Answer answer)>;
  // Calls `go` when the worker may load and save checkpoints; empty: it may at once.
  using AwaitSaves = std::function<void(std::function<void()> go)>;
  // Makes the agent's store give MASTER_PORT up.
  using LeaveStore = std::function<void()>;
  // Creates `path` anew (at most 107 bytes; a stale socket there is replaced) and starts serving.
  // Destroying it closes all connections and removes `path`; no reply is written afterwards.
  static base::Result<std::unique_ptr<ControlSocket>> open(boost::asio::any_io_executor executor,
                                                           const std::string& path,
                                                           ControlState state, NoteHandler on_note,
                                                           GiveMemory give_memory = {},
                                                           AwaitSaves await_saves = {},
                                                           LeaveStore leave_store = {});
  // Sets the answer to "stop_reason".
  void set_stop(wire::StopReason reason, base::Nanos deadline);
  // The worker has announced that it saves before a stop and then ends by itself.
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
